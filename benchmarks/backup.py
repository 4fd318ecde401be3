"""Back up an installation, restore it elsewhere, and ask both the same: time, memory, answers.

    PYTHONPATH=. .venv/bin/python benchmarks/backup.py VAR WORK [--queries FILE] [--exact]
        [--without-vectors] [--database URL] [--kills N --database URL]

VAR is the PKB_DATA_DIR of a filled installation, WORK an empty folder for what is made. The
restored one is on an embedded Postgres of its own, or in the empty database URL, from where it is
then moved to an embedded one again. FILE has lines of JSON with ``text``, open_gzip; without it the
first words of chunks are asked, spread over all. With ``--kills`` nothing is asked: restores into
the empty database are killed at random moments, and one then runs to its end.
"""

import argparse
import gzip
import json
import logging
import os
import random
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg

from corpus.access.principal import SYSTEM, acting_as

ROOT = Path(__file__).parents[1]
QUERY_COUNT = 100
QUERY_WORDS = 12
K = 10
# Longest restore of a few thousand chunks.
LONGEST_S = 20.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("var", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--without-vectors", action="store_true", help="by `export`, embedded anew")
    parser.add_argument("--database", help="address of an empty database to go by, of its owner")
    parser.add_argument("--exact", action="store_true", help="compare all vectors, by no index")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--ask", action="store_true", help="only write the results to WORK")
    options = parser.parse_args()
    if options.ask:
        options.work.write_text(json.dumps(ask_all(options.queries, exact=options.exact)))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    if options.kills:
        kill_restores(options)
    else:
        drill(options)


def drill(options: argparse.Namespace) -> None:
    places = [{"PKB_DATA_DIR": str(options.var.resolve())}]
    models = str(options.var.resolve() / "models")
    if options.database:
        places.append(
            {"PKB_DATA_DIR": str(options.work / "outside"), "DATABASE_URL": options.database}
        )
    places.append({"PKB_DATA_DIR": str(options.work / "restored")})
    places = [{"PKB_MODEL_DIR": models, **place} for place in places]
    before = results(places[0], options, "before")
    for number, (source, target) in enumerate(pairwise(places)):
        taken = options.work / f"taken-{number}"
        take_out(source, taken, options.without_vectors)
        [folder] = [taken] if options.without_vectors else taken.iterdir()
        measured("restore", ["manage.py", "restore", "--trusted", str(folder)], target)
        measured("verify", ["manage.py", "verify"], target)
        compare(before, results(target, options, f"after-{number}"))


def kill_restores(options: argparse.Namespace) -> None:
    """Kill restores at random times; none may leave any data."""
    taken = options.work / "taken"
    models = {"PKB_MODEL_DIR": str(options.var.resolve() / "models")}
    take_out({"PKB_DATA_DIR": str(options.var.resolve()), **models}, taken, without_vectors=False)
    [folder] = taken.iterdir()
    target = {"PKB_DATA_DIR": str(options.work / "outside"), "DATABASE_URL": options.database}
    measured("migrate", ["manage.py", "migrate", "--verbosity", "0"], target)
    draw, latest_s = random.Random(options.kills), LONGEST_S  # noqa: S311
    for number in range(options.kills):
        after_s = draw.uniform(0.2, 1) * latest_s
        command = [sys.executable, "manage.py", "restore", "--trusted", str(folder)]
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **target})
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        count = stored_count(options.database)
        print(f"kill {number}: after {after_s:.1f} s, exit {process.returncode}, {count} documents")
        if process.returncode == 0:
            # It finished before the kill: kill the next ones sooner.
            latest_s = after_s
            empty(options.database)
        elif count:
            raise SystemExit("A restore that was killed left documents.")
    measured("restore", ["manage.py", "restore", "--trusted", str(folder)], target)
    measured("verify", ["manage.py", "verify"], target)


def stored_count(database: str) -> int:
    # Postgres rolls back once it notices the killed client.
    with psycopg.connect(database, options="-c pkb.principal=*") as reader:
        row = reader.execute("SELECT count(*) FROM corpus_document").fetchone()
    return row[0] if row else 0


def empty(database: str) -> None:
    with psycopg.connect(database) as writer:
        tables = writer.execute(
            "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()"
            " AND tablename !~ '^(procrastinate|django_migrations)'"
        ).fetchall()
        writer.execute("TRUNCATE " + ", ".join(name for (name,) in tables))


def take_out(source: dict[str, str], taken: Path, without_vectors: bool) -> None:
    command = "export" if without_vectors else "backup"
    measured(command, ["manage.py", command, str(taken)], source)


def measured(name: str, command: list[str], environment: dict[str, str]) -> None:
    """Run a command; print its output, time, CPU and peak memory."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env={**os.environ, **environment}
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took_s, cpu_s = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    print(
        f"{name}: {took_s:.1f} s, its own CPU {cpu_s:.1f} s, {usage.ru_maxrss / 1024:.0f} MiB,"
        f" exit {process.returncode}",
        flush=True,
    )
    if process.returncode:
        raise SystemExit(1)


def results(place: dict[str, str], options: argparse.Namespace, name: str) -> Any:
    file = options.work / f"{name}.json"
    command = [__file__, str(options.var), str(file), "--ask"]
    command += ["--exact"] * options.exact
    if options.queries:
        command += ["--queries", str(options.queries)]
    measured(f"{QUERY_COUNT} searches ({name})", command, place)
    return json.loads(file.read_text())


def compare(before: list[Any], after: list[Any]) -> None:
    pairs = list(zip(before, after, strict=True))
    same_ids = sum([c for c, _ in a] == [c for c, _ in b] for a, b in pairs)
    same = sum(a == b for a, b in pairs)
    far = [abs(x - y) for a, b in pairs for (c, x), (d, y) in zip(a, b, strict=False) if c == d]
    print(
        f"{len(pairs)} queries: {same_ids} with the same {K} chunks in order, {same} with the same"
        f" scores too; scores differ by {max(far, default=0):.2g} at most"
    )


def ask_all(queries: Path | None, *, exact: bool) -> list[list[tuple[str, float]]]:
    """Return the ids and scores of the best chunks for each query."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
    import django  # noqa: PLC0415

    django.setup()
    logging.disable(logging.WARNING)
    from django.test import Client  # noqa: PLC0415

    from corpus.models import chunk  # noqa: PLC0415

    if exact:
        chunk.EXACT_SCAN_ROWS = 10**9
    client = Client(headers={"host": "localhost"})
    found = []
    for query in read_queries(queries):
        body = {"query": query, "k": K, "rerank": True}
        reply = client.post("/search", body, content_type="application/json")
        if reply.status_code != 200:
            raise SystemExit(reply.content.decode())
        found.append([(each["chunk_id"], each["score"]) for each in reply.json()["results"]])
    return found


def read_queries(queries: Path | None) -> list[str]:
    if queries:
        with gzip.open(queries, "rt") as lines:
            return [
                json.loads(line)["text"] for line, _ in zip(lines, range(QUERY_COUNT), strict=False)
            ]
    from corpus.models import Chunk  # noqa: PLC0415

    keys = list(Chunk.objects.order_by("pk").values_list("pk", flat=True))
    step = max(len(keys) // QUERY_COUNT, 1)
    chosen = Chunk.objects.filter(pk__in=keys[::step][:QUERY_COUNT]).order_by("pk")
    return [" ".join(text.split()[:QUERY_WORDS]) for text in chosen.values_list("text", flat=True)]


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
