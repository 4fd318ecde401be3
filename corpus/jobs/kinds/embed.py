"""Bring the vectors that stored documents lack; ``queue_completion`` makes the jobs."""

from pathlib import Path

from django.db.models import QuerySet

from corpus.ingestion.disk import FileResult, Outcome
from corpus.ingestion.vectors import complete_document
from corpus.jobs.kinds.base import JobKind
from corpus.models import Document, Job, JobItem


class EmbedKind(JobKind):
    """An item is a document; it is ``processing`` until all its vectors are there."""

    stage = Job.Stage.EMBEDDING

    def run(self, item: JobItem) -> FileResult:
        path = Path(item.path)
        documents = Document.objects.select_related("collection").defer("raw_text", "outline")
        document = documents.filter(pk=item.path).first()
        if document is None:
            return FileResult(path, Outcome.REMOVED)
        count = complete_document(document)
        key = str(document.pk)
        return FileResult(path, Outcome.REPLACED, key, document.chunk_count, count)

    def give_up(self, item: JobItem, reason: str) -> None:
        Document.objects.filter(pk=item.path).update(status=Document.Status.FAILED, error=reason)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.filter(pk__in=items.values("document_id"))
