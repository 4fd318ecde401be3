"""Stored token vectors of chunks, which searches compare.

They are computed once for each text: by a worker after an ingest, or by the first search that needs
them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from random import shuffle
from typing import NamedTuple, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef

from corpus.embedders import token_embedders
from corpus.embedders.colbert import TokenEmbedder
from corpus.loaders.metadata import ranked_text
from corpus.models import Chunk, TokenVectors
from corpus.postgres import execute
from corpus.telemetry import Step, span

log = structlog.get_logger(__name__)

# Half a second of one core, the longest wait of a new job.
BATCH_SIZE = 16
# Listing takes 2 s for a million chunks, so it is not done for each batch.
LISTED_COUNT = 2_000

# Writers lock a chunk, its document or its collection first. Locked chunks are skipped, so that
# nobody waits; the texts of the others cannot change while this transaction is open.
_UNCHANGED_CHUNKS = """
SELECT c.id, d.title, d.file_words, c.text FROM corpus_chunk c
  JOIN corpus_document d ON d.id = c.document_id
  JOIN corpus_collection k ON k.id = c.collection_id
 WHERE c.id = ANY(%s)
   FOR KEY SHARE OF c, k SKIP LOCKED FOR SHARE OF d SKIP LOCKED
"""


class RankedChunk(NamedTuple):
    """A stored chunk and its text for the reranker."""

    chunk_id: UUID
    text: str

    @property
    def sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()


def search_token_embedder() -> TokenEmbedder | None:
    """Return the token embedder of searches; None if they use no token vectors."""
    name = settings.PKB_RERANKER_MODEL
    is_used = settings.PKB_TOKEN_VECTORS != "off" and name in token_embedders  # noqa: S105
    return cast("TokenEmbedder", token_embedders[name]) if is_used else None


def background_embedder() -> TokenEmbedder | None:
    """Return the token embedder of workers; None if they compute no token vectors."""
    return search_token_embedder() if settings.PKB_TOKEN_VECTORS == "all" else None  # noqa: S105


def get_token_vectors(chunks: Sequence[RankedChunk], *, embedder: TokenEmbedder) -> list[bytes]:
    """Return the packed token vectors of each chunk, in order.

    Missing and outdated ones are computed and stored; an error of storing is only logged.

    Raises:
        BackendError: The model is missing or failed.
    """
    with span(Step.READ_TOKENS, chunks=len(chunks)):
        ids = [chunk.chunk_id for chunk in chunks]
        stored = TokenVectors.objects.of_chunks(ids, model=embedder.packed_name)
    packed = dict(stored.values())
    lacking = [c for c in chunks if c.chunk_id not in stored or stored[c.chunk_id][0] != c.sha256]
    if lacking:
        packed |= _compute(lacking, embedder, at_once=len(lacking))
        try:
            _save(lacking, packed, embedder)
        except DatabaseError as exc:
            log.warning("token_vectors_not_kept", chunks=len(lacking), reason=str(exc))
    return [packed[chunk.sha256] for chunk in chunks]


def _compute(
    chunks: Sequence[RankedChunk], embedder: TokenEmbedder, *, at_once: int
) -> dict[str, bytes]:
    """Return packed vectors by text hash; compute each missing text once."""
    texts = {chunk.sha256: chunk.text for chunk in chunks}
    known = TokenVectors.objects.of_inputs(texts, model=embedder.packed_name)
    fresh = [digest for digest in texts if digest not in known]
    for start in range(0, len(fresh), at_once):
        some = fresh[start : start + at_once]
        with span(Step.EMBED_TOKENS, batch=len(some)):
            packed = embedder.pack_texts([texts[digest] for digest in some])
        known.update(zip(some, packed, strict=True))
    return known


@transaction.atomic
def _save(
    chunks: Sequence[RankedChunk], packed: Mapping[str, bytes], embedder: TokenEmbedder
) -> int:
    """Store the vectors of unchanged chunks; return their number."""
    stored = execute(_UNCHANGED_CHUNKS, [[chunk.chunk_id for chunk in chunks]])
    now = {
        pk: ranked_text(text, title=title, file_words=words) for pk, title, words, text in stored
    }
    rows = [
        TokenVectors(
            chunk_id=chunk.chunk_id,
            model=embedder.packed_name,
            input_sha256=chunk.sha256,
            token_count=embedder.count_tokens(packed[chunk.sha256]),
            packed=packed[chunk.sha256],
        )
        # In one order, to prevent deadlocks.
        for chunk in sorted(chunks)
        if now.get(chunk.chunk_id) == chunk.text
    ]
    TokenVectors.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["chunk", "model"],
        update_fields=["input_sha256", "token_count", "packed"],
    )
    return len(rows)


def fill_token_vectors(
    collection_id: int,
    *,
    embedder: TokenEmbedder,
    should_stop: Callable[[], bool],
    since: float = 0.0,
    at_once: int = 1,
) -> bool:
    """Compute the missing token vectors of a collection, and store each batch.

    Args:
        should_stop: Called between batches.
        since: Unix time; only chunks created since then are checked.
        at_once: Texts that the model encodes together; 1 uses a single core.

    Returns:
        Whether none is missing any more.

    Raises:
        BackendError: The model is missing or failed; the vectors stored so far stay.
    """
    present = TokenVectors.objects.filter(chunk=OuterRef("pk"), model=embedder.packed_name)
    created_after = datetime.fromtimestamp(since, UTC)
    lacking = Chunk.objects.filter(
        ~Exists(present), collection_id=collection_id, created_at__gte=created_after
    ).order_by()
    while listed := list(lacking.values_list("pk", flat=True)[:LISTED_COUNT]):
        saved_count = 0
        # Workers with the same list start with different chunks.
        shuffle(listed)
        for start in range(0, len(listed), BATCH_SIZE):
            if should_stop():
                return False
            rows = lacking.filter(pk__in=listed[start : start + BATCH_SIZE])
            batch = [
                RankedChunk(pk, ranked_text(text, title=title, file_words=words))
                for pk, text, title, words in rows.values_list(
                    "pk", "text", "document__title", "document__file_words"
                )
            ]
            packed = _compute(batch, embedder, at_once=at_once)
            saved_count += _save(batch, packed, embedder)
        if saved_count < len(listed):
            return False  # the others were deleted, are locked, or another worker was faster
        if len(listed) < LISTED_COUNT:
            break
    return True


def delete_stale_token_vectors(embedder: TokenEmbedder) -> None:
    """Delete vectors of other models or packings."""
    others = TokenVectors.objects.exclude(model=embedder.packed_name)
    while some := list(others.values_list("pk", flat=True)[:LISTED_COUNT]):
        TokenVectors.objects.filter(pk__in=some).delete()
