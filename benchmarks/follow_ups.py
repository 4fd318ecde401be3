# ruff: noqa: E402  (models can be imported once Django is set up)
"""Measure whether follow-up questions are answered from the conversation's own documents.

    python benchmarks/follow_ups.py DATASETS [--part choose|judge] [--verbose]

DATASETS is a folder of data sets, among them ``handbooks`` and ``manuals``, whose ``files`` are
ingested into one collection. ``data/evaluation/follow_ups.jsonl`` has a first question, the
document with its answer, and a follow-up with strings of which the right answer has one. The kind
tells what else is right: ``absent`` is to be refused, ``shorten`` to be answered with a part of the
last answer, ``cannot`` to be refused without passages; the document of a ``switch`` is that of the
follow-up. ``part`` chooses half, by document: the rules were written with one half in view, and are
judged by the other.

It needs an installation (PKB_DATA_DIR) and the packages of ``scripts/install evaluation``. Prints
JSON: counts with 95 % Wilson intervals, and the answers: all if verbose, else those that are wrong.
"""

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from disagreement import share
from subjects import ingest_files

from corpus.access.principal import SYSTEM, acting_as
from evaluation.metrics import contains_gold
from qa import models
from qa.context import build_context
from qa.sessions import ask_in_session, open_session
from qa.types import Answer

FOLLOW_UPS = ROOT / "data" / "evaluation" / "follow_ups.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--part", choices=["choose", "judge"])
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    collection, _ = ingest_files(options.datasets)
    rows = [json.loads(line) for line in FOLLOW_UPS.read_text(encoding="utf-8").splitlines()]
    outcomes = [
        _ask(row, collection.qualified_name) for row in rows if options.part in {None, row["part"]}
    ]
    report: dict[str, Any] = {}
    for part in ("choose", "judge"):
        of_part = [outcome for outcome in outcomes if outcome["part"] == part]
        report[part] = {
            name: share([outcome[name] for outcome in of_part])
            for name in ("first_is_own", "is_right", "is_of_another", "shows_another")
        }
    report["answers"] = [each for each in outcomes if options.verbose or not each["is_right"]]
    print(json.dumps(report, indent=1, ensure_ascii=False))


def _ask(row: dict[str, Any], collection: str) -> dict[str, Any]:
    """Return the row with its answers and what is true of them."""
    session = open_session()
    context = replace(build_context(lm="extractive"), caches_answers=False)
    first, second = (
        ask_in_session(question, session=session, collection=collection, context=context).answered
        for question in (row["first"], row["follow_up"])
    )
    models.Answer.objects.filter(message__session=session).delete()
    session.delete()
    answer = second.answer
    is_right = _is_right(row, first.answer, answer)
    quoted = {Path(each.passage.source_uri).stem for each in answer.citations}
    shown = {Path(each.passage.source_uri).stem for each in answer.closest[:1]}
    own = row["document"]
    return {
        **row,
        "first_answer": first.answer.text,
        "searched": second.searched,
        "answer": answer.text,
        "kind_of_answer": f"{answer.intent}: {answer.kind}",
        "quoted": sorted(quoted | shown),
        "first_is_own": own in {Path(c.passage.source_uri).stem for c in first.answer.citations},
        "is_right": is_right,
        "is_of_another": bool(quoted) and own not in quoted,
        "shows_another": not quoted and bool(shown) and own not in shown,
    }


def _is_right(row: dict[str, Any], first: Answer, answer: Answer) -> bool:
    if row["kind"] == "shorten":
        return 0 < len(answer.text) < len(first.text) and answer.text in first.text
    if row["kind"] == "cannot":
        return not (answer.text or answer.closest)
    if row["kind"] == "absent":
        return not answer.text
    return contains_gold(answer.text, row["answers"]) > 0


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
