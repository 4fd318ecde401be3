"""What a kind of job says of itself; all else about jobs is the same for every kind."""

from collections.abc import Callable
from typing import ClassVar, Protocol

from django.db.models import QuerySet

from corpus.ingestion.outcomes import ItemResult
from corpus.models import Document, Job, JobItem


class JobKind(Protocol):
    """A kind of job. Only ``run`` and ``documents`` have to be written.

    Attributes:
        stage: What is shown of a job while its items are run.
    """

    stage: ClassVar[Job.Stage]

    def refuse(self, job: Job) -> str:
        """Say why a job whose items are not listed yet is not to be begun, or nothing."""
        return ""

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        """Write down the items of a job that was made without them.

        May be broken off and begun again; the job ``is_listed`` when it is done.
        """
        return

    def delay_before_next_s(self, job: Job) -> float:
        """Return how many seconds are to go by before the next item may be begun."""
        return 0.0

    def run(self, item: JobItem) -> ItemResult:
        """Do what the item stands for.

        Raises:
            BackendError: The model is gone; the item is claimed again some time later.
            CollectionNotFound: The collection was deleted, and the job with it.
        """
        ...

    def give_up(self, item: JobItem, reason: str) -> None:
        """Show that an item failed which ``run`` did not bring to its end."""
        return

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        """Return the documents that wait for these items."""
        ...

    def finish(self, job: Job) -> None:
        """Do what is left when every item has ended."""
        return
