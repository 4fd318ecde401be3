"""Change the embedding model of a collection: build new vectors, switch, and roll back.

Searches use the old vectors until the switch, which happens when every chunk has a new vector. The
old vectors stay for one rollback. New documents are embedded by the current model only; a rollback
queues a job for the missing vectors, and until then word search finds these documents.
"""

from django.db import transaction

from corpus.embedders import Embedder, embedders, get_embedder
from corpus.errors import InvalidInput, ModelNotReady
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.ingestion.vectors import add_missing_vectors
from corpus.jobs.kinds.job_kind import JobKind, queue_documents
from corpus.models import Collection, Document, Embedding, Job, JobItem
from corpus.vector_index import ensure_vector_index

# Documents may be added between the last check and the lock; each round has fewer.
ROUNDS = 10
# Rows of one statement.
EMBEDDINGS_AT_A_TIME = 5_000


class ReembedKind(JobKind):
    """An item is a document that gets vectors of another model."""

    stage = Job.Stage.EMBEDDING

    def run(self, item: JobItem) -> ItemResult:
        document = Document.objects.only("id").filter(pk=str(item.document_id)).first()
        if document is None:
            return ItemResult(Outcome.REMOVED, str(item.document_id))
        count = add_missing_vectors(document, model=item.job.arguments["model"])
        return ItemResult(Outcome.EMBEDDED, str(document.pk), encoded_count=count)


def start_reembed(collection: Collection, model: str) -> Job | None:
    """Create the job that adds the vectors of ``model``, or return the unfinished one.

    Workers resume it if its process ends.

    Returns:
        The job; None if no vector is missing.

    Raises:
        InvalidInput: The model is not configured.
        BackendError: It does not load.
    """
    embedder = _embedder(model)
    ensure_vector_index(model=model, dimension=embedder.dimension)
    with transaction.atomic():
        Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        jobs = Job.objects.unfinished().filter(kind=Job.Kind.REEMBED, collection=collection)
        unfinished = jobs.filter(arguments__model=model).first()
        if unfinished is not None:
            return unfinished
        lacking = collection.documents.lacking_vectors(model).order_by("pk")
        document_ids = list(lacking.values_list("pk", flat=True))
        if not document_ids:
            return None
        return queue_documents(Job.Kind.REEMBED, collection.pk, document_ids, {"model": model})


def _embedder(model: str) -> Embedder:
    if model not in embedders:
        known = ", ".join(embedders.names)
        detail = f"The model {model!r} is not configured; there are {known}."
        raise InvalidInput(detail, field="model")
    embedder = get_embedder(model)
    if embedder.name != model:
        raise InvalidInput(f"{model!r} is called {embedder.name!r}.", field="model")
    return embedder


def switch_model(collection: Collection, model: str) -> None:
    """Switch the collection to ``model``, and keep the vectors of the previous model.

    Vectors of documents that were added meanwhile are computed first. Nothing changes if the
    collection has this model already.

    Raises:
        InvalidInput: The model is not configured.
        BackendError: The embedder failed; nothing is switched.
        ModelNotReady: Chunks were added faster than they could be embedded.
    """
    dimension = _embedder(model).dimension
    ensure_vector_index(model=model, dimension=dimension)
    for _ in range(ROUNDS):
        for document in collection.documents.lacking_vectors(model).only("id"):
            add_missing_vectors(document, model=model)
        with transaction.atomic():
            # An exclusive lock: no document is stored or completed while the row changes.
            row = Collection.objects.select_for_update().get(pk=collection.pk)
            is_switched = row.embedding_model == model
            if not is_switched and not row.chunks.lacking_vectors(model).exists():
                row.previous_model, row.previous_dimension = row.embedding_model, row.dimension
                row.embedding_model, row.dimension = model, dimension
                row.save(update_fields=_MODEL_FIELDS)
                is_switched = True
        if is_switched:
            # Only the vectors of the current, the previous and pending models stay.
            collection.refresh_from_db()
            jobs = Job.objects.unfinished().filter(kind=Job.Kind.REEMBED, collection=collection)
            pending = jobs.values_list("arguments__model", flat=True)
            models = {collection.embedding_model, collection.previous_model, *pending}
            others = Embedding.objects.filter(collection=collection).exclude(model__in=models)
            while batch := list(others.values_list("pk", flat=True)[:EMBEDDINGS_AT_A_TIME]):
                Embedding.objects.filter(pk__in=batch).delete()
            return
    count = collection.chunks.lacking_vectors(model).count()
    raise ModelNotReady(f"{count} chunks of {collection.name!r} have no vector by {model!r} yet.")


_MODEL_FIELDS = [
    "embedding_model", "dimension", "previous_model", "previous_dimension", "updated_at",
]  # fmt: skip


@transaction.atomic
def roll_back(collection: Collection) -> Job | None:
    """Switch back to the previous model; the current one becomes the previous.

    Loads no model. Documents that lack its vectors are ``processing`` until a job has added them.

    Returns:
        The job; None if no vector is missing.

    Raises:
        ModelNotReady: There is no previous model.
    """
    locked = Collection.objects.select_for_update().get(pk=collection.pk)
    if not locked.previous_model or locked.previous_dimension is None:
        raise ModelNotReady(f"The collection {locked.name!r} has no previous model.")
    left = locked.embedding_model, locked.dimension
    locked.embedding_model, locked.dimension = locked.previous_model, locked.previous_dimension
    locked.previous_model, locked.previous_dimension = left
    locked.save(update_fields=_MODEL_FIELDS)
    return queue_lacking(locked)


def queue_lacking(collection: Collection) -> Job | None:
    """Queue a job for missing vectors of completed documents, which become ``processing``.

    Call it in a transaction that has locked the collection's row, or without other writers.

    Returns:
        The job; None if no vector is missing.
    """
    lacking = collection.documents.lacking_vectors(collection.embedding_model)
    completed = lacking.filter(status=Document.Status.COMPLETED)
    document_ids = list(completed.values_list("pk", flat=True))
    collection.documents.filter(pk__in=document_ids).update(status=Document.Status.PROCESSING)
    if not document_ids:
        return None
    return queue_documents(Job.Kind.EMBED, collection.pk, document_ids, {})
