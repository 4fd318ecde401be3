"""Run pkb on public sets, one function for each kind of set."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings

from corpus.catalogue import delete_collection
from corpus.models import DEFAULT_COLLECTION
from evaluation.benchmarks.rules import (
    count_spans,
    judge_first,
    macro_f1_of_sources,
    mean,
    spans_f1,
    squad_exact_match,
    squad_f1,
)
from evaluation.datasets import DataRow, DataSet, GoldDocument, draw, read_dataset, read_rows
from evaluation.evaluate import Report
from evaluation.index import index_dataset
from evaluation.metrics import Array, Statistic, auroc
from evaluation.runs import ask, find_documents
from qa.context import QAContext
from qa.readers import read_all
from qa.search.selected_text import SelectedText
from qa.types import Answer
from qa.verify_claim import verify_claim

# Of the draw of a sample.
SEED = 0


class Rows(NamedTuple):
    """The values that a figure is computed from, a row for each question; shape (n, c)."""

    values: Array
    statistic: Statistic = mean


Measure = Callable[[Path, int | None, QAContext, Report], Mapping[str, Rows]]
"""From a folder, how many questions to draw, what answers, and a report of progress to figures."""


def _rows(values: Sequence[Any], statistic: Statistic = mean) -> Rows:
    table = np.array(values, np.float64)
    return Rows(table if table.ndim > 1 else table[:, None], statistic)


def measure_search(
    folder: Path,
    sample: int | None,
    context: QAContext,
    report: Report,
    *,
    figures: Mapping[str, tuple[str, int]],
) -> dict[str, Rows]:
    """Search each question's documents; all of the corpus is searched, also of a sample.

    Args:
        figures: By name, the field of ``FirstResults`` and its depth.
    """
    dataset = read_dataset(folder)
    indexed = index_dataset(dataset, fresh=False, progress=partial(report, "documents"))
    queries = draw(dataset.queries, sample, SEED)
    judged: dict[str, list[float]] = {name: [] for name in figures}
    for count, query in enumerate(queries, start=1):
        _, ranking = find_documents(
            query, collection=indexed.collection, ids=indexed.ids, context=context
        )
        for name, (field, depth) in figures.items():
            judged[name].append(getattr(judge_first(ranking, query.relevant, k=depth), field))
        report("queries", count, len(queries))
    return {name: _rows(values) for name, values in judged.items()}


def measure_spans(
    folder: Path, sample: int | None, context: QAContext, report: Report, *, several: bool = False
) -> dict[str, Rows]:
    """Let the reader mark the answer in the paragraph that has it, however unsure.

    A language model answers from the paragraph instead.

    Args:
        several: A question has several spans, of which each counts.
    """
    dataset = read_dataset(folder)
    texts = {document.id: document.text for document in dataset.documents}
    questions = draw(dataset.questions, sample, SEED)
    said = []
    for count, question in enumerate(questions, start=1):
        paragraph = GoldDocument(question.doc_ids[0], text=texts[question.doc_ids[0]])
        if context.uses_language_model:
            answer = _ask_pages(question.text, [paragraph], folder.name, context)
            said.append(answer.text[slice(*answer.short or (None, None))])
        else:
            passages = list(SelectedText(paragraph.text).passages())
            read = read_all(question.text, passages, reader=context.reader)
            readings = [(p.reading.score, p.text[p.reading.start : p.reading.end])
                        for p in read if p.reading]  # fmt: skip
            said.append(max(readings, default=(0.0, ""))[1])
        report("questions", count, len(questions))
    pairs = [(answer, question.answers) for answer, question in zip(said, questions, strict=True)]
    if not several:
        return {
            "F1 of words": _rows([squad_f1(*pair) for pair in pairs]),
            "exact match": _rows([squad_exact_match(*pair) for pair in pairs]),
        }
    return {
        name: _rows(
            [count_spans([answer], gold, is_partial=is_partial) for answer, gold in pairs], spans_f1
        )
        for name, is_partial in (("exact F1", False), ("partial F1", True))
    }


def measure_claims(
    folder: Path, sample: int | None, context: QAContext, report: Report
) -> dict[str, Rows]:
    """Check each claim against all that it cites, as ``POST /claims/verify`` does."""
    claims = draw(tuple(read_rows(folder, "claims")), sample, SEED)
    sources = sorted({claim.text("source") for claim in claims})
    found = []
    for count, claim in enumerate(claims, start=1):
        verified = verify_claim(
            claim.text("claim"),
            text="\n\n".join(claim.texts("evidence")),
            collection=DEFAULT_COLLECTION,
            context=context,
        )
        is_held_up = claim.text("label") == "attributable"
        found.append((sources.index(claim.text("source")), is_held_up, verified))
        report("claims", count, len(claims))
    return {
        "macro-F1, supported": _rows(
            [(source, truth, each.support == "supported") for source, truth, each in found],
            macro_f1_of_sources,
        ),
        "macro-F1, supported or partial": _rows(
            [(source, truth, each.support in {"supported", "partial"})
             for source, truth, each in found], macro_f1_of_sources,
        ),
        "AUROC of the score": _rows(
            [(each.score, truth) for _, truth, each in found],
            lambda rows: auroc(rows[:, 0], rows[:, 1]),
        ),
    }  # fmt: skip


def measure_disagreement(
    folder: Path, sample: int | None, context: QAContext, report: Report
) -> dict[str, Rows]:
    """Ask about two passages that contradict each other, then about one in two wordings."""
    passages = {row.key("id"): row for row in read_rows(folder, "corpus")}
    asked = [q for q in read_dataset(folder).questions if len(q.doc_ids) > 1]
    questions = draw(tuple(asked), sample, SEED)
    beside, alone = [], []
    for count, question in enumerate(questions, start=1):
        pages = [_page(passages[key], "text") for key in question.doc_ids]
        beside.append(_ask_pages(question.text, pages, folder.name, context))
        twice = [_page(passages[question.doc_ids[0]], form) for form in ("text", "wikipedia")]
        if len({page.text.strip() for page in twice}) > 1:
            alone.append(_ask_pages(question.text, twice, folder.name, context))
        report("questions", count, len(questions))
    told = [bool(answer.text and answer.disagreement) for answer in beside]
    return {
        "both sides told": _rows(told),
        "one side told as if it were all": _rows(
            [bool(answer.text) and not is_told
             for answer, is_told in zip(beside, told, strict=True)]
        ),
        "told though none disagrees": _rows([bool(answer.disagreement) for answer in alone]),
    }  # fmt: skip


def _page(row: DataRow, form: str) -> GoldDocument:
    return GoldDocument(f"{row.key('id')}-{form}", row.text("title", default=""), row.text(form))


def _ask_pages(
    question: str, pages: Sequence[GoldDocument], name: str, context: QAContext
) -> Answer:
    """Answer a question from these pages alone, and keep neither."""
    dataset = DataSet(name, documents=tuple(pages))
    indexed = index_dataset(dataset, fresh=False, progress=lambda done, total: None)
    try:
        k = settings.PKB_RETRIEVAL_K
        return ask(question, collection=indexed.collection, k=k, context=context).answer
    finally:
        delete_collection(indexed.collection.name)
