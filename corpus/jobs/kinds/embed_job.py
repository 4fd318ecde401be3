"""Add missing vectors of stored documents; ``queue_completion`` creates the jobs."""

from django.db import transaction
from django.db.models import QuerySet

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.vectors import complete_document
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Document, Job, JobItem
from corpus.webhooks import WebhookEvent, tell


class EmbedKind(JobKind):
    """An item is a document, which is ``processing`` until it has all its vectors."""

    stage = Job.Stage.EMBEDDING

    def run(self, item: JobItem) -> ItemResult:
        documents = Document.objects.select_related("collection")
        document = documents.filter(pk=str(item.document_id)).first()
        if document is None:
            return ItemResult(Outcome.REMOVED, str(item.document_id))
        count = complete_document(document)
        return ItemResult(Outcome.EMBEDDED, str(document.pk), document.chunk_count, count)

    def give_up(self, item: JobItem, reason: str) -> None:
        at_work = Document.objects.filter(pk=str(item.document_id))
        with transaction.atomic():
            tell(WebhookEvent.DOCUMENT_FAILED, at_work)
            at_work.update(status=Document.Status.FAILED, error=reason)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.filter(pk__in=items.values("document_id"))
