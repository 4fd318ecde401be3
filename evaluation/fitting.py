"""Fit the model of confidence on questions whose right answers are known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.errors import InvalidDataSet
from evaluation.calibration import auroc, expected_calibration_error
from evaluation.datasets import DataSet, GoldQuestion
from evaluation.indexing import Indexed, index_dataset
from evaluation.running import judge_answer
from qa import models
from qa.asking import answer_question
from qa.confidence import Calibration
from qa.ports import QAContext
from qa.types import Evidence

FOLDS = 6
# Weight of a question that is asked of documents of another subject: there can be any number of
# them, and they are the easy ones. Two thirds of the sum of weights are then the set's own.
FOREIGN_WEIGHT = 0.4
ANSWERABLE, UNANSWERABLE, FOREIGN = "answerable", "unanswerable", "foreign"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Point:
    """One answered question.

    Attributes:
        kind: ``answerable``, ``unanswerable`` or ``foreign``.
        group: Points of one document are never on both sides of a split.
    """

    kind: str
    group: str
    evidence: Evidence
    is_right: bool


def gather_points(
    dataset: DataSet, *, foreign: Sequence[str], context: QAContext, progress: Progress
) -> list[Point]:
    """Ask a data set's documents its own questions and foreign ones; answer all, however unsure.

    Raises:
        BackendError: A model failed.
    """
    indexed = index_dataset(dataset, fresh=False, progress=lambda done, total: None)
    strangers = [GoldQuestion(f"foreign-{n}", text) for n, text in enumerate(foreign)]
    asked = [*dataset.questions, *(replace(each, is_answerable=False) for each in strangers)]
    candid = replace(context, abstain_below=0.0)
    points = []
    for count, question in enumerate(asked, start=1):
        point = _ask(question, indexed, candid)
        kind = FOREIGN if count > len(dataset.questions) else point.kind
        points.append(replace(point, kind=kind))
        progress(count, len(asked))
    return points


def _ask(question: GoldQuestion, indexed: Indexed, context: QAContext) -> Point:
    asked = answer_question(
        question.text,
        collection=indexed.collection.name,
        k=settings.PKB_RETRIEVAL_K,
        context=context,
        route="evaluate",
    )
    models.Answer.objects.filter(pk=UUID(asked.id)).delete()
    is_right = bool(judge_answer(question, asked, ids=indexed.ids)["right"])
    return Point(
        kind=ANSWERABLE if question.is_answerable else UNANSWERABLE,
        group=" ".join(question.doc_ids) or question.text,
        # Nothing said is as sure a no as there can be.
        evidence=asked.answer.evidence or Evidence(relevance=-12.0, weakest_match=0.0),
        is_right=question.is_answerable and is_right,
    )


def fit_calibration(points: Sequence[Point], *, names: Sequence[str]) -> Calibration:
    """Return the logistic model (Platt scaling of two features) of an answer being right.

    Raises:
        InvalidDataSet: There are not both right and wrong answers, from ``FOLDS`` documents.
    """
    features = np.array([[p.evidence.relevance, p.evidence.weakest_match] for p in points])
    right = np.array([point.is_right for point in points])
    if len(set(right)) < 2 or len({point.group for point in points}) < FOLDS:  # noqa: PLR2004
        raise InvalidDataSet(f"Right and wrong answers from {FOLDS} documents are needed.")
    weights = np.array([FOREIGN_WEIGHT if p.kind == FOREIGN else 1.0 for p in points])
    held_out = np.zeros(len(points))
    for train, test in _folds([point.group for point in points]):
        held_out[test] = _estimate(
            _fit(features[train], right[train], weights[train]), features[test]
        )
    (relevance, weakest_match), intercept = _fit(features, right, weights)
    return Calibration(
        relevance=relevance,
        weakest_match=weakest_match,
        intercept=intercept,
        provenance={
            "date": datetime.now(UTC).date().isoformat(),
            "models": [
                settings.PKB_EMBEDDING_MODEL,
                settings.PKB_RERANKER_MODEL,
                settings.PKB_JUDGE_MODEL,
            ],
            "data_sets": list(names),
            "questions": {k: sum(p.kind == k for p in points) for k in _KINDS},
            "cross_validated": _judge(points, held_out, right),
        },
    )


_KINDS = (ANSWERABLE, UNANSWERABLE, FOREIGN)
_Model = tuple[tuple[float, float], float]


def _fit(
    features: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64]
) -> _Model:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (heavy)

    model = LogisticRegression(C=10.0).fit(features, right, sample_weight=weights)
    relevance, weakest_match = map(float, model.coef_[0])
    # Evidence that grows never makes an answer less sure: sentences are said as they are proved.
    return (max(0.0, relevance), max(0.0, weakest_match)), float(model.intercept_[0])


def _estimate(model: _Model, features: NDArray[np.float64]) -> NDArray[np.float64]:
    weights, intercept = model
    estimated: NDArray[np.float64] = 1 / (1 + np.exp(-(features @ np.array(weights) + intercept)))
    return estimated


def _folds(groups: Sequence[str]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    from sklearn.model_selection import GroupKFold  # noqa: PLC0415  (heavy)

    yield from GroupKFold(FOLDS).split(np.zeros(len(groups)), groups=groups)


def _judge(
    points: Sequence[Point], estimated: NDArray[np.float64], right: NDArray[np.bool_]
) -> dict[str, float]:
    """Figures of estimates that each come from a model that had not seen the document."""
    kinds = np.array([point.kind for point in points])
    own = kinds != FOREIGN
    answerable = (kinds == ANSWERABLE)[own].astype(float)
    figures = {
        "auroc": auroc(estimated, right.astype(float)),
        "ece": expected_calibration_error(estimated, right.astype(float)),
        "auroc_answerable_from_unanswerable": auroc(estimated[own], answerable),
    }
    for threshold in (0.05, 0.07, 0.1, 0.15, 0.2):
        for kind in _KINDS:
            refused = estimated[kinds == kind] < threshold
            if refused.size:
                figures[f"{kind}_refused_below_{threshold}"] = float(refused.mean())
    return {name: round(value, 4) for name, value in figures.items() if not np.isnan(value)}
