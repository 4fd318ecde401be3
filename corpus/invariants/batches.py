"""Check the documents of a collection in batches, in the order of their ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from corpus.invariants.violations import Scan
from corpus.postgres import execute

# Chunks of a batch, which is checked in one snapshot: half a second to a second.
CHUNKS = 20_000
FIRST, LAST = UUID(int=0), UUID(int=2**128 - 1)

_ENDS = """
SELECT DISTINCT ON (number) id, sum(chunks) OVER (PARTITION BY number) FROM (
  SELECT id, chunk_count AS chunks,
         div(sum(chunk_count + 1) OVER (ORDER BY id), %(size)s) AS number
    FROM corpus_document WHERE collection_id = %(collection)s AND id > %(after)s
) numbered ORDER BY number, id DESC
"""
_DOCUMENTS = """
 d.collection_id = %(collection)s AND d.id > %(after)s AND d.id <= %(up_to)s
"""
# The range is repeated, so that chunks are looked up by it.
_CHUNKS = """
  FROM corpus_document d JOIN corpus_collection k ON k.id = d.collection_id
  JOIN corpus_chunk c ON c.document_id = d.id
   AND c.document_id > %(after)s AND c.document_id <= %(up_to)s
"""


VECTORS = Scan(
    "e.id",
    f"{_CHUNKS} JOIN corpus_embedding e ON e.chunk_id = c.id WHERE {_DOCUMENTS}",
    {
        "a vector is in another collection than its chunk": ("e.collection_id <> c.collection_id"),
        "a vector has not the dimension of its collection": (
            "e.model = k.embedding_model AND e.dimension <> k.dimension"
            " OR e.model = k.previous_model AND e.dimension <> k.previous_dimension"
        ),
        "a vector is not of length 1": "abs(l2_norm(e.vector) - 1) > 0.001",
    },
)
SCANS = (
    Scan(
        "d.id",
        f"""
        FROM corpus_document d LEFT JOIN (
          SELECT document_id, count(*) AS n, min(ordinal) AS least, max(ordinal) AS most
            FROM corpus_chunk WHERE document_id > %(after)s AND document_id <= %(up_to)s
           GROUP BY document_id) c ON c.document_id = d.id
        LEFT JOIN corpus_documentcontent t ON t.document_id = d.id
        WHERE {_DOCUMENTS}""",  # noqa: S608
        {
            "a completed document has no chunk": "d.status = 'completed' AND c.n IS NULL",
            "chunk_count of a document is wrong": "d.chunk_count <> coalesce(c.n, 0)",
            "ordinals of a document are not 0, 1, 2, ...": "c.least <> 0 OR c.most <> c.n - 1",
            "a document without a version has chunks": "d.content_sha256 = '' AND c.n > 0",
            "a document without a version has a text": (
                "d.content_sha256 = '' AND t.document_id IS NOT NULL"
            ),
            "a failed document does not say why": "d.status = 'failed' AND d.error = ''",
        },
    ),
    Scan(
        "c.id",
        f"""{_CHUNKS}
        LEFT JOIN corpus_embedding e ON e.chunk_id = c.id AND e.model = k.embedding_model
        WHERE {_DOCUMENTS}""",
        {
            "a chunk is in another collection than its document": (
                "c.collection_id <> d.collection_id"
            ),
            "the language of a chunk is not its collection's": "c.language <> k.language",
            "a chunk of a completed document has no vector of its collection's model": (
                "d.status = 'completed' AND e.id IS NULL"
            ),
        },
    ),
    VECTORS,
    Scan(
        "c.id",
        f"""{_CHUNKS} JOIN corpus_document_tags dt ON dt.document_id = d.id
        LEFT JOIN corpus_chunktag ct ON ct.chunk_id = c.id AND ct.tag_id = dt.tag_id
        WHERE {_DOCUMENTS}""",
        {"a chunk lacks a tag of its document": "ct.id IS NULL"},
    ),
    Scan(
        "c.id",
        f"""{_CHUNKS} JOIN corpus_chunktag ct ON ct.chunk_id = c.id
        LEFT JOIN corpus_document_tags dt ON dt.document_id = d.id AND dt.tag_id = ct.tag_id
        WHERE {_DOCUMENTS}""",
        {"a chunk has a tag that its document lacks": "dt.id IS NULL"},
    ),
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of a collection with ids after ``after``, up to ``up_to``.

    Attributes:
        chunk_count: Approximate number of their chunks.
    """

    collection_id: int
    after: UUID
    up_to: UUID
    chunk_count: int


def batches_of(collection_id: int, *, after: UUID = FIRST) -> Iterator[Batch]:
    """Yield the batches of all documents after an id."""
    values: dict[str, Any] = {"collection": collection_id, "after": after, "size": CHUNKS}
    ends = execute(_ENDS, values) or [(LAST, 0)]
    # New documents may have any id.
    ends[-1] = (LAST, ends[-1][1])
    for up_to, chunk_count in ends:
        yield Batch(collection_id, after, up_to, int(chunk_count))
        after = up_to
