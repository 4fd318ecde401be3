import json
from time import sleep
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from corpus.errors import PkbError
from corpus.jobs.kinds.reembed_job import roll_back, start_reembed, switch_model
from corpus.jobs.leases import job_lock
from corpus.jobs.run import begin_job, finish_job
from corpus.management.commands._job_run import run_workers, stop_on_interrupt
from corpus.management.commands._report import LINE_EVERY
from corpus.models import DEFAULT_COLLECTION, Collection, Job

MAX_WORKERS = 64
POLL_S = 0.5


class Command(BaseCommand):
    help = (
        "Give a collection another embedding model: compute new vectors beside the old ones, "
        "switch, or roll back. If interrupted, run it again: it resumes. Exit 0: done; 1: "
        "vectors are missing, nothing was switched; 2: wrong usage; 130: stopped by Ctrl-C."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", default="", help="compute vectors of this model")
        parser.add_argument(
            "--collection", default=DEFAULT_COLLECTION, help="name of the collection (default)"
        )
        parser.add_argument(
            "--switch", action="store_true", help="search by it once no vector is missing"
        )
        parser.add_argument("--rollback", action="store_true", help="return to the previous model")
        parser.add_argument(
            "--workers", type=int, default=1, help="number of processes, each with a model"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["rollback"] and (options["model"] or options["switch"]):
            message = "--rollback cannot be combined with --model or --switch."
            raise CommandError(message, returncode=2)
        if not (options["rollback"] or options["model"]):
            raise CommandError("Set --model or --rollback.", returncode=2)
        if not 1 <= options["workers"] <= MAX_WORKERS:
            raise CommandError(f"--workers must be from 1 to {MAX_WORKERS}.", returncode=2)
        try:
            collection = Collection.objects.get_named(options["collection"])
        except PkbError as exc:
            raise CommandError(str(exc), returncode=2) from exc
        try:
            if options["rollback"]:
                job = roll_back(collection)
                collection.refresh_from_db()
                if job is not None and not options["json"]:
                    model = collection.embedding_model
                    self.stdout.write(f"Rolled back to {model}; computing missing vectors.")
                self._finish(job, options)
                self._show(collection, collection.embedding_model, options)
                return
            model = options["model"]
            self._finish(start_reembed(collection, model), options)
            if options["switch"]:
                switch_model(collection, model)
            self._show(collection, model, options)
        except PkbError as exc:
            raise CommandError(str(exc) or exc.title, returncode=1) from exc
        if collection.chunks.lacking_vectors(model).exists():
            raise SystemExit(1)

    def _finish(self, job: Job | None, options: dict[str, Any]) -> None:
        """Run a job to its end, or wait for the process that runs it."""
        if job is None:
            return
        unfinished = Job.objects.unfinished().filter(pk=job.pk)
        with stop_on_interrupt() as interruption:
            while not interruption.is_set() and unfinished.exists():
                with job_lock(job.pk) as is_mine:
                    if is_mine and begin_job(job.pk) is not None:
                        items = run_workers(job, options["workers"], interruption.is_set)
                        before = job.items.exclude(status="pending").count()
                        for number, _ in enumerate(items, start=before + 1):
                            if number % LINE_EVERY == 0:
                                self.stderr.write(f"{number} of {job.total} documents")
                        finish_job(job)
                if not interruption.is_set() and unfinished.exists():
                    # Another worker runs it, or a failed embedder is retried later.
                    sleep(POLL_S)
        if interruption.is_set():
            self.stderr.write("Stopped. Run the same command, or a worker, to resume.")
            raise SystemExit(130)
        job.refresh_from_db()
        for error in job.errors:
            self.stderr.write(f"failed: {error.get('document_id', '')}: {error['reason']}")
        if job.status != Job.Status.SUCCEEDED:
            raise CommandError(f"The job {job.pk} is {job.status}.", returncode=1)

    def _show(self, collection: Collection, model: str, options: dict[str, Any]) -> None:
        collection.refresh_from_db()
        result = {
            "collection": collection.name,
            "embedding_model": collection.embedding_model,
            "previous_model": collection.previous_model,
            "model": model,
            "lacking_count": collection.chunks.lacking_vectors(model).count(),
        }
        if options["json"]:
            self.stdout.write(json.dumps(result))
            return
        self.stdout.write(
            f"{collection.name} uses {collection.embedding_model}; "
            f"{result['lacking_count']} chunks have no vector of {model}."
        )
