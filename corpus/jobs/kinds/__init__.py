"""The kinds of jobs, one module each; ``qa`` adds its own."""

from corpus.jobs.kinds.crawl_job import CrawlKind
from corpus.jobs.kinds.edit_job import EditKind
from corpus.jobs.kinds.embed_job import EmbedKind
from corpus.jobs.kinds.job_kind import JobKind
from corpus.jobs.kinds.reembed_job import ReembedKind
from corpus.jobs.kinds.source_job import SourceKind
from corpus.jobs.kinds.sync_job import SyncKind
from corpus.models import Job

KINDS: dict[str, JobKind] = {
    Job.Kind.SYNC: SyncKind(),
    Job.Kind.EMBED: EmbedKind(),
    Job.Kind.REEMBED: ReembedKind(),
    Job.Kind.EDIT: EditKind(),
    Job.Kind.SOURCE: SourceKind(),
    Job.Kind.CRAWL: CrawlKind(),
}


def kind_of(job: Job) -> JobKind:
    return KINDS[job.kind]
