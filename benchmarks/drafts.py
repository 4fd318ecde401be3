# ruff: noqa: E402  (models can be imported once Django is set up)
"""Play a capable language model and see what of its drafts is said.

    python benchmarks/drafts.py SQUAD2 [--held-out] [--cases]

SQUAD2 is a data set folder with SQuAD 2.0's questions; the others are asked of data/documents.
``benchmarks/drafts/`` holds, for each question, a true draft and a false one, written by hand over
the passage that answers, with the right passages cited: what a server on loopback replies. The
rules of qa/proof/support were chosen on ``open.jsonl``; ``held_out.jsonl`` is for judging them.

Prints JSON. ``proof`` leaves the confidence out (any is enough), ``product`` is with the settings
in force. Each share has its 95 % Wilson interval.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from corpus.access.principal import SYSTEM, acting_as
from corpus.models import Collection
from evaluation.datasets import DataSet, GoldQuestion, read_dataset
from evaluation.index import index_dataset
from qa.answer_question import answer_question
from qa.answerers.dspy_program import LMAnswerer
from qa.context import QAContext, build_context
from qa.fallbacks import prove_draft
from qa.types import Answer, Draft, Passage
from tests.contracts.chat_server import ChatServer, answers, chat_server, hang

DRAFTS = Path(__file__).resolve().parent / "drafts"
# Of squad2, beside those that are asked of: enough that the right passage has to be found.
OTHER_DOCUMENTS = 60
PASSAGES = 12


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what a model would write.

    Attributes:
        cited: Document's id in the data set, or headings: what passages the model cites.
        true: Sentences that the passages hold up.
        keys: What the documents' own sentence has in each true sentence's place.
        false: Sentences of the false draft; those at ``lies`` are false.
    """

    question: str
    cited: tuple[str, ...]
    true: tuple[str, ...]
    keys: tuple[str, ...]
    false: tuple[str, ...]
    lies: tuple[int, ...]
    kind: str
    false_kind: str


@dataclass(frozen=True, slots=True)
class Drafted:
    """A case with what was retrieved and what came of it.

    Attributes:
        extract: What is answered without a language model.
    """

    case: Case
    passages: tuple[Passage, ...]
    extract: Answer
    true: Draft
    false: Draft


def main() -> None:
    options = _parse_options()
    drafted = list(draft_all(options.folder, "held_out" if options.held_out else "open"))
    context = build_context(lm="extractive")
    any_sure = replace(context, prover=replace(context.prover, answer_from=0.0))
    report = {
        "questions": len(drafted),
        "proof": summarize(drafted, any_sure, show=options.cases),
        "product": summarize(drafted, context),
    }
    print(json.dumps(report, indent=2, ensure_ascii=False))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--cases", action="store_true", help="show what became of each draft")
    return parser.parse_args()


def draft_all(folder: Path, part: str) -> Iterator[Drafted]:
    """Have all questions of a part drafted; those whose passages are not found are left out."""
    rows = [json.loads(line) for line in (DRAFTS / f"{part}.jsonl").read_text().splitlines()]
    squad = [row for row in rows if row["set"] == "squad2"]
    own = [row for row in rows if row["set"] == "documents"]
    yield from _draft_squad(read_dataset(folder), squad)
    documents = _index(read_dataset(ROOT / "data" / "evaluation"))
    yield from _draft([_case(row, row["question"], row["sections"]) for row in own], documents)


def _draft_squad(dataset: DataSet, rows: Sequence[dict[str, Any]]) -> Iterator[Drafted]:
    questions = {each.id: each for each in dataset.questions}
    asked = [questions[row["question"]] for row in rows]
    wanted = {document_id for question in asked for document_id in question.doc_ids}
    others = [each for each in dataset.documents if each.id not in wanted][::14][:OTHER_DOCUMENTS]
    chosen = [each for each in dataset.documents if each.id in wanted]
    collection = _index(replace(dataset, documents=tuple(chosen + others)))
    cases = [_case(row, each.text, _addresses(each)) for row, each in zip(rows, asked, strict=True)]
    yield from _draft(cases, collection)


def _addresses(question: GoldQuestion) -> list[str]:
    return [f"evaluate:{document_id}" for document_id in question.doc_ids]


def _case(row: dict[str, Any], question: str, cited: Sequence[str]) -> Case:
    return Case(
        question=question,
        cited=tuple(cited),
        true=tuple(row["true"]),
        keys=tuple(row["keys"]),
        false=tuple(row["false"]),
        lies=tuple(row["lies"]),
        kind=row["kind"],
        false_kind=row["false_kind"],
    )


def _index(dataset: DataSet) -> Collection:
    return index_dataset(dataset, fresh=False, progress=lambda done, of: None).collection


def _draft(cases: Sequence[Case], collection: Collection) -> Iterator[Drafted]:
    context = build_context(lm="extractive")
    with chat_server(hang) as server:
        model = LMAnswerer("openai/scripted", api_base=f"{server.root}/v1", api_key="none")
        for case in cases:
            found = answer_question(
                case.question, collection=collection.name, k=12, context=context
            )
            labels = list(_labels(case, found.passages))
            if labels:
                true, false = (
                    _write(model, server, case.question, found.passages, " ".join(text), labels)
                    for text in (case.true, case.false)
                )
                yield Drafted(case, found.passages, found.answer, true, false)
            else:
                print(f"not found: {case.question}", file=sys.stderr)


def _labels(case: Case, passages: Sequence[Passage]) -> Iterator[str]:
    for number, passage in enumerate(passages, start=1):
        if passage.source_uri in case.cited or set(case.cited) & set(passage.heading_path):
            yield f"S{number}"


def _write(
    model: LMAnswerer,
    server: ChatServer,
    question: str,
    passages: Sequence[Passage],
    text: str,
    labels: Sequence[str],
) -> Draft:
    server.behaviour = answers(text, labels)
    return model.answer(question, passages)


def summarize(
    drafted: Sequence[Drafted], context: QAContext, *, show: bool = False
) -> dict[str, Any]:
    """Prove all drafts and count."""
    true = [(each, _prove(each, each.true, context)) for each in drafted]
    false = [(each, _prove(each, each.false, context)) for each in drafted]
    halves = [(each, answer) for each, answer in true if len(each.case.true) > 1]
    lies = [(each.case.false[at], answer) for each, answer in false for at in each.case.lies]
    report: dict[str, Any] = {
        "true drafts said in full or in the documents' words": _share(
            [all(_holds(each.case, answer)) for each, answer in true]
        ),
        "of them in the model's words alone": _share(
            [all(text in answer.text for text in each.case.true) for each, answer in true]
        ),
        "true sentences said in the model's words": _share(
            [text in answer.text for each, answer in true for text in each.case.true]
        ),
        "both halves answered": _share([all(_holds(e.case, answer)) for e, answer in halves]),
        "same by the extract": _share([all(_has_keys(e.case, e.extract)) for e, _ in halves]),
        "false sentences said": _share([lie in answer.text for lie, answer in lies]),
        "worse than the extract": _share(
            [_is_worse(each, answer) for each, answer in true]
            + [answer.abstained and not each.extract.abstained for each, answer in false]
        ),
        "fell back to the extract": _share([bool(answer.fallback) for _, answer in true]),
    }
    if show:
        report["cases"] = [
            {
                "question": each.case.question,
                "true": [each.case.kind, list(each.case.true), answer.text],
                "false": [each.case.false_kind, list(each.case.false), other.text],
            }
            for (each, answer), (_, other) in zip(true, false, strict=True)
        ]
    return report


def _prove(each: Drafted, draft: Draft, context: QAContext) -> Answer:
    """Do what the graph does after the draft."""
    extractive = context.answerer
    asked = replace(context, fallback=extractive)
    unfinished = asked.prover.begin(each.passages, question=each.case.question)
    return prove_draft(draft, unfinished, context=asked)


def _holds(case: Case, answer: Answer) -> list[bool]:
    """Which of the true sentences the answer has, by themselves or by the documents' own."""
    return [
        text in answer.text or key.lower() in answer.text.lower()
        for text, key in zip(case.true, case.keys, strict=True)
    ]


def _has_keys(case: Case, answer: Answer) -> list[bool]:
    return [key.lower() in answer.text.lower() for key in case.keys]


def _is_worse(each: Drafted, answer: Answer) -> bool:
    return sum(_holds(each.case, answer)) < sum(_has_keys(each.case, each.extract))


def _share(found: Sequence[bool]) -> dict[str, Any]:
    """The share of those that are so, with its 95 % Wilson interval."""
    count, n, z = sum(found), len(found), 1.96
    middle, spread = count / n + z * z / (2 * n), z * sqrt(count * (n - count) / n + z * z / 4) / n
    low, high = ((middle + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
    return {"share": round(count / n, 3), "of": n, "from": round(low, 3), "to": round(high, 3)}


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
