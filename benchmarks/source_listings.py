"""Measure a sync without changes: listing a source.

    PYTHONPATH=. .venv/bin/python benchmarks/source_listings.py [--count 10000]

Mail of 5 kB each, a fifth of it answers, as mbox and as Maildir; a paperless-ngx that is served by
this process, so that its own work is in the time. Prints seconds, and the memory that it took.
"""

import argparse
import os
import tempfile
import tracemalloc
from pathlib import Path
from time import process_time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from pydantic import SecretStr  # noqa: E402

from corpus.sources.mail.folder import MailSource  # noqa: E402
from corpus.sources.mail.maildir import Maildir  # noqa: E402
from corpus.sources.mail.mbox import Mbox  # noqa: E402
from corpus.sources.paperless import Paperless, Settings  # noqa: E402
from corpus.sources.source import Source  # noqa: E402
from tests.support.mails import mail, write_mbox  # noqa: E402
from tests.support.paperless import TOKEN, serve_paperless  # noqa: E402

MAX_BYTES = 50 * 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        mails = [
            mail(
                f"{n}@x", f"Report {n}", "All is well.\n" * 350, answers=f"{n - 1}@x" * (n % 5 == 0)
            )
            for n in range(count)
        ]
        write_mbox(folder / "mbox", mails)
        (folder / "cur").mkdir()
        (folder / "new").mkdir()
        for number, content in enumerate(mails):
            (folder / "cur" / f"{number:08}.x:2,S").write_bytes(content)
        tell("mbox", MailSource(Mbox("a", folder / "mbox"), max_bytes=MAX_BYTES))
        tell("Maildir", MailSource(Maildir("a", folder), max_bytes=MAX_BYTES))
    with serve_paperless() as served:
        served.page_size = 250
        for number in range(1, count + 1):
            served.put(number, "Text of a page. " * 100)
        settings = Settings(name="a", kind="paperless", url=served.url)
        settings = settings.model_copy(update={"secret": SecretStr(TOKEN)})
        tell("paperless-ngx", Paperless(settings, max_bytes=MAX_BYTES))


def tell(name: str, source: Source) -> None:
    began = process_time()
    entries = list(source.list_entries())
    took_s = process_time() - began
    tracemalloc.start()
    kept = list(source.list_entries())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{name}: {len(entries)} entries, {took_s:.2f} s, {most / 2**20:.0f} MiB ({len(kept)})")
    source.close()


if __name__ == "__main__":
    main()
