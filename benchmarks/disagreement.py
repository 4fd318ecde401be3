# ruff: noqa: E402  (models can be imported once Django is set up)
"""Measure when documents are said to disagree, and whether the newer one is the answer then.

    python benchmarks/disagreement.py SQUAD2 RGB [--questions N] [--copies N] [--cases]

SQUAD2 and RGB are folders of data sets: SQuAD 2.0's questions, and RGB's with pages in which the
answer is another one. Nothing in squad2 or in data/documents is known to disagree: what is found
there is a false alarm. Of an answered question's document a copy is made then, with another value
in the place of the answer, dated five years later and then five years earlier.

It needs the packages of `scripts/install evaluation` and an installation (PKB_DATA_DIR, as
scripts/run makes one); SQUAD2 as docs/evaluation.md describes a data set, RGB with corpus.jsonl.gz
and qa.jsonl.gz, whose lines name doc_id, poisoned_doc_id, negative_doc_id and lang. Documents go
into collections of its own, eval-disagreement-NAME-HASH, which stay for the next run; copies and
answers do not. With --questions 100 --copies 6 it takes some four minutes of a core.

Prints JSON, each share with its 95 % Wilson interval. Only questions that are answered count.
"""

import argparse
import gzip
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from corpus.access.principal import SYSTEM, acting_as
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission
from corpus.models import Collection, Document
from evaluation.datasets import DataSet, GoldDocument, GoldQuestion, read_dataset
from evaluation.index import index_dataset
from qa.answer_question import answer_question
from qa.context import build_context
from qa.types import Answer

EARLIER, NOW, LATER = (datetime(year, 6, 1, tzinfo=UTC) for year in (2015, 2020, 2025))
SEED = 24
PASSAGES = 12
# Pages of each RGB question: with the answer, with another one, with none.
RGB_PAGES = 3
# A name that can be replaced by another.
NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}")
# Questions of data/evaluation with a value as answer, and its replacement.
CHANGED = {
    "q01": ("under 10 minutes", "under 25 minutes"),
    "q03": ("5 percent", "15 percent"),
    "q05": ("10 minutes", "40 minutes"),
    "q08": ("every 6 hours", "every 9 hours"),
    "q13": ("90 days", "45 days"),
    "q14": ("1 August 2024", "1 August 2023"),
    "q16": ("every three months", "every five months"),
    "q18": ("43 minutes 12 seconds", "71 minutes 12 seconds"),
    "q19": ("0.25", "0.4"),
    "q20": ("90 days", "30 days"),
    "q21": ("Lewis and colleagues", "Karpukhin and colleagues"),
    "q22": ("60", "80"),
    "q23": ("within 15 minutes", "within 50 minutes"),
    "q24": ("50,000 vectors", "20,000 vectors"),
    "q27": ("within 30 days", "within 90 days"),
}


class Change(NamedTuple):
    """A value of a document, and its replacement."""

    question: GoldQuestion
    old: str
    new: str


class Seen(NamedTuple):
    """The result of a question beside an altered copy."""

    is_found: bool
    is_newer_said: bool


def main() -> None:
    options = _parse_options()
    squad2, own = read_dataset(options.squad2), read_dataset(ROOT / "data" / "evaluation")
    asked = _draw(list(squad2.questions), options.questions)
    report: dict[str, Any] = {
        "squad2": _count_alarms(squad2, asked, cases=options.cases),
        "data/documents": _count_alarms(own, _answerable(own), cases=options.cases),
        "rgb": _read_rgb(options.rgb, cases=options.cases),
        "copies of data/documents": _try_copies(own, list(_own_changes(own)), options.cases),
    }
    answerable = _draw(_answerable(squad2), None)
    for kind, change in {"number": _change_number, "name": _change_name}.items():
        changes = list(_change(squad2, answerable, change))[: options.copies]
        report[f"copies of squad2, another {kind}"] = _try_copies(squad2, changes, options.cases)
    print(json.dumps(report, indent=2, ensure_ascii=False))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("squad2", type=Path)
    parser.add_argument("rgb", type=Path)
    parser.add_argument("--questions", type=int, default=800, help="of squad2, for false alarms")
    parser.add_argument("--copies", type=int, default=60, help="of squad2, of each kind")
    parser.add_argument("--cases", action="store_true", help="tell alarms and misses, too")
    return parser.parse_args()


def _draw(questions: list[GoldQuestion], count: int | None) -> list[GoldQuestion]:
    drawn = random.Random(SEED).sample(questions, len(questions))  # noqa: S311 - the same each time
    return drawn[:count]


def _answerable(dataset: DataSet) -> list[GoldQuestion]:
    return [question for question in dataset.questions if question.is_answerable]


def _index(dataset: DataSet) -> Collection:
    """Return the collection of a data set, with all documents dated alike."""
    named = replace(dataset, name=f"disagreement-{dataset.name}")
    found = index_dataset(named, fresh=False, progress=lambda done, total: None).collection
    # Left by an interrupted run.
    Document.objects.filter(collection=found, source_uri__contains=":copy-").delete()
    Document.objects.filter(collection=found).update(user_created_at=NOW)
    return found


def _ask(question: str, collection: Collection) -> Answer:
    context = replace(build_context(lm="extractive"), caches_answers=False)
    answered = answer_question(
        question,
        collection=collection.qualified_name,
        k=PASSAGES,
        context=context,
        route="evaluate",
        is_stored=False,
    )
    return answered.answer


def _count_alarms(
    dataset: DataSet, questions: Sequence[GoldQuestion], *, cases: bool
) -> dict[str, Any]:
    collection = _index(dataset)
    answers = [_ask(question.text, collection) for question in questions]
    said = [answer for answer in answers if not answer.abstained]
    told = [_tell(answer) for answer in said if answer.disagreement] if cases else []
    alarms = [bool(answer.disagreement) for answer in said]
    return {"asked": len(answers), "alarms": share(alarms), **({"cases": told} if told else {})}


def _tell(answer: Answer) -> dict[str, Any]:
    others = [other.quote for other in answer.disagreement]
    return {"question": answer.question, "answer": answer.text, "disagreement": others}


def _read_rgb(folder: Path, *, cases: bool) -> dict[str, Any]:
    texts, questions = ({row["id"]: row for row in _rows(folder, n)} for n in ("corpus", "qa"))
    asked = [row for row in questions.values() if row["lang"] == "en"]
    report = {}
    for label, kinds in {
        "with false pages": ("doc_id", "poisoned_doc_id", "negative_doc_id"),
        "without": ("doc_id", "negative_doc_id"),
    }.items():
        keys = {key: 0 for row in asked for kind in kinds for key in row[kind][:RGB_PAGES]}
        pages = (GoldDocument(key, texts[key]["title"], texts[key]["text"]) for key in keys)
        dataset = DataSet(f"rgb-{label}", documents=tuple(pages))
        questions_of = [GoldQuestion(row["id"], row["question"]) for row in asked]
        report[label] = _count_alarms(dataset, questions_of, cases=cases)
    return report


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _own_changes(dataset: DataSet) -> Iterator[Change]:
    for question in dataset.questions:
        if question.id in CHANGED:
            yield Change(question, *CHANGED[question.id])


def _change(dataset: DataSet, questions: Sequence[GoldQuestion], change: Any) -> Iterator[Change]:
    """Replace the value in the answer to a question, if it has one of that kind."""
    names = [found for question in questions if (found := _name(question))]
    texts = {document.id: document.text for document in dataset.documents}
    for number, question in enumerate(questions):
        old, new = change(question, names[number % len(names)])
        text = texts.get(question.doc_ids[0], "") if question.doc_ids else ""
        if new and old in text and new not in text:
            yield Change(question, old, new)


def _change_number(question: GoldQuestion, _: str) -> tuple[str, str]:
    old = question.answers[0] if question.answers else ""
    found = re.search(r"\d", old)
    if not found:
        return old, ""
    last = max(match.start() for match in re.finditer(r"\d", old))
    return old, f"{old[:last]}{(int(old[last]) + 4) % 10}{old[last + 1 :]}"


def _change_name(question: GoldQuestion, other: str) -> tuple[str, str]:
    old = _name(question)
    return old, other if old and other != old else ""


def _name(question: GoldQuestion) -> str:
    stated = question.answers[0] if question.answers else ""
    return stated if NAME.fullmatch(stated) else ""


def _try_copies(dataset: DataSet, changes: Sequence[Change], cases: bool) -> dict[str, Any]:
    collection = _index(dataset)
    seen: dict[str, list[Seen]] = {"copy is newer": [], "copy is older": []}
    missed = []
    for change in changes:
        if _ask(change.question.text, collection).abstained:
            continue
        for label, moment in zip(seen, (LATER, EARLIER), strict=True):
            answer = _ask_beside_copy(change, collection, moment)
            newer = change.new if moment is LATER else change.old
            is_found = bool(answer.disagreement)
            seen[label].append(Seen(is_found, newer in answer.text))
            if cases and not (is_found and newer in answer.text):
                missed.append([label, change.old, change.new, _tell(answer)])
    report: dict[str, Any] = {label: _summarize(each) for label, each in seen.items()}
    return {"tried": len(changes), **report, **({"missed": missed} if cases else {})}


def _ask_beside_copy(change: Change, collection: Collection, moment: datetime) -> Answer:
    uri = f"evaluate:{change.question.doc_ids[0]}"
    document = Document.objects.get(collection=collection, source_uri=uri)
    # Named like its own document, and with no other metadata.
    attributes = Attributes(
        source_uri=f"evaluate:copy-{change.question.id}",
        title=document.title,
        media_type=document.media_type,
        user_created_at=moment,
    )
    # The stored text may break lines anywhere.
    old = r"\s+".join(map(re.escape, change.old.split()))
    text = re.sub(old, lambda _: change.new, document.content.text)
    ingest_submission(Submission(text, attributes), collection=collection)
    try:
        return _ask(change.question.text, collection)
    finally:
        Document.objects.filter(collection=collection, source_uri=attributes.source_uri).delete()


def _summarize(seen: Sequence[Seen]) -> dict[str, Any]:
    found = [each for each in seen if each.is_found]
    return {
        "disagreement shown": share([each.is_found for each in seen]),
        "newer value said, where shown": share([each.is_newer_said for each in found]),
    }


def share(found: Sequence[bool]) -> dict[str, Any]:
    """Return the share of true values, with its 95 % Wilson interval."""
    count, n, z = sum(found), len(found), 1.96
    if not n:
        return {"n": 0}
    middle, spread = count / n + z * z / (2 * n), z * sqrt(count * (n - count) / n + z * z / 4) / n
    low, high = ((middle + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
    return {"count": count, "of": n, "from": round(low, 4), "to": round(high, 4)}


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
