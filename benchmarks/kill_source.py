"""Kill a worker at random times during syncs of a paperless-ngx, and check the result.

    EMBEDDING_MODEL=hashing-64 PYTHONPATH=. .venv/bin/python benchmarks/kill_source.py \
        [--documents 250] [--kills 10] [--seed 0]

The source is filled; then a fifth of it changes, a fifth vanishes, half of that to come back under
other numbers. Prints after each the result of `manage.py verify` and whether the collection is the
exact mirror. Runs on a database of its own, which it drops.
"""

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from tests.support.paperless import TOKEN, Paperless, serve_paperless  # noqa: E402
from tests.support.processes import finish, manage, own_database, read, wait_until  # noqa: E402

START = "from corpus.watched.due_syncs import sync_source; sync_source('office')"
ENDED = "SELECT count(*) = 0 FROM corpus_job WHERE status IN ('queued', 'running')"
BEGUN = "SELECT coalesce(sum(attempts), 0) FROM corpus_jobitem"
STORED = "SELECT source_uri, raw_text FROM corpus_document WHERE status = 'completed'"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=250)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)  # noqa: S311
    with (
        tempfile.TemporaryDirectory() as folder,
        own_database("kill_source") as database,
        serve_paperless() as paperless,
    ):
        paperless.page_size = 100
        os.environ |= {"PKB_SOURCES": configure(Path(folder), paperless), "PAPERLESS": TOKEN}
        finish("migrate", "--verbosity", "0", database=database)
        for number in range(1, options.documents + 1):
            paperless.put(number, text_of(number, "first"))
        sync("filled", paperless, database, options.kills, chance)
        change(paperless, chance)
        sync("changed", paperless, database, options.kills, chance)


def configure(folder: Path, paperless: Paperless) -> str:
    path = folder / "sources.yaml"
    path.write_text(
        f"- {{name: office, kind: paperless, url: '{paperless.url}', token_env: PAPERLESS}}\n"
    )
    return str(path)


def text_of(number: int, version: str) -> str:
    lines = (f"Letter {number}, {version}, line {line}: all is well." for line in range(12))
    return " ".join(lines)


def change(paperless: Paperless, chance: random.Random) -> None:
    numbers = list(paperless.documents)
    chance.shuffle(numbers)
    fifth = len(numbers) // 5
    for number in numbers[:fifth]:
        paperless.put(number, text_of(number, "second"), modified="2026-11-20T10:00:00Z")
    for number in numbers[fifth : 2 * fifth]:
        # Every other one returns with another id.
        if number % 2:
            paperless.put(number + 10_000, paperless.files[number].decode())
        del paperless.documents[number], paperless.files[number]


def sync(name: str, paperless: Paperless, database: str, kills: int, chance: random.Random) -> None:
    finish("shell", "--no-imports", "-c", START, database=database)
    killed = kill_workers(database, kills, chance)
    print(f"{name}: {killed} kills; {tell(paperless, database)}")
    worker = manage("worker", database=database)
    wait_until(lambda: read(database, ENDED) == [(True,)], timeout_s=1_800)
    worker.terminate()
    worker.communicate()
    print(f"{name}, at the end; {tell(paperless, database)}")
    outcomes = "SELECT outcome, count(*) FROM corpus_jobitem WHERE job_id = (SELECT id FROM"
    outcomes += " corpus_job ORDER BY created_at DESC LIMIT 1) GROUP BY 1 ORDER BY 1"
    print("  ", read(database, "SELECT status, total, done, failed, errors FROM corpus_job"))
    print("  ", read(database, outcomes))


def kill_workers(database: str, count: int, chance: random.Random) -> int:
    """Kill a worker repeatedly at a random time after it starts work."""
    killed = 0
    while killed < count and read(database, ENDED) == [(False,)]:
        begun = read(database, BEGUN)
        worker = manage("worker", database=database)
        wait_until(
            lambda begun=begun: (  # type: ignore[misc]
                read(database, BEGUN) != begun or read(database, ENDED) == [(True,)]
            )
        )
        time.sleep(chance.uniform(0, 1))
        worker.kill()
        worker.communicate()
        killed += 1
    return killed


def tell(paperless: Paperless, database: str) -> str:
    stored = {str(uri).rpartition("/")[2]: text for uri, text in read(database, STORED)}
    wanted = {str(number): text.decode() for number, text in paperless.files.items()}
    verify = finish("verify", database=database)[1].strip().splitlines()[-1]
    wrong = sum(stored.get(number) != text for number, text in wanted.items())
    spare = len(stored.keys() - wanted.keys())
    return f"verify: {verify}; {len(wanted)} wanted, {wrong} not in it, {spare} too many"


if __name__ == "__main__":
    main()
