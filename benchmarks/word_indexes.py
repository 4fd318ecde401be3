"""Full-text indexes inside Postgres over the same texts, for ``word_engines.py``.

pg_textsearch's is on the product's own table, under its policies. pg_search gets a table with the
same texts in a database of its own, since its index has the same name as the other's; it is asked
by the superuser, since under the policies it cannot be (docs/decisions/0049).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psycopg
from django.contrib.auth import get_user_model
from django.db import connection
from growth import DIMENSION

from accounts.authentication import principal_of
from corpus.access.principal import acting_as
from corpus.models import Collection
from qa.search.hybrid import CandidateSearch, Scores
from qa.types import Query

WANTED = 50
PUT_INTO_PRODUCT = (
    "CREATE EXTENSION IF NOT EXISTS pg_textsearch",
    "CREATE INDEX IF NOT EXISTS chunk_bm25 ON corpus_chunk USING bm25 (text)"
    " WITH (text_config = 'english', k1 = 1.2, b = 0.75)",
)
MAKE_TABLE = """
CREATE TABLE chunk (id uuid PRIMARY KEY, collection_id bigint, text text, share2 boolean,
                    share10 boolean, share100 boolean)
"""
TAKE_ROWS = """
COPY (SELECT c.id, c.collection_id, c.text, d.metadata ? 'share2', d.metadata ? 'share10',
             d.metadata ? 'share100'
        FROM corpus_chunk c JOIN corpus_document d ON d.id = c.document_id) TO STDOUT
"""
PUT_BESIDE = (
    "CREATE EXTENSION IF NOT EXISTS pg_search",
    "CREATE INDEX chunk_words ON chunk USING bm25 (id, collection_id, share2, share10, share100,"
    " (text::pdb.simple('stemmer=english', 'stopwords_language=english'))) WITH (key_field = 'id')",
    "VACUUM ANALYZE chunk",
)
# Neither returns a score: pg_textsearch would recompute it from each row's text.
BY_TEXTSEARCH = """
SELECT id FROM corpus_chunk c WHERE collection_id = %(collection)s {tagged}
 ORDER BY text <@> to_bm25query(%(text)s, 'chunk_bm25') LIMIT %(count)s
"""
IS_TAGGED = """
AND EXISTS (SELECT FROM corpus_chunktag l WHERE l.chunk_id = c.id AND l.tag_id = ANY (
            SELECT id FROM corpus_tag WHERE name = ANY (%(tags)s)))
"""
BY_SEARCH = """
SELECT id FROM chunk WHERE text ||| %(text)s AND collection_id = %(collection)s {tagged}
 ORDER BY pdb.score(id) DESC LIMIT %(count)s
"""


class Engine(NamedTuple):
    """A word search and the Postgres process that runs it."""

    name: str
    find: Callable[[Query], Scores]
    backend: int


@contextmanager
def engines(
    collection: Collection, databases: tuple[str, str], superuser: str
) -> Iterator[list[Engine]]:
    """Connect to the product's database and to that of pg_search.

    pkb returns scores, the others ranks from 0.
    """
    user, settings = principal_of(get_user_model().objects.get()), connection.settings_dict
    as_user = f"-c pkb.principal={user.as_setting()}"
    with (
        psycopg.connect(
            host=settings["HOST"], user=settings["USER"], dbname=databases[0], options=as_user
        ) as product,
        psycopg.connect(superuser, dbname=databases[1]) as beside,
        acting_as(user),
        connection.cursor() as own,
    ):
        for cursor in (own, product, beside):
            cursor.execute("SET max_parallel_workers_per_gather = 0")
        own.execute("SELECT pg_backend_pid()")
        (backend,) = own.fetchone()

        def ask_own(query: Query, *, alone: bool) -> Scores:
            vectors = np.zeros((1, DIMENSION), np.float32)
            candidates = CandidateSearch(query, collection, vectors=vectors, count=WANTED)
            return candidates.search_lexical(alone=alone)

        def ask(server: psycopg.Connection, statement: str, tagged: str, query: Query) -> Scores:
            wanted = statement.format(tagged=tagged if query.tags else "").encode()
            values = {"text": query.text, "collection": collection.pk, "count": WANTED}
            rows = server.execute(wanted, values | {"tags": list(query.tags)}).fetchall()
            return {key: float(-place) for place, (key,) in enumerate(rows)}

        def ask_beside(query: Query) -> Scores:
            return ask(beside, BY_SEARCH, "AND " + "".join(query.tags), query)

        yield [
            Engine("own, beside vectors", lambda query: ask_own(query, alone=False), backend),
            Engine("own, words alone", lambda query: ask_own(query, alone=True), backend),
            Engine(
                "pg_textsearch",
                lambda query: ask(product, BY_TEXTSEARCH, IS_TAGGED, query),
                product.info.backend_pid,
            ),
            Engine("pg_search", ask_beside, beside.info.backend_pid),
        ]


def put_engines(databases: tuple[str, str], superuser: str) -> None:
    """Build both indexes, copy the texts for one, and print time and size."""
    with psycopg.connect(superuser, dbname=databases[0], autocommit=True) as product:
        build(product, PUT_INTO_PRODUCT, index="chunk_bm25")
        found = product.execute("SELECT FROM pg_database WHERE datname = %s", [databases[1]])
        if found.rowcount:
            return
        product.execute(f"CREATE DATABASE {databases[1]}".encode())
        with psycopg.connect(superuser, dbname=databases[1], autocommit=True) as beside:
            beside.execute(MAKE_TABLE)
            with (
                product.cursor().copy(TAKE_ROWS) as rows,
                beside.cursor().copy("COPY chunk FROM STDIN") as copy,
            ):
                for block in rows:
                    copy.write(block)
            build(beside, PUT_BESIDE, index="chunk_words")


def build(server: psycopg.Connection, statements: tuple[str, ...], *, index: str) -> None:
    server.execute("SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0")
    started, before = time.perf_counter(), core_s(server.info.backend_pid)
    for statement in statements:
        server.execute(statement.encode())
    wall, core = time.perf_counter() - started, core_s(server.info.backend_pid) - before
    size = server.execute("SELECT pg_relation_size(%s::regclass)", [index]).fetchall()[0][0]
    took = f"{wall:.0f} s, {core:.0f} s of a core"
    print(f"{server.info.dbname}: {index}: {took}, {size / 2**20:.0f} MB", flush=True)


def core_s(backend: int) -> float:
    """Return the CPU seconds of a process, to the nanosecond."""
    return int(Path(f"/proc/{backend}/schedstat").read_text().split()[0]) / 1e9
