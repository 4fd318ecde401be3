"""Vectors that could not be made at once: store what there is, bring the rest by a job."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice

import numpy as np
import stamina
import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from numpy.typing import NDArray

from corpus.embedding import Embedder, get_embedder
from corpus.errors import BackendError
from corpus.ingestion.encoding import NewChunk, embedder_input, encode_chunks
from corpus.models import Chunk, Collection, Document, Embedding, Job, JobItem
from corpus.queueing import enqueue_job

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
        JobItem.objects.create(job=job, path=document_id, document_id=document_id)
    enqueue_job(job.pk)
    return job


def complete_document(document: Document) -> int:
    """Bring the vectors a document lacks, batch by batch, each kept at once.

    Returns:
        How many texts were encoded.

    Raises:
        BackendError: The embedder failed; what was brought so far stays.
    """
    embedder = get_embedder(document.collection.embedding_model)
    count = 0
    while lacking := list(_lacking(document)[:BATCH_SIZE]):
        count += _bring_vectors(lacking, embedder)
    with transaction.atomic():
        locked = Document.objects.select_for_update(no_key=True).only("id").filter(pk=document.pk)
        if locked.exists() and not _lacking(document).exists():
            Document.objects.filter(pk=document.pk).update(
                status=Document.Status.COMPLETED, error=""
            )
    return count


def _lacking(document: Document) -> QuerySet[Chunk]:
    model = document.collection.embedding_model
    there = Embedding.objects.filter(chunk=OuterRef("pk"), model=model)
    return document.chunks.filter(~Exists(there)).defer("lexemes").order_by("ordinal")


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
