"""Measure how many sentences of real PDFs are found on their page, and how fast.

    PYTHONPATH=. .venv/bin/python benchmarks/pdf_pages.py [--joins] FOLDER...

Of each PDF below the folders that can be read, up to eight pages and three sentences of each. With
``--joins`` it shows the sentences that the ends of pages cut, to be read.
"""

import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("APP_ENV", "dev")
django.setup()

from corpus.errors import PkbError  # noqa: E402
from corpus.ingestion.normal_form import join_blocks  # noqa: E402
from corpus.loaders import load_file  # noqa: E402
from corpus.loaders.page_images import draw_page, find_on_page  # noqa: E402

PAGES, SENTENCES = 8, 3
SENTENCE = re.compile(r"[^.!?\n][^.!?]{20,200}[.!?]")


def main(folders: list[str]) -> None:
    chosen = random.Random(1)  # noqa: S311 - the same ones each time
    found, drawing, finding = [], [], []
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.pdf"))]
    for path in files:
        content = path.read_bytes()
        pages = list(read_pages(content, path.name))
        for number, text in chosen.sample(pages, min(PAGES, len(pages))):
            drawing.append(timed(draw_page, content, number)[1])
            sentences = list(SENTENCE.finditer(text))
            for each in chosen.sample(sentences, min(SENTENCES, len(sentences))):
                before, quote = text[: each.start()], each.group()
                layout, took = timed(find_on_page, content, number, quote=quote, before=before)
                found.append(bool(layout.boxes))
                finding.append(took)
    print(f"{sum(found)} of {len(found)} sentences found, {len(drawing)} pages drawn")
    for name, times in (("drawing", drawing), ("finding", finding)):
        print(f"{name}: median {median(times):.3f} s, most {max(times):.3f} s")


def show_joins(folders: list[str]) -> None:
    files = [path for folder in folders for path in sorted(Path(folder).rglob("*.pdf"))]
    for path in files:
        with suppress(PkbError):
            loaded, _ = load_file(path.read_bytes(), filename=path.name)
            for block in loaded.blocks:
                for at, number in block.page_starts:
                    above, below = block.text[max(at - 70, 0) : at], block.text[at : at + 70]
                    print(f"{path.name} {block.page} {number}: {above!r} | {below!r}")


def read_pages(content: bytes, filename: str) -> Iterator[tuple[int, str]]:
    """Yield the pages of a PDF with text; none of an unreadable file."""
    try:
        loaded, _ = load_file(content, filename=filename)
    except PkbError:
        return
    text, outline = join_blocks(loaded.blocks)
    for number in sorted({number for _, number in outline.pages}):
        spans = outline.spans_of_page(number, char_count=len(text))
        yield number, "".join(text[start:end] for start, end in spans)


def timed(act: Callable[..., Any], *given: Any, **named: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    return act(*given, **named), time.perf_counter() - began


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--joins"]
    act = show_joins if "--joins" in sys.argv else main
    act(given)
