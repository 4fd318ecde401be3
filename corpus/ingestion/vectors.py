"""Vectors that could not be made at once: store what there is, bring the rest by a job."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice
from uuid import UUID

import numpy as np
import stamina
import structlog
from django.db import transaction
from numpy.typing import NDArray

from corpus.embedders import Embedder, get_embedder
from corpus.errors import BackendError
from corpus.ingestion.chunks import NewChunk, embedder_input, encode_chunks
from corpus.models import Chunk, Collection, Document, Embedding, Job, JobItem
from corpus.queue import enqueue_job

log = structlog.get_logger(__name__)

BATCH_SIZE = 64
TRIES = 3
# After so many batches in a row the backend is taken to be down: no more is asked of it.
FAILED_BATCHES_MAX = 2

Vectors = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors by ``input_sha256``, and how many texts the model was given for them."""

    vectors: Mapping[str, NDArray[np.float32]]
    count: int


def encode_patiently(chunks: Sequence[NewChunk], *, embedder: Embedder) -> Encoded:
    """Encode in batches, each tried several times; what still fails is left out."""
    inputs = {chunk.input_sha256: chunk for chunk in chunks}
    known = Embedding.objects.filter(model=embedder.name, input_sha256__in=list(inputs))
    known_hashes = set(known.values_list("input_sha256", flat=True).distinct())
    vectors: Vectors = {}
    failed_in_a_row = 0
    # Texts of one length together: a batch is padded to its longest.
    for batch in _batches(sorted(inputs.values(), key=lambda chunk: len(chunk.text))):
        try:
            vectors.update(_retried(partial(encode_chunks, batch, embedder=embedder)))
            failed_in_a_row = 0
        except BackendError as exc:
            log.warning("batch_not_embedded", texts=len(batch), reason=str(exc))
            failed_in_a_row += 1
        if failed_in_a_row == FAILED_BATCHES_MAX:
            break
    return Encoded(vectors, len(vectors.keys() - known_hashes))


def _batches(chunks: Sequence[NewChunk]) -> Iterator[list[NewChunk]]:
    rest = iter(chunks)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch


def _retried(encode: Callable[[], Vectors]) -> Vectors:
    for attempt in stamina.retry_context(on=BackendError, attempts=TRIES, wait_initial=0.1):
        with attempt:
            return encode()
    raise AssertionError("unreachable: the last attempt raises")


def queue_completion(document_id: str, *, collection: Collection) -> Job:
    """Have workers bring the vectors that a document lacks."""
    waiting = Job.objects.unfinished().filter(kind=Job.Kind.EMBED, items__document_id=document_id)
    job = waiting.first()
    if job is None:
        job = Job.objects.create(
            kind=Job.Kind.EMBED, collection=collection, total=1, is_listed=True
        )
        JobItem.of_document(UUID(document_id), job=job).save()
    enqueue_job(job.pk)
    return job


def complete_document(document: Document) -> int:
    """Bring the vectors a document lacks, batch by batch, each kept at once.

    Returns:
        How many texts were encoded.

    Raises:
        BackendError: The embedder failed; what was brought so far stays.
    """
    count = 0
    model = document.collection.embedding_model
    while True:
        count += bring_vectors(document, model=model)
        with transaction.atomic():
            # Its collection does not change its model while this is open.
            now = Collection.objects.model_of(document.collection_id)
            rows = Document.objects.select_for_update(no_key=True).filter(pk=document.pk)
            is_there = rows.only("id").exists()
            if now == model and is_there and not document.chunks.lacking(model).exists():
                rows.update(status=Document.Status.COMPLETED, error="")
        if now in {model, None}:
            return count
        model = now


def bring_vectors(document: Document, *, model: str) -> int:
    """Bring the vectors by ``model`` that a document lacks; nothing else of it changes.

    Returns:
        How many texts were encoded.

    Raises:
        BackendError: The embedder failed; what was brought so far stays.
    """
    embedder = get_embedder(model)
    lacking = document.chunks.lacking(model).defer("lexemes").order_by("ordinal")
    count = 0
    while chunks := list(lacking[:BATCH_SIZE]):
        count += _bring_vectors(chunks, embedder)
    return count


def _bring_vectors(chunks: Sequence[Chunk], embedder: Embedder) -> int:
    inputs = {chunk.pk: embedder_input(chunk.text, context=chunk.context) for chunk in chunks}
    hashes = {pk: sha256(text.encode()).hexdigest() for pk, text in inputs.items()}
    vectors = Embedding.objects.of_inputs(list(hashes.values()), model=embedder.name)
    missing = {hashes[pk]: text for pk, text in inputs.items() if hashes[pk] not in vectors}
    if missing:
        texts = list(missing.values())
        encoded = _retried(lambda: dict(zip(missing, embedder.embed_passages(texts), strict=True)))
        vectors.update(encoded)
    with transaction.atomic():
        kept = Chunk.objects.keep_in_place([str(chunk.pk) for chunk in chunks])
        rows = [
            Embedding(
                chunk=chunk,
                collection_id=chunk.collection_id,
                model=embedder.name,
                dimension=embedder.dimension,
                input_sha256=hashes[chunk.pk],
                vector=vectors[hashes[chunk.pk]],
            )
            for chunk in chunks
            if str(chunk.pk) in kept
        ]
        Embedding.objects.bulk_create(rows, ignore_conflicts=True)
    return len(missing)
