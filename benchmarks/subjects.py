# ruff: noqa: E402  (models can be imported once Django is set up)
"""Measure whether an answer is about what its question names.

    python benchmarks/subjects.py DATASETS [--part look|judge] [--sets SET...] [--questions N]

DATASETS is a folder of data sets, among them ``handbooks`` and ``manuals``, whose ``files`` are
ingested into one collection. ``subjects/questions.jsonl`` has questions that name an organization
or a product. Half are asked while its documents are out of reach, so that only those of others
could answer. ``part`` divides the questions by subject: the rule was written with one part in view,
and is judged by the other. Then N questions of each SET are asked, with all documents in reach:
there a notice beside a quote of a gold document is wrong.

It needs an installation (PKB_DATA_DIR) and the packages of ``scripts/install evaluation``. Prints
JSON: counts with 95 % Wilson intervals, and each answer that went wrong.
"""

import argparse
import json
import os
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from disagreement import share

from corpus.access.principal import SYSTEM, acting_as
from corpus.catalogue import create_collection
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission, SubmittedFile
from corpus.models import Collection, Document
from evaluation.datasets import read_dataset
from evaluation.index import index_dataset
from evaluation.metrics import contains_gold
from qa.answer_question import answer_question
from qa.context import build_context
from qa.types import Answer

QUESTIONS = Path(__file__).resolve().parent / "subjects" / "questions.jsonl"
COLLECTION = "eval-subjects"
FILE_SETS = ("handbooks", "manuals")
PASSAGES = 12
SEED = 24


def main() -> None:
    options = _parse_options()
    collection, files = ingest_files(options.datasets)
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    asked = [row for row in rows if options.part in {None, row["part"]}]
    report = {"named": _ask_named(asked, collection, stems=[path.stem for path in files])}
    for name in options.sets:
        report[name] = _ask_ordinary(options.datasets / name, options.questions, collection)
    print(json.dumps(report, indent=1, ensure_ascii=False))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--part", choices=["look", "judge"])
    parser.add_argument("--sets", nargs="*", default=FILE_SETS, metavar="SET")
    parser.add_argument("--questions", type=int, default=150, help="of each of these sets")
    return parser.parse_args()


def ingest_files(datasets: Path) -> tuple[Collection, list[Path]]:
    """Return the collection of the sets' files; the tag of each is its name without the ending."""
    files = [path for name in FILE_SETS for path in sorted((datasets / name / "files").iterdir())]
    collection = Collection.objects.find(COLLECTION) or create_collection(COLLECTION)
    stored = set(
        Document.objects.filter(collection=collection).values_list("source_uri", flat=True)
    )
    for path in files:
        if path.name not in stored:
            file = SubmittedFile(path.read_bytes(), path.name)
            attributes = Attributes(source_uri=path.name, tags=(path.stem.lower(),))
            ingest_submission(Submission(file, attributes), collection=collection)
    return collection, files


def _ask_named(
    rows: Iterable[dict[str, Any]], collection: Collection, *, stems: Sequence[str]
) -> dict[str, Any]:
    away: list[tuple[Answer, bool, bool]] = []
    here: list[tuple[Answer, bool, bool]] = []
    for row in rows:
        others = [stem.lower() for stem in stems if stem not in row["documents"]]
        answer = _ask(row["question"], collection, tags=others if row["withheld"] else ())
        is_own = any(Path(name).stem in row["documents"] for name in _quoted_by(answer))
        is_right = contains_gold(answer.text, row["answers"]) > 0
        (away if row["withheld"] else here).append((answer, is_own, is_right))
    silent = [bool(answer.text) and not answer.not_about for answer, *_ in away]
    return {
        "withheld: answered": share([bool(answer.text) for answer, *_ in away]),
        "withheld: answered without a word": share(silent),
        "present: answered": share([bool(answer.text) for answer, *_ in here]),
        "present: right": share([is_right for *_, is_right in here]),
        "present: own document quoted, with a notice": share(
            [bool(answer.not_about) for answer, is_own, _ in here if is_own]
        ),
        "without a word": [
            answer.question
            for (answer, *_), is_silent in zip(away, silent, strict=True)
            if is_silent
        ],
    }


def _ask_ordinary(folder: Path, count: int, collection: Collection) -> dict[str, Any]:
    dataset = read_dataset(folder)
    names = {
        each.id: each.path.name if each.path else f"evaluate:{each.id}"
        for each in dataset.documents
    }
    if folder.name not in FILE_SETS:
        collection = index_dataset(
            dataset, fresh=False, progress=lambda done, total: None
        ).collection
    questions = list(dataset.questions)
    drawn = random.Random(SEED).sample(questions, min(count, len(questions)))  # noqa: S311
    answered = []
    for question in drawn:
        answer = _ask(question.text, collection)
        if answer.text:
            is_gold = bool(_quoted_by(answer) & {names[key] for key in question.doc_ids})
            is_right = contains_gold(answer.text, question.answers) > 0
            answered.append((answer, is_gold, is_right))
    wrong = [bool(answer.not_about) and is_gold for answer, is_gold, _ in answered]
    return {
        "asked": len(drawn),
        "right of answered": share([is_right for *_, is_right in answered]),
        "notices": share([bool(answer.not_about) for answer, *_ in answered]),
        "wrong notices": share(wrong),
        "cases": [
            [answer.question, *answer.not_about] for answer, *_ in answered if answer.not_about
        ],
    }


def _ask(question: str, collection: Collection, *, tags: Sequence[str] = ()) -> Answer:
    answered = answer_question(
        question,
        collection=collection.qualified_name,
        tags=tags,
        k=PASSAGES,
        context=replace(build_context(lm="extractive"), caches_answers=False),
        route="evaluate",
        is_stored=False,
    )
    return answered.answer


def _quoted_by(answer: Answer) -> set[str]:
    return {citation.passage.source_uri for citation in answer.citations}


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
