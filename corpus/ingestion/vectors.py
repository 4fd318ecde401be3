"""Embed chunks, each text once; a job adds the vectors that are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import stamina
import structlog
from django.db import transaction
from numpy.typing import NDArray

from corpus.embedders import Embedder, embed_passages, get_embedder
from corpus.errors import BackendError
from corpus.ingestion.chunking import embedder_input
from corpus.models import Chunk, Collection, Document, Embedding, Job, JobItem
from corpus.queue import enqueue_job
from corpus.telemetry import Step, span
from corpus.webhooks import WebhookEvent, tell

log = structlog.get_logger(__name__)

BATCH_SIZE = 64
MAX_ATTEMPTS = 3
# After so many failed batches in a row, the backend counts as down.
MAX_FAILED_BATCHES = 2


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of ``model`` by ``input_sha256``; ``fresh`` are those that were not stored before."""

    model: str
    vectors: Mapping[str, NDArray[np.float32]]
    fresh: frozenset[str]


def encode(
    inputs: Mapping[str, str],
    *,
    embedder: Embedder,
    batch_size: int | None = None,
    attempts: int | None = None,
    leave_out_failed: bool = False,
) -> Encoded:
    """Return the vector of each input; reuse stored vectors of the same input.

    Args:
        inputs: Texts to embed, by their SHA-256.
        batch_size: Maximum number of texts of a batch, by default ``BATCH_SIZE``.
        attempts: Attempts for each batch, by default ``MAX_ATTEMPTS``.
        leave_out_failed: Skip failed batches; stop after two in a row.

    Raises:
        BackendError: The embedder failed, and ``leave_out_failed`` is not set.
    """

    @stamina.retry(on=BackendError, attempts=attempts or MAX_ATTEMPTS, wait_initial=0.1)
    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        with span(Step.EMBEDDING, batch=len(texts)):
            return embed_passages(texts, embedder=embedder)

    vectors = Embedding.objects.of_inputs(list(inputs), model=embedder.name)
    missing = [digest for digest in inputs if digest not in vectors]
    fresh: dict[str, NDArray[np.float32]] = {}
    failed_in_a_row = 0
    # Sorted by length, since a batch is padded to its longest text.
    missing.sort(key=lambda digest: len(inputs[digest]))
    batch_size = batch_size or BATCH_SIZE
    for start in range(0, len(missing), batch_size):
        batch = missing[start : start + batch_size]
        try:
            encoded = embed([inputs[digest] for digest in batch])
        except BackendError as exc:
            if not leave_out_failed:
                raise
            log.warning("batch_not_embedded", texts=len(batch), reason=str(exc))
            failed_in_a_row += 1
            if failed_in_a_row == MAX_FAILED_BATCHES:
                break
        else:
            failed_in_a_row = 0
            fresh.update(zip(batch, encoded, strict=True))
    return Encoded(embedder.name, {**vectors, **fresh}, frozenset(fresh))


def queue_completion(document_id: str, *, collection: Collection) -> Job:
    """Queue a job that adds the missing vectors of a document."""
    waiting = Job.objects.unfinished().filter(kind=Job.Kind.EMBED, items__document_id=document_id)
    job = waiting.first()
    if job is None:
        job = Job.objects.create(
            kind=Job.Kind.EMBED, collection=collection, total=1, is_listed=True
        )
        JobItem.objects.create(job=job, key=document_id, document_id=document_id)
    enqueue_job(job.pk)
    return job


def complete_document(document: Document) -> int:
    """Add the missing vectors of a document in batches, and mark it as completed.

    Returns:
        The number of texts that were embedded.

    Raises:
        BackendError: The embedder failed; the vectors added so far stay.
    """
    count = 0
    model = document.collection.embedding_model
    while True:
        count += add_missing_vectors(document, model=model)
        with transaction.atomic():
            # The lock keeps the collection's model until the commit.
            current_model = Collection.objects.lock_model(document.collection_id)
            rows = Document.objects.select_for_update(no_key=True).filter(pk=document.pk)
            is_current = rows.exists() and current_model == model
            if is_current and not document.chunks.lacking_vectors(model).exists():
                tell(WebhookEvent.DOCUMENT_READY, rows.exclude(status=Document.Status.COMPLETED))
                rows.update(status=Document.Status.COMPLETED, error="")
        if current_model in {model, None}:
            return count
        model = current_model


def add_missing_vectors(document: Document, *, model: str) -> int:
    """Add the missing vectors of ``model`` to a document; nothing else of it changes.

    Returns:
        The number of texts that were embedded.

    Raises:
        BackendError: The embedder failed; the vectors added so far stay.
    """
    embedder = get_embedder(model)
    lacking = document.chunks.lacking_vectors(model).defer("lexemes").order_by("ordinal")
    count = 0
    while chunks := list(lacking[:BATCH_SIZE]):
        texts = {chunk.pk: embedder_input(chunk.text, context=chunk.context) for chunk in chunks}
        hashes = {pk: sha256(text.encode()).hexdigest() for pk, text in texts.items()}
        inputs = {hashes[pk]: text for pk, text in texts.items()}
        encoded = encode(inputs, embedder=embedder)
        with transaction.atomic():
            present = Chunk.objects.lock_for_key_share([str(chunk.pk) for chunk in chunks])
            rows = [
                Embedding(
                    chunk=chunk,
                    collection_id=chunk.collection_id,
                    model=embedder.name,
                    dimension=embedder.dimension,
                    input_sha256=hashes[chunk.pk],
                    vector=encoded.vectors[hashes[chunk.pk]],
                )
                for chunk in chunks
                if str(chunk.pk) in present
            ]
            Embedding.objects.bulk_create(rows, ignore_conflicts=True)
        count += len(encoded.fresh)
    return count
