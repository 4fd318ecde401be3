"""The interface of a kind of job."""

from collections.abc import Callable
from typing import ClassVar, Protocol

from django.db.models import QuerySet

from corpus.ingestion.outcomes import ItemResult
from corpus.models import Document, Job, JobItem


class JobKind(Protocol):
    """A kind of job; subclasses must define ``run`` and ``documents``.

    Attributes:
        stage: The stage of a job while its items run.
    """

    stage: ClassVar[Job.Stage]

    def refuse(self, job: Job) -> str:
        """Return why a job must not list its items; empty if it may."""
        return ""

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        """Create the items of a job that was created without them.

        May be interrupted and started again; sets ``is_listed`` at the end.
        """
        return

    def delay_before_next_s(self, job: Job) -> float:
        """Return the seconds to wait before the next item."""
        return 0.0

    def run(self, item: JobItem) -> ItemResult:
        """Run an item and return its result.

        Raises:
            BackendError: The model failed; the item is claimed again later.
            CollectionNotFound: The collection was deleted, and the job with it.
        """
        ...

    def give_up(self, item: JobItem, reason: str) -> None:
        """Store the failure of an item that ``run`` did not finish."""
        return

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        """Return the documents whose status depends on these items."""
        ...

    def finish(self, job: Job) -> None:
        """Do the work that is left after the last item."""
        return
