"""Learn a collection's confidence from the answers that people judged."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from django.conf import settings
from django.db.models import Count, Prefetch, Q
from django.utils import timezone

from corpus.models import Collection
from evaluation.metrics import Array, paired_p_value
from qa import models
from qa.configuration_hash import configuration_sha256
from qa.grounding.confidence import logit
from qa.learned_confidence import LEVELS, LearnedConfidence, Level, Refit
from qa.models import Feedback

# Standard deviations of the prior on slope and offset, around the shipped fit: docs/decisions/0054.
SLOPE_DEVIATION = 0.25
OFFSET_DEVIATION = 0.5
# A refit is judged on documents that it was not fitted on, in so many parts.
FOLDS = 5
# A refit that is no better than the shipped fit comes into force with at most this chance. It is
# not small: the prior keeps such a refit near, and a smaller one rejects most of the better ones.
BETTER_BELOW = 0.2
# With the prior, two numbers are found in fewer.
NEWTON_STEPS = 20


class Judgement(NamedTuple):
    """An answer, given or withheld as unsure, that somebody judged.

    Attributes:
        estimate: The shipped fit's confidence in it.
        document: Id of the quoted document; a fold never separates its answers.
    """

    estimate: float
    is_right: bool
    document: str


def read_judgements(collection: Collection) -> list[Judgement]:
    """Return the latest judgement of each question, of answers with the settings in force.

    Feedback that was dismissed does not count, nor what says nothing about the quote.
    """
    citations = models.Citation.objects.order_by("ordinal")
    rows = (
        Feedback.objects.filter(answer__in=_estimated(collection))
        .exclude(review=Feedback.Review.DISMISSED)
        .select_related("answer")
        .prefetch_related(Prefetch("answer__citations", queryset=citations))
        .order_by("created_at", "pk")
    )
    judgements = {}
    for feedback in rows:
        judgement = _judge(feedback, feedback.answer)
        if judgement is not None:
            judgements[feedback.answer.question.casefold()] = judgement
    return list(judgements.values())


def _estimated(collection: Collection) -> models.AnswerQuerySet:
    """Return the answers with an estimate that were given with the settings in force."""
    return models.Answer.objects.filter(
        collection=collection,
        configuration_sha256=configuration_sha256(collection.embedding_model),
        estimate__isnull=False,
    ).exclude(kind=models.Answer.Kind.ERASED)


def _judge(feedback: Feedback, answer: models.Answer) -> Judgement | None:
    """Return what feedback says of the quote; None if it says nothing.

    An answer is right if it was liked. A quote that was withheld is right if it was marked as the
    answer, and wrong if another passage was, or none helped.
    """
    is_up, document_id = feedback.rating == Feedback.Rating.UP, str(feedback.document_id)
    marked = (document_id, feedback.start_char, feedback.end_char)
    is_marked = feedback.start_char is not None
    if answer.kind == models.Answer.Kind.ANSWER:
        cited = [
            (str(each.document_id), each.start_char, each.end_char)
            for each in answer.citations.all()
        ]
        if not cited or (is_marked and marked not in cited):
            return None
        quoted, is_right = cited[0][0], is_up
    else:
        likeliest = answer.closest[0] if answer.closest else None
        if likeliest is None or (is_up and not is_marked):
            return None
        span = likeliest.get("unit") or [likeliest["start_char"], likeliest["end_char"]]
        quoted = likeliest["document_id"]
        is_right = is_up and marked in {
            (quoted, *span), (quoted, likeliest["start_char"], likeliest["end_char"])
        }  # fmt: skip
    return Judgement(answer.estimate or 0.0, is_right, quoted)


def count_levels(judgements: Sequence[Judgement], asked: Iterable[int] = ()) -> tuple[Level, ...]:
    """Return the counts of each of ``LEVELS``; ``asked`` has all answers of each."""
    counts = list(asked) or [0] * len(LEVELS)
    levels = []
    for answer_from, count in zip(LEVELS, counts, strict=True):
        judged = [each for each in judgements if each.estimate >= answer_from]
        wrong = sum(not each.is_right for each in judged)
        levels.append(Level(answer_from, count, len(judged), wrong))
    return tuple(levels)


def refit(judgements: Sequence[Judgement]) -> Refit | None:
    """Fit the judgements, and test the fit on documents that it has not seen.

    The test is a one-sided paired randomization of the log loss, summed by document. None
    without right and wrong answers about ``FOLDS`` documents.
    """
    documents = sorted({each.document for each in judgements})
    right = np.array([each.is_right for each in judgements], np.float64)
    if len(documents) < FOLDS or right.min() == right.max():
        return None
    logits = np.array([logit(each.estimate) for each in judgements])
    places = np.array([documents.index(each.document) for each in judgements])
    refitted = np.zeros(len(logits))
    for fold in range(FOLDS):
        is_held_out = places % FOLDS == fold
        slope, offset = fit_logits(logits[~is_held_out], right[~is_held_out])
        refitted[is_held_out] = slope * logits[is_held_out] + offset
    before, after = _log_loss(logits, right), _log_loss(refitted, right)
    p = paired_p_value(
        np.bincount(places, before)[:, None].astype(np.float64),
        np.bincount(places, after)[:, None].astype(np.float64),
        lambda rows: float(rows.sum()),
    )
    p = p / 2 if after.sum() < before.sum() else 1 - p / 2
    slope, offset = fit_logits(logits, right)
    # With another sign, it would prefer what the shipped fit is least sure of.
    is_better = bool(slope > 0 and p < BETTER_BELOW)
    return Refit(slope, offset, float(after.mean()), float(before.mean()), p, is_better)


def fit_logits(logits: Array, right: Array) -> tuple[float, float]:
    """Return slope and offset of the likeliest scaling, given the prior around (1, 0).

    Source: Platt, Probabilistic Outputs for Support Vector Machines, 1999; by Newton's method.
    """
    rows = np.column_stack([logits, np.ones(len(logits))])
    shipped = np.array([1.0, 0.0])
    precision = 1 / np.array([SLOPE_DEVIATION, OFFSET_DEVIATION]) ** 2
    fit = shipped.copy()
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(rows @ fit, -60, 60)))
        gradient = rows.T @ (chances - right) + precision * (fit - shipped)
        curvature = (rows.T * (chances * (1 - chances))) @ rows + np.diag(precision)
        fit -= np.linalg.solve(curvature, gradient)
    return float(fit[0]), float(fit[1])


def _log_loss(logits: Array, right: Array) -> Array:
    """Return the negative logarithm of the chance given to what was so, shape (n,)."""
    return np.logaddexp(0, np.where(right > 0, -logits, logits))


def learn(collection: Collection) -> LearnedConfidence:
    """Count and fit a collection's judged answers, store what was learned and return it."""
    judgements = read_judgements(collection)
    answers = _estimated(collection)
    bounds = (0.0, settings.PKB_ANSWER_FROM, *LEVELS)
    counts = answers.aggregate(
        **{f"n{at}": Count("pk", filter=Q(estimate__gte=bound)) for at, bound in enumerate(bounds)}
    )
    asked, answered, *by_level = counts.values()
    learned = LearnedConfidence(
        configuration_sha256=configuration_sha256(collection.embedding_model),
        learned_at=timezone.now().isoformat(timespec="seconds"),
        asked=asked,
        answered=answered,
        judged=len(judgements),
        wrong=sum(not each.is_right for each in judgements),
        levels=count_levels(judgements, by_level),
        refit=refit(judgements),
    )
    learned.store(collection)
    return learned
