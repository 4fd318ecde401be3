"""Measure the cost of row-level security in a search, and check that nothing leaks.

    PKB_DATA_DIR=/tmp/tenants PYTHONPATH=. .venv/bin/python benchmarks/tenants.py
    PKB_DATA_DIR=/tmp/tenants PYTHONPATH=. .venv/bin/python benchmarks/tenants.py --leaks 10000

The first: the made-up corpus (``synthetic_corpus.py``) is divided among collections, each of a
user of its own, and searched by each with the policies and without, in turns of one run.

The second: users with documents of one subject, and each with a word that nobody else has, search
and ask at random, in collections of their own, of others and granted ones, or forget to name any;
counted is what shows a word of somebody who granted nothing.
"""

import argparse
import logging
import random
import re
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from growth import DIMENSION, make_database, use  # sets Django up
from synthetic_corpus import NAME, STATEMENTS_AFTER, fill

from django.conf import settings  # isort: skip
from django.contrib.auth import get_user_model  # isort: skip
from django.core.management import call_command  # isort: skip
from django.db import connection  # isort: skip

from accounts.authentication import principal_of
from accounts.grants import grant_role
from corpus.access.principal import SYSTEM, Principal, acting_as
from corpus.catalogue import create_collection
from corpus.errors import CollectionNotFound
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission
from corpus.models import Chunk, Collection, Document
from corpus.postgres.owner import as_owner
from qa.answer_question import answer_question
from qa.context import build_context
from qa.search_passages import search_passages
from qa.types import Query

TURNS = 6
POLICED = "SELECT relname FROM pg_class WHERE relforcerowsecurity"
DEAL_OUT = """
WITH dealt AS (SELECT id, row_number() OVER (ORDER BY id) %% %(count)s AS n FROM corpus_document)
UPDATE corpus_document d SET collection_id = k.id FROM dealt, corpus_collection k
 WHERE dealt.id = d.id AND k.name = 'c' || dealt.n;
UPDATE corpus_chunk c SET collection_id = d.collection_id
  FROM corpus_document d WHERE d.id = c.document_id;
UPDATE corpus_embedding e SET collection_id = c.collection_id
  FROM corpus_chunk c WHERE c.id = e.chunk_id;
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--collections", type=int, default=200)
    parser.add_argument("--times", type=int, default=600, help="searches with, and without")
    parser.add_argument("--leaks", type=int, default=0, help="searches and answers of 50 users")
    options = parser.parse_args()
    logging.disable()
    settings.PKB_EMBEDDERS = settings.PKB_EMBEDDERS | {
        NAME: {"BACKEND": "synthetic_corpus.MixedEmbedder", "OPTIONS": {"dimension": DIMENSION}}
    }
    with acting_as(SYSTEM):
        if options.leaks:
            show_leaks(options.leaks)
        else:
            show_cost(options.chunks, options.collections, times=options.times)


def connect(name: str) -> bool:
    """Connect to a database of that name; return whether it is new."""
    use("postgres")
    is_new = make_database(name, is_fresh=False)
    use(name)
    call_command("migrate", verbosity=0)
    return is_new


def make_users(count: int) -> list[Principal]:
    users = get_user_model().objects
    return [principal_of(users.create_user(f"u{number}")) for number in range(count)]


def show_cost(chunk_count: int, count: int, *, times: int) -> None:
    if connect(f"tenants_{chunk_count}_{count}"):
        fill(chunk_count, dimension=DIMENSION)
    if not get_user_model().objects.exists():
        deal_out(count)
    users = [principal_of(user) for user in get_user_model().objects.order_by("pk")]
    spent: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(TURNS):
        for is_policed in (True, False):
            police(is_policed)
            spent[is_policed] += list(time_searches(users, times // TURNS, seed=turn))
    police(True)
    with_ms, without_ms = (median(spent[each]) for each in (True, False))
    print(f"{chunk_count:,} chunks in {count} collections, search p50, {times} each:")
    print(f"with {with_ms:.2f} ms, without {without_ms:.2f} ms: {with_ms / without_ms:.3f}")


@as_owner()
def deal_out(count: int) -> None:
    for number, user in enumerate(make_users(count)):
        with acting_as(user):
            Collection.objects.create(
                name=f"c{number}", embedding_model=NAME, dimension=DIMENSION, chunk_size=300
            )
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE corpus_chunk DISABLE TRIGGER USER")
        cursor.execute(DEAL_OUT, {"count": count})
        for statement in STATEMENTS_AFTER[1:]:
            cursor.execute(statement)
        cursor.execute("VACUUM FULL ANALYZE")


@as_owner()
def police(is_policed: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute(POLICED)
        for (table,) in cursor.fetchall():
            act = "ENABLE" if is_policed else "DISABLE"
            cursor.execute(f"ALTER TABLE {table} {act} ROW LEVEL SECURITY")


def time_searches(users: list[Principal], times: int, *, seed: int) -> Iterator[float]:
    chance = random.Random(seed)  # noqa: S311
    context = build_context()
    texts = list(Chunk.objects.order_by("pk").values_list("text", flat=True)[:500])
    for number in range(times + 5):
        place = chance.randrange(len(users))
        words = chance.sample(chance.choice(texts).split(), 7)
        started = time.perf_counter()
        with acting_as(users[place]):
            found = search(" ".join(words), f"c{place}", context)
        if number >= 5:
            yield (time.perf_counter() - started) * 1_000
        if not found:
            raise SystemExit("a user found nothing")


def search(text: str, collection: str, context: Any) -> tuple[Any, ...]:
    query = Query(text, collection=collection, k=10)
    return search_passages(
        query, mode="hybrid", threshold=0.0, rerank=False, context=context
    ).results


def show_leaks(times: int, *, count: int = 50, seed: int = 1) -> None:
    if connect("tenants_leaks"):
        make_tenants(count)
    users = [principal_of(user) for user in get_user_model().objects.order_by("pk")]
    context = build_context()
    chance = random.Random(seed)  # noqa: S311
    leaks = refused = told = 0
    for number in range(times):
        me, other = chance.randrange(count), chance.randrange(count)
        # The next user's collection is shared.
        allowed = {me, (me + 1) % count}
        shown = ""
        with acting_as(users[me]):
            try:
                shown = act(chance, number, me, other, context)
            except CollectionNotFound:
                refused += 1
        words = {int(found) for found in re.findall(r"canary(\d+)", shown)}
        told += bool(words)
        leaks += bool(words - allowed)
    print(f"{times:,} acts of {count} users: {told:,} showed something, {refused:,} were refused")
    print(f"leaks: {leaks}")


def act(chance: random.Random, number: int, me: int, other: int, context: Any) -> str:
    collection = f"notes@u{chance.choice([me, (me + 1) % 50, other])}"
    question = f"Who keeps the key of canary{other}?"
    match number % 4:
        case 0:
            return str(search(question, collection, context))
        case 1:
            answered = answer_question(question, collection=collection, k=5, context=context)
            return str(answered.answer).replace(question, "")
        case 2:  # the filter by collection is forgotten
            return str(list(Chunk.objects.values_list("text", flat=True)))
        case _:
            return str(list(Document.objects.mentioning(f"canary{other}").values_list("raw_text")))


def make_tenants(count: int) -> None:
    users = make_users(count)
    for number, user in enumerate(users):
        with acting_as(user):
            collection = create_collection("notes", embedding_model="hashing-64")
            for part in ("key", "lamp", "boat"):
                text = f"The {part} of the tower is kept by canary{number}, as the book says."
                ingest_submission(Submission(text, Attributes(title=part)), collection=collection)
            grant_role(collection, "reader", user=f"u{(number - 1) % count}")


if __name__ == "__main__":
    main()
