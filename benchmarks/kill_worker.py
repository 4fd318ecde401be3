"""Kill a worker at random times during a sync of 250 files, and check the result.

    PYTHONPATH=. .venv/bin/python benchmarks/kill_worker.py [--files 250] [--kills 30] [--seed 0]

Prints the result of `manage.py verify` after the kills and at the end, and whether every file
is stored exactly once. Runs on a database of its own, which it drops.
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

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from tests.support.processes import finish, manage, own_database, read, wait_until  # noqa: E402

SYNC = (
    "from corpus.jobs.kinds.sync_job import start_sync;"
    "from corpus.ingestion.file_sync import SyncOptions;"
    "from corpus.models import Collection;"
    "options = SyncOptions(paths=({folder!r},), mirror=True);"
    "start_sync(Collection.objects.get_named('default'), options)"
)
ENDED = "SELECT count(*) FROM corpus_job WHERE status NOT IN ('queued', 'running')"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=250)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, own_database("kill_worker") as database:
        write_files(Path(folder), options.files)
        finish("migrate", "--verbosity", "0", database=database)
        finish("shell", "--no-imports", "-c", SYNC.format(folder=folder), database=database)
        kills = kill_workers(database, options.kills, random.Random(options.seed))  # noqa: S311
        print(f"{kills} kills; verify: {finish('verify', database=database)[1].strip()}")
        worker = manage("worker", database=database)
        wait_until(lambda: read(database, ENDED) == [(1,)], timeout_s=1_800)
        worker.terminate()
        worker.communicate()
        report(Path(folder), database)


def write_files(folder: Path, count: int) -> None:
    for number in range(count):
        lines = (f"Report {number} line {line}: all is well in ward {line}." for line in range(12))
        (folder / f"{number:04}.txt").write_text(" ".join(lines))


def kill_workers(database: str, count: int, chance: random.Random) -> int:
    """Kill a worker repeatedly at a random time after it starts work."""
    killed = 0
    while killed < count and read(database, ENDED) == [(0,)]:
        begun = read(database, "SELECT coalesce(sum(attempts), 0) FROM corpus_jobitem")
        worker = manage("worker", database=database)
        wait_until(
            lambda begun=begun: (  # type: ignore[misc]
                read(database, "SELECT coalesce(sum(attempts), 0) FROM corpus_jobitem") != begun
                or read(database, ENDED) == [(1,)]
            )
        )
        time.sleep(chance.uniform(0, 1.5))
        worker.kill()
        worker.communicate()
        killed += 1
    return killed


def report(folder: Path, database: str) -> None:
    print(f"at the end; verify: {finish('verify', database=database)[1].strip()}")
    print("job:", read(database, "SELECT status, total, done, failed, errors FROM corpus_job"))
    rows = read(database, "SELECT file_path FROM corpus_document WHERE status = 'completed'")
    wanted = sorted(str(path) for path in folder.iterdir())
    is_exact = sorted(str(path) for (path,) in rows) == wanted
    print(f"each of {len(wanted)} files stored exactly once: {is_exact}")
    attempts = "SELECT attempts, count(*) FROM corpus_jobitem GROUP BY 1 ORDER BY 1"
    print("attempts, files:", read(database, attempts))


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
