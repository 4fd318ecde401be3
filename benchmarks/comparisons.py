"""Measure questions that compare: ``python benchmarks/comparisons.py FOLDER SET``.

FOLDER is a data set of ``manage.py evaluate`` with the documents of SET: ``documents`` is
data/evaluation, the others are called like theirs. data/evaluation/comparisons.jsonl has ten
questions for each, with what tells one side or the other; five of ten were not asked while this was
built. Prints for each way, side by side and as a whole, for how many both sides were said, or one
was, or the closest passages show them.
"""

import argparse
import json
import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")

import django

django.setup()

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from evaluation.datasets import read_dataset  # noqa: E402
from evaluation.index import index_dataset  # noqa: E402
from qa import models  # noqa: E402
from qa.answer_question import answer_question  # noqa: E402
from qa.context import build_context  # noqa: E402
from qa.intent import split_comparison  # noqa: E402
from qa.types import Answer  # noqa: E402

QUESTIONS = Path(__file__).resolve().parent.parent / "data/evaluation/comparisons.jsonl"


def main() -> None:
    options = _parse_options()
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    asked = [row for row in rows if row["set"] == options.set]
    dataset = read_dataset(options.folder)
    indexed = index_dataset(dataset, fresh=False, progress=lambda done, total: None)
    for way, how in (("side by side", split_comparison), ("as a whole", lambda text: ())):
        with patch("qa.intent.split_comparison", how):
            outcomes = [(row, _judge(row, indexed.collection.name)) for row in asked]
        for name, seen in (("seen", True), ("unseen", False)):
            print(f"{way}, {name}:", dict(Counter(o for row, o in outcomes if row["seen"] is seen)))
        for row, outcome in outcomes if options.each else ():
            print(f"  {outcome}: {row['question']}")


def _judge(row: dict[str, Any], collection: str) -> str:
    """Return which of the two sides is answered, or shown."""
    answered = answer_question(
        row["question"],
        collection=collection,
        k=12,
        # Else the second run would get cached answers of the first.
        context=replace(build_context(), caches_answers=False),
        route="evaluate",
    )
    models.Answer.objects.filter(pk=UUID(answered.id)).delete()
    return _tell(answered.answer, row["sides"])


def _tell(answer: Answer, sides: list[list[str]]) -> str:
    shown = answer.text or " ".join(close.quote for close in answer.closest)
    words = " ".join(shown.split())
    found = sum(any(each in words for each in side) for side in sides)
    how = "said" if answer.text else "shown"
    named = " and the other named" if answer.text and found == 1 and answer.unanswered else ""
    return f"{('none', 'one', 'both')[found]} {how}{named}"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("set", choices=("documents", "manuals", "squad2"))
    parser.add_argument("--each", action="store_true", help="tell each question's outcome")
    return parser.parse_args()


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
