"""Fill a database with a synthetic corpus of any size by COPY, for ``growth.py``.

One collection, four chunks a document, 130 words a chunk by Zipf's law, unit vectors that are mixed
of a few thousand directions, and tags and metadata on a known share of the documents.
"""

import hashlib
import uuid
from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from corpus.embedders.hashed_words import HashingEmbedder
from corpus.models import Collection
from corpus.postgres import as_owner
from corpus.vector_index import ensure_vector_index

NAME = "growth"
CHUNKS_A_DOCUMENT = 4
WORDS_A_CHUNK = 130
VOCABULARY_SIZE = 200_000
# Vectors of texts use few dimensions. If directions used all, all distances would be similar, and
# the index would find 0.84 of the nearest ten; of real vectors it finds all.
DIRECTION_COUNT = 2_000
DIRECTION_RANK = 40
MIXED_OF = 3
# Share of independent noise in a vector.
NOISE = 0.1
# Tags and metadata of one document in this many.
SHARES = (2, 10, 25, 100, 10_000)
# Documents with tag and metadata ``few``, in a corpus of any size.
FEW = 10
STATEMENTS_AFTER = (
    "CREATE INDEX chunk_lexemes ON corpus_chunk USING gin (lexemes)",
    "ALTER TABLE corpus_chunk ENABLE TRIGGER USER",
    "DELETE FROM corpus_termcount",
    """
    INSERT INTO corpus_termcount (collection_id, lexeme, chunk_count, token_count)
    SELECT collection_id, lexeme, sum(chunks), sum(tokens) FROM (
      SELECT collection_id, '' AS lexeme, 1 AS chunks, token_count AS tokens FROM corpus_chunk
      UNION ALL
      SELECT c.collection_id, l.lexeme, 1, 0 FROM corpus_chunk c, unnest(c.lexemes) l
    ) counted GROUP BY collection_id, lexeme
    """,
)


class MixedEmbedder(HashingEmbedder):
    """Gives each text its own vector, drawn like those of the corpus."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.name = NAME

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return shape (d,), of L2 norm 1."""
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        drawn: NDArray[np.float32] = draw_vectors(1, self.dimension, seed=seed)[0]
        return drawn


def draw_vectors(count: int, dimension: int, *, seed: int) -> NDArray[np.float32]:
    """Return shape (count, dimension), rows of L2 norm 1."""
    directions = _directions(dimension)
    chance = np.random.default_rng(seed)
    chosen = chance.integers(DIRECTION_COUNT, size=(count, MIXED_OF))
    weights = chance.random((count, MIXED_OF), np.float32)[..., None]
    mixed = (directions[chosen] * weights).sum(axis=1)
    own = chance.standard_normal((count, dimension), np.float32)
    mixed += NOISE * own / np.sqrt(dimension)
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


@cache
def _directions(dimension: int) -> NDArray[np.float32]:
    chance = np.random.default_rng(0)
    drawn = chance.standard_normal((DIRECTION_COUNT, DIRECTION_RANK), np.float32)
    drawn = drawn @ chance.standard_normal((DIRECTION_RANK, dimension), np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)


def make_vocabulary() -> list[str]:
    """Return words, the most frequent first."""
    syllables = [a + b for a, b in product("bdfgklmnprtvz", "aeiou")]
    words = ("".join(parts) + "k" for parts in product(syllables, repeat=3))
    return [word for word, _ in zip(words, range(VOCABULARY_SIZE), strict=False)]


@as_owner()
def fill(chunk_count: int, *, dimension: int) -> None:
    """Store the corpus in the connected, migrated database."""
    collection = Collection.objects.create(
        name=NAME, embedding_model=NAME, dimension=dimension, chunk_size=300
    )
    connection.ensure_connection()
    register_vector(connection.connection)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE corpus_chunk DISABLE TRIGGER USER; DROP INDEX chunk_lexemes")
        texts = list(_draw_texts(chunk_count))
        document_ids = _copy_documents(cursor, collection, texts)
        chunk_ids = _copy_chunks(cursor, collection, texts, document_ids)
        _copy_vectors(cursor, collection, dict(zip(chunk_ids, texts, strict=True)), dimension)
        _copy_tags(cursor, collection, document_ids, chunk_ids)
        for statement in STATEMENTS_AFTER:
            cursor.execute(statement)
    ensure_vector_index(model=NAME, dimension=dimension)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _draw_texts(count: int) -> Iterator[str]:
    vocabulary = np.array(make_vocabulary())
    shares = 1 / (np.arange(VOCABULARY_SIZE) + 2.7)
    cumulated = np.cumsum(shares / shares.sum())
    chance = np.random.default_rng(1)
    for _ in range(count):
        ranks = np.searchsorted(cumulated, chance.random(WORDS_A_CHUNK))
        yield " ".join(vocabulary[np.minimum(ranks, VOCABULARY_SIZE - 1)]) + "."


def _copy(
    cursor: Any, table: str, columns: dict[str, str], rows: Iterator[tuple[Any, ...]]
) -> None:
    # Into a temporary table first: COPY cannot write to tables with policies.
    names = ", ".join(columns)
    cursor.execute(f"CREATE TEMP TABLE made AS SELECT {names} FROM corpus_{table} LIMIT 0")  # noqa: S608
    with cursor.copy(f"COPY made ({names}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
    cursor.execute(
        f"INSERT INTO corpus_{table} ({names}) SELECT {names} FROM made; DROP TABLE made"  # noqa: S608
    )


def _copy_documents(cursor: Any, collection: Collection, texts: list[str]) -> list[uuid.UUID]:
    ids = [uuid.uuid4() for _ in range(0, len(texts), CHUNKS_A_DOCUMENT)]
    columns = {
        "id": "uuid", "collection_id": "int8", "source_uri": "varchar", "source": "varchar",
        "title": "varchar", "media_type": "varchar",
        "content_sha256": "varchar", "metadata": "jsonb", "chapter": "varchar",
        "section": "varchar", "word_count": "int4", "char_count": "int4", "chunk_count": "int4",
        "status": "varchar", "error": "text", "file_path": "varchar", "file_hash": "varchar",
        "settings_sha256": "varchar", "created_at": "timestamptz", "updated_at": "timestamptz",
        "ingested_at": "timestamptz",
    }  # fmt: skip
    now = collection.created_at

    def rows() -> Iterator[tuple[Any, ...]]:
        for number, key in enumerate(ids):
            text = _text_of(texts, number)
            yield (
                key, collection.pk, f"file:///{number}", "made", f"Report {number}", "text/plain",
                hashlib.sha256(text.encode()).hexdigest(),
                Jsonb(_metadata(number, len(ids))), "", "", len(text.split()), len(text),
                CHUNKS_A_DOCUMENT, "completed", "", "", "", "", now, now, now,
            )  # fmt: skip

    _copy(cursor, "document", columns, rows())
    contents = ((key, _text_of(texts, number), Jsonb({})) for number, key in enumerate(ids))
    types = {"document_id": "uuid", "text": "text", "outline": "jsonb"}
    _copy(cursor, "documentcontent", types, contents)
    return ids


def _text_of(texts: list[str], number: int) -> str:
    return "\n\n".join(texts[number * CHUNKS_A_DOCUMENT : (number + 1) * CHUNKS_A_DOCUMENT])


def _metadata(number: int, count: int) -> dict[str, Any]:
    return {
        "year": 1950 + number % 70,
        "unit": f"unit {number % 1_000}",
        **{f"share{share}": True for share in SHARES if number % share == 0},
        **({"few": True} if number % (count // FEW) == 0 else {}),
    }


def _copy_chunks(
    cursor: Any, collection: Collection, texts: list[str], document_ids: list[uuid.UUID]
) -> list[uuid.UUID]:
    ids = [uuid.uuid4() for _ in texts]
    columns = {
        "id": "uuid", "document_id": "uuid", "collection_id": "int8", "ordinal": "int4",
        "start_char": "int4", "end_char": "int4", "text": "text", "context": "text",
        "chunk_sha256": "varchar", "token_count": "int4", "heading_path": "text[]",
        "metadata": "jsonb", "created_at": "timestamptz", "language": "varchar", "ngrams": "text",
    }  # fmt: skip

    def rows() -> Iterator[tuple[Any, ...]]:
        start = 0
        for number, (key, text) in enumerate(zip(ids, texts, strict=True)):
            document, ordinal = divmod(number, CHUNKS_A_DOCUMENT)
            start = 0 if ordinal == 0 else start
            yield (
                key, document_ids[document], collection.pk, ordinal, start, start + len(text),
                text, f"Report {document}", hashlib.sha256(text.encode()).hexdigest(),
                WORDS_A_CHUNK, [], Jsonb({}), collection.created_at, "english", "",
            )  # fmt: skip
            start += len(text) + 2

    _copy(cursor, "chunk", columns, rows())
    return ids


def _copy_vectors(
    cursor: Any, collection: Collection, texts: dict[uuid.UUID, str], dimension: int
) -> None:
    columns = {
        "chunk_id": "uuid", "collection_id": "int8", "model": "varchar", "dimension": "int4",
        "input_sha256": "varchar", "vector": "halfvec", "created_at": "timestamptz",
    }  # fmt: skip

    def rows() -> Iterator[tuple[Any, ...]]:
        block = 2_000
        for start in range(0, len(texts), block):
            chunks = list(islice(texts.items(), start, start + block))
            vectors = draw_vectors(len(chunks), dimension, seed=start + 2)
            for number, ((key, text), vector) in enumerate(
                zip(chunks, vectors, strict=True), start
            ):
                context = f"Report {number // CHUNKS_A_DOCUMENT}"
                sha256 = hashlib.sha256(f"{context}\n{text}".encode()).hexdigest()
                yield (
                    key, collection.pk, NAME, dimension, sha256, HalfVector(vector),
                    collection.created_at,
                )  # fmt: skip

    _copy(cursor, "embedding", columns, rows())


def _copy_tags(
    cursor: Any, collection: Collection, document_ids: list[uuid.UUID], chunk_ids: list[uuid.UUID]
) -> None:
    carried: list[tuple[int, str]] = []
    for number in range(len(document_ids)):
        metadata = _metadata(number, len(document_ids))
        carried += [(number, name) for name in metadata if name.startswith(("share", "few"))]
    names = sorted({name for _, name in carried})
    cursor.execute(
        "INSERT INTO corpus_tag (collection_id, name) SELECT %s, unnest(%s::text[])"
        " RETURNING name, id",
        [collection.pk, names],
    )
    tag_ids = dict(cursor.fetchall())
    of_documents = ((document_ids[number], tag_ids[name]) for number, name in carried)
    _copy(cursor, "document_tags", {"document_id": "uuid", "tag_id": "int8"}, of_documents)
    of_chunks = (
        (chunk_ids[number * CHUNKS_A_DOCUMENT + ordinal], tag_ids[name])
        for number, name in carried
        for ordinal in range(CHUNKS_A_DOCUMENT)
    )
    _copy(cursor, "chunktag", {"chunk_id": "uuid", "tag_id": "int8"}, of_chunks)
