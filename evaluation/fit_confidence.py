"""Fit the confidence model on questions with known answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.errors import InvalidDataSet
from evaluation.datasets import DataSet, GoldDocument, GoldQuestion
from evaluation.index import index_dataset
from evaluation.metrics import auroc, expected_calibration_error
from evaluation.results import Progress
from evaluation.runs import ask, judge_answer
from qa.context import EXTRACTIVE, QAContext
from qa.grounding.confidence import FEATURES, Calibration, gather_evidence, likeliest_first, sigmoid
from qa.types import AnsweredQuestion, Evidence

# Metrics come from models fitted on five sixths of the subjects.
FOLDS = 6
# Weight of a question about documents of another subject: they are easy, and any number of them can
# be drawn. The set's own questions then have two thirds of the total weight.
FOREIGN_WEIGHT = 0.4
ANSWERABLE, UNANSWERABLE, FOREIGN = "answerable", "unanswerable", "foreign"
# Always answers, because calibration needs all answers.
ALWAYS_SURE = Calibration(weights=dict.fromkeys(FEATURES, 0.0), intercept=0.0, provenance={})


@dataclass(frozen=True, slots=True)
class Point:
    """One answered question.

    Attributes:
        kind: ``answerable``, ``unanswerable`` or ``foreign``.
        group: Subject; a split never separates its points.
    """

    kind: str
    group: str
    evidence: Evidence
    is_right: bool


def gather_points(
    dataset: DataSet, *, foreign: Sequence[str], context: QAContext, progress: Progress
) -> list[Point]:
    """Answer a data set's questions and foreign ones on its documents, at any confidence.

    Questions without a passage give no point, nor do refusals of a language model.

    Raises:
        BackendError: A model failed.
    """
    indexed = index_dataset(dataset, fresh=False, progress=lambda done, total: None)
    strangers = [GoldQuestion(f"foreign-{n}", text) for n, text in enumerate(foreign)]
    questions = [*dataset.questions, *(replace(each, is_answerable=False) for each in strangers)]
    verifier = replace(context.verifier, answer_from=0.0, draft_answer_from=0.0)
    candid = replace(context, verifier=verifier, caches_answers=False)
    subjects = {document.id: document for document in dataset.documents}
    points = []
    for count, question in enumerate(questions, start=1):
        answered = ask(
            question.text,
            collection=indexed.collection,
            k=settings.PKB_RETRIEVAL_K,
            context=candid,
        )
        kind = ANSWERABLE if question.is_answerable else UNANSWERABLE
        if evidence := _find_evidence(answered, is_draft=context.uses_language_model):
            is_right = judge_answer(question, answered, ids=indexed.ids)["right"] > 0
            points.append(
                Point(
                    kind=FOREIGN if count > len(dataset.questions) else kind,
                    group=group_of(question, subjects),
                    evidence=evidence,
                    is_right=question.is_answerable and is_right,
                )
            )
        progress(count, len(questions))
    return points


def group_of(question: GoldQuestion, documents: Mapping[str, GoldDocument]) -> str:
    """Return the subject of a question: its document's title, which several may share."""
    document = documents.get(question.doc_ids[0]) if question.doc_ids else None
    return (document.title or document.id) if document is not None else question.text


def _find_evidence(answered: AnsweredQuestion, *, is_draft: bool) -> Evidence | None:
    """Return the evidence of the quoted passage; of a draft, the best reading that it cites."""
    answer, passages = answered.answer, answered.passages
    if not is_draft:
        read = likeliest_first(passages)
        return gather_evidence(passages)[read[0][0].chunk_id] if passages else None
    readings = [each.passage.reading for each in answer.citations if each.passage.reading]
    if not passages or answer.answerer == EXTRACTIVE or not readings:
        return None
    return Evidence(max(reading.score for reading in readings), behind=0.0, ahead=0.0)


def fit_calibration(points: Sequence[Point], *, names: Sequence[str]) -> Calibration:
    """Return the logistic model (Platt scaling of the features) of correct answers.

    Raises:
        InvalidDataSet: Right and wrong answers from ``FOLDS`` subjects are needed.
    """
    right = np.array([point.is_right for point in points])
    folds = _make_folds(points)
    weights = np.array([FOREIGN_WEIGHT if p.kind == FOREIGN else 1.0 for p in points])
    features = np.array([astuple(point.evidence) for point in points])
    held_out = np.zeros(len(points))
    for fold in set(folds.values()):
        test = np.array([folds[point.group] == fold for point in points])
        coefficients, intercept = _fit(features[~test], right[~test], weights[~test])
        logits = features[test] @ coefficients + intercept
        held_out[test] = [sigmoid(logit) for logit in logits]
    coefficients, intercept = _fit(features, right, weights)
    return Calibration(
        weights=dict(zip(FEATURES, map(float, coefficients), strict=True)),
        intercept=intercept,
        provenance={
            "date": datetime.now(UTC).date().isoformat(),
            "models": [
                settings.PKB_EMBEDDING_MODEL,
                settings.PKB_RERANKER_MODEL,
                settings.PKB_READER_MODEL,
            ],
            "data_sets": list(names),
            "questions": {k: sum(p.kind == k for p in points) for k in _KINDS},
            "held_out": _judge(points, held_out, right),
        },
    )


_KINDS = (ANSWERABLE, UNANSWERABLE, FOREIGN)


def _make_folds(points: Sequence[Point]) -> dict[str, int]:
    """Return the fold of each subject, with balanced numbers of questions."""
    sizes = Counter(point.group for point in points)
    if len(sizes) < FOLDS or len({point.is_right for point in points}) < 2:  # noqa: PLR2004
        raise InvalidDataSet(f"Right and wrong answers from {FOLDS} subjects are needed.")
    filled = [0] * FOLDS
    folds = {}
    # The largest subjects first, each into the smallest fold.
    for group, size in sizes.most_common():
        folds[group] = filled.index(min(filled))
        filled[folds[group]] += size
    return folds


def _fit(
    features: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return non-negative weights and the intercept.

    Raises:
        InvalidDataSet: No feature separates right from wrong answers.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (heavy)

    if right.all() or not right.any():
        raise InvalidDataSet(f"Right and wrong answers from {FOLDS} subjects are needed.")

    # A better reading must never lower confidence: a feature with a negative weight is dropped, and
    # the others are fitted again.
    columns = np.arange(features.shape[1])
    while columns.size:
        model = LogisticRegression(C=10.0).fit(features[:, columns], right, sample_weight=weights)
        if model.coef_.min() >= 0:
            break
        columns = columns[model.coef_[0] >= 0]
    else:
        raise InvalidDataSet("No sign of a right answer is greater where the answers are right.")
    coefficients = np.zeros(features.shape[1])
    coefficients[columns] = model.coef_[0]
    return coefficients, float(model.intercept_[0])


def _judge(
    points: Sequence[Point], estimated: NDArray[np.float64], right: NDArray[np.bool_]
) -> dict[str, float]:
    """Return metrics of estimates by models that have not seen the subject."""
    kinds = np.array([point.kind for point in points])
    own = kinds != FOREIGN
    answerable = (kinds == ANSWERABLE)[own].astype(float)
    figures = {
        "auroc_right": auroc(estimated, right.astype(float)),
        "ece": expected_calibration_error(estimated, right.astype(float)),
        "auroc_answerable_from_unanswerable": auroc(estimated[own], answerable),
    }
    # The thresholds of PKB_ANSWER_FROM to choose from.
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7):
        is_answered = own & (estimated >= threshold)
        if is_answered.any():
            figures[f"said_right_from_{threshold}"] = float(right[is_answered].mean())
        figures[f"answered_right_from_{threshold}"] = float(
            right[is_answered].sum() / answerable.sum()
        )
    return {name: round(value, 4) for name, value in figures.items() if not np.isnan(value)}
