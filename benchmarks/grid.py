# ruff: noqa: E402  (models can be imported once Django is set up)
"""Fill a grid over a folder of documents, and change one of the documents.

    benchmarks/grid.py FOLDER [--questions FILE] [--said FILE]

The files of FOLDER are ingested once, into a collection of the folder's name. The questions are
those below, or the lines of a file. Needs an installation (PKB_DATA_DIR). Prints JSON: rows, cells,
how many of each kind, cells a minute in this process alone, its CPU time for a cell, and how many
cells and rows were asked again after a sentence was added to one document. Cells that say something
are written to the file of ``--said``, a line each with their quotes, for a person to judge.
"""

import argparse
import json
import logging
import os
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from corpus.access.principal import SYSTEM, acting_as
from corpus.catalogue import create_collection
from corpus.errors import PkbError
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission, SubmittedFile
from corpus.jobs.run import run_job_slice
from corpus.models import Collection
from qa.grids import fill_changed_grids, read_rows, save_grid, unfinished_jobs
from qa.models import Answer, Grid

QUESTIONS = [
    "Who approves requests?",
    "Which e-mail address should I write to?",
    "How many days in advance must I ask?",
    "How long is the term of a member?",
    "How many votes are needed?",
    "What is the maximum amount that is paid?",
    "What should I do first?",
    "What is not allowed?",
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--said", type=Path)
    options = parser.parse_args()
    logging.disable()
    name = f"grid-{options.folder.resolve().name}"
    collection = Collection.objects.find(name) or ingest_files(options.folder, name)
    questions = options.questions.read_text().splitlines() if options.questions else QUESTIONS
    grid = save_grid(Grid(collection=collection, name="Benchmark", questions=questions))
    before, cpu_before = perf_counter(), process_time()
    fill(grid)
    seconds, cpu_s = perf_counter() - before, process_time() - cpu_before
    rows = read_rows(grid)
    cells = [cell for row in rows for cell in row.cells if cell]
    if options.said:
        options.said.write_text(
            "".join(f"{json.dumps(each)}\n" for each in map(said, cells) if each)
        )
    document = rows[0].document
    text = f"{document.content.text}\n\nOne sentence is new."
    attributes = Attributes(source_uri=document.source_uri, title=document.title)
    ingest_submission(Submission(text, attributes), collection=collection)
    fill_changed_grids()
    fill(grid)
    again = [cell for row in read_rows(grid) for cell in row.cells if cell and cell not in cells]
    print(
        json.dumps(
            {
                "rows": len(rows),
                "cells": len(cells),
                "kinds": Counter(cell.kind for cell in cells),
                "cells_a_minute": round(len(cells) / seconds * 60),
                "cpu_ms_a_cell": round(cpu_s / len(cells) * 1000),
                "asked_again": len(again),
                "rows_asked_again": len({cell.asked_document_id for cell in again}),
            },
            indent=1,
        )
    )


def ingest_files(folder: Path, name: str) -> Collection:
    collection = create_collection(name)
    for path in sorted(folder.iterdir()):
        file = SubmittedFile(path.read_bytes(), path.name)
        with suppress(PkbError):
            attributes = Attributes(source_uri=f"https://example.org/{path.name}")
            ingest_submission(Submission(file, attributes), collection=collection)
    return collection


def fill(grid: Grid) -> None:
    for job in unfinished_jobs(grid):
        while not run_job_slice(job.pk):
            continue


def said(cell: Answer) -> dict[str, Any] | None:
    if cell.kind != Answer.Kind.ANSWER:
        return None
    return {
        "document": cell.asked_document.source_uri if cell.asked_document else "",
        "question": cell.question,
        "short": cell.short,
        "confidence": round(cell.confidence, 2),
        "quotes": [citation.quote for citation in cell.citations.all()],
    }


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
