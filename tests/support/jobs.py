"""Jobs, run here as a worker runs them."""

from corpus.jobs.run import run_job_slice
from corpus.models import Job


def run_job(job: Job) -> Job:
    """Run a job to its end; returns it as it is then."""
    assert run_job_slice(job.pk)
    job.refresh_from_db()
    return job
