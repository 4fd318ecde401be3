"""Fit the model of confidence on questions whose right answers are known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.errors import InvalidDataSet
from evaluation.datasets import DataSet, GoldQuestion
from evaluation.fit_answerability import Example, group_of, train_head
from evaluation.index import Indexed, index_dataset
from evaluation.metrics import auroc, expected_calibration_error
from evaluation.results import Progress
from evaluation.runs import judge_answer
from qa import models
from qa.answer_question import answer_question
from qa.context import QAContext
from qa.proof.confidence import Calibration
from qa.sigmoid import sigmoid
from qa.types import Evidence

# Each figure comes from models fitted on five sixths of the subjects.
FOLDS = 6
# Weight of a question that is asked of documents of another subject: there can be any number of
# them, and they are the easy ones. Two thirds of the sum of weights are then the set's own.
FOREIGN_WEIGHT = 0.4
# Evidence of an abstention: as sure a no as there can be.
NOTHING_SAID = Evidence(relevance=-12.0, weakest_match=0.0, answerability=-6.0)
ANSWERABLE, UNANSWERABLE, FOREIGN = "answerable", "unanswerable", "foreign"


@dataclass(frozen=True, slots=True)
class Point:
    """One answered question.

    Attributes:
        kind: ``answerable``, ``unanswerable`` or ``foreign``.
        group: Points of one subject are never on both sides of a split.
        states: Of the question's tokens beside the first quote, the first two and so on, each of
            shape (q, d).
    """

    kind: str
    group: str
    evidence: Evidence
    is_right: bool
    states: tuple[NDArray[np.float32], ...] = ()


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
    candid = replace(context, prover=replace(context.prover, abstain_below=0.0))
    subjects = {document.id: document for document in dataset.documents}
    points = []
    for count, question in enumerate(asked, start=1):
        point = _ask(question, indexed, candid, group=group_of(question, subjects))
        kind = FOREIGN if count > len(dataset.questions) else point.kind
        points.append(replace(point, kind=kind))
        progress(count, len(asked))
    return points


def _ask(question: GoldQuestion, indexed: Indexed, context: QAContext, *, group: str) -> Point:
    answered = answer_question(
        question.text,
        collection=indexed.collection.name,
        k=settings.PKB_RETRIEVAL_K,
        context=context,
        route="evaluate",
    )
    models.Answer.objects.filter(pk=UUID(answered.id)).delete()
    is_right = bool(judge_answer(question, answered, ids=indexed.ids)["right"])
    quotes = [citation.quote for citation in answered.answer.citations]
    said = [" ".join(quotes[:count]) for count in range(1, len(quotes) + 1)]
    return Point(
        kind=ANSWERABLE if question.is_answerable else UNANSWERABLE,
        group=group,
        evidence=answered.answer.evidence or NOTHING_SAID,
        is_right=question.is_answerable and is_right,
        states=tuple(context.prover.judge.read_question(question.text, text) for text in said),
    )


def fit_calibration(
    points: Sequence[Point], *, examples: Sequence[Example], names: Sequence[str]
) -> Calibration:
    """Return the logistic model (Platt scaling of three features) of an answer being right.

    Args:
        examples: What the head that gives the third feature learns from.

    Raises:
        InvalidDataSet: There are not both right and wrong answers, or not both answered and
            unanswered examples, from ``FOLDS`` subjects.
    """
    right = np.array([point.is_right for point in points])
    folds = _make_folds(points, examples)
    weights = np.array([FOREIGN_WEIGHT if p.kind == FOREIGN else 1.0 for p in points])
    features = _gather_features(points, examples, folds)
    held_out = np.zeros(len(points))
    for fold in set(folds.values()):
        test = np.array([folds[point.group] == fold for point in points])
        fitted = _fit(features[~test], right[~test], weights[~test])
        held_out[test] = _estimate(fitted, features[test])
    (relevance, weakest_match, answerability), intercept = _fit(features, right, weights)
    return Calibration(
        relevance=relevance,
        weakest_match=weakest_match,
        answerability=answerability,
        intercept=intercept,
        head=train_head(examples),
        provenance={
            "date": datetime.now(UTC).date().isoformat(),
            "models": [
                settings.PKB_EMBEDDING_MODEL,
                settings.PKB_RERANKER_MODEL,
                settings.PKB_JUDGE_MODEL,
            ],
            "data_sets": list(names),
            "questions": {k: sum(p.kind == k for p in points) for k in _KINDS},
            "examples": len(examples),
            "cross_validated": _judge(points, held_out, right),
        },
    )


_KINDS = (ANSWERABLE, UNANSWERABLE, FOREIGN)
_Model = tuple[tuple[float, float, float], float]


def _make_folds(points: Sequence[Point], examples: Sequence[Example]) -> dict[str, int]:
    """Return the fold of each subject, as many questions in one as in another."""
    sizes = Counter([p.group for p in points] + [e.group for e in examples])
    labels = [{p.is_right for p in points}, {e.is_answered for e in examples}]
    if len(sizes) < FOLDS or any(len(each) < 2 for each in labels):  # noqa: PLR2004
        raise InvalidDataSet(
            f"Right and wrong answers, and questions with and without an answer in the document"
            f" they name, from {FOLDS} subjects are needed."
        )
    filled = [0] * FOLDS
    folds = {}
    # The largest subjects first, each into the emptiest fold.
    for group, size in sizes.most_common():
        folds[group] = filled.index(min(filled))
        filled[folds[group]] += size
    return folds


def _gather_features(
    points: Sequence[Point], examples: Sequence[Example], folds: Mapping[str, int]
) -> NDArray[np.float64]:
    """Return shape (n, 3); the third is of a head that has not seen the point's subject."""
    heads = {
        fold: train_head([each for each in examples if folds[each.group] != fold])
        for fold in set(folds.values())
    }
    rows = []
    for point in points:
        estimates = map(heads[folds[point.group]].estimate, point.states)
        answerability = max(estimates, default=NOTHING_SAID.answerability)
        rows.append([point.evidence.relevance, point.evidence.weakest_match, answerability])
    return np.array(rows)


def _fit(
    features: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64]
) -> _Model:
    """Return weights of at least 0 and the intercept.

    Raises:
        InvalidDataSet: No feature tells right answers from wrong ones.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (heavy)

    # Evidence that grows never makes an answer less sure: sentences are said as they are proved.
    # So a feature that would is left out, and the others are fitted without it.
    kept = np.arange(features.shape[1])
    while kept.size:
        model = LogisticRegression(C=10.0).fit(features[:, kept], right, sample_weight=weights)
        if model.coef_.min() >= 0:
            break
        kept = kept[model.coef_[0] >= 0]
    else:
        raise InvalidDataSet("No sign of a right answer is greater where the answers are right.")
    coefficients = np.zeros(features.shape[1])
    coefficients[kept] = model.coef_[0]
    relevance, weakest_match, answerability = map(float, coefficients)
    return (relevance, weakest_match, answerability), float(model.intercept_[0])


def _estimate(model: _Model, features: NDArray[np.float64]) -> NDArray[np.float64]:
    weights, intercept = model
    return np.array([sigmoid(logit) for logit in features @ np.array(weights) + intercept])


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
    # About where few answerable questions are lost; the owner chooses among them.
    for threshold in (0.05, 0.07, 0.1, 0.15, 0.2):
        for kind in _KINDS:
            refused = estimated[kinds == kind] < threshold
            if refused.size:
                figures[f"{kind}_refused_below_{threshold}"] = float(refused.mean())
    return {name: round(value, 4) for name, value in figures.items() if not np.isnan(value)}
