"""Confidence thresholds and refits of collections, from judged answers.

A refit scales the logit of the shipped fit. Levels are thresholds of the shipped fit, fixed before
anything is judged. An owner may promise a maximum percentage of wrong quotes: the lowest level at
which the judged answers prove it becomes the threshold (docs/decisions/0054).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, exp, lgamma, log
from typing import Any, NamedTuple, Self

from django.conf import settings

from corpus.errors import NotAllowed
from corpus.models import Collection
from qa.configuration_hash import configuration_sha256
from qa.context import QAContext
from qa.grounding.confidence import logit, sigmoid

LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# The chance, over all levels together, that the judged answers prove what is not so.
MAX_CHANCE = 0.05
# Beyond so many further judgements, no number is told.
MAX_NEEDED = 2_000


class Level(NamedTuple):
    """The answers with at least a confidence, by the shipped fit.

    Attributes:
        asked: All such answers; ``judged`` those that people judged, ``wrong`` the wrong ones.
    """

    answer_from: float
    asked: int
    judged: int
    wrong: int


class Refit(NamedTuple):
    """A fit of the collection's own: ``slope`` times the shipped fit's logit, plus ``offset``.

    Attributes:
        log_loss: Of judged answers in documents that it was not fitted on; ``shipped_log_loss`` by
            the shipped fit.
        p: The chance that a refit which is no better loses so much less.
        is_better: It is in force unless the owner took it back.
    """

    slope: float
    offset: float
    log_loss: float
    shipped_log_loss: float
    p: float
    is_better: bool


@dataclass(frozen=True, slots=True)
class LearnedConfidence:
    """Counts and refit of a collection, as they are stored.

    Attributes:
        configuration_sha256: Of the settings that the answers were given with; with others, they
            say nothing.
        learned_at: ISO 8601 with zone.
        asked: Questions with a quote, given or withheld; ``answered`` those that are answered with
            the shipped fit and ``PKB_ANSWER_FROM``.
        refit: None until right and wrong answers about several documents are judged.
    """

    configuration_sha256: str
    learned_at: str
    asked: int
    answered: int
    judged: int
    wrong: int
    levels: tuple[Level, ...]
    refit: Refit | None = None

    @classmethod
    def of(cls, collection: Collection) -> Self | None:
        """Return what the collection has learned with the settings in force, or None."""
        stored: dict[str, Any] | None = collection.learned_confidence
        current = configuration_sha256(collection.embedding_model)
        if stored is None or stored["configuration_sha256"] != current:
            return None
        levels = tuple(Level(*level) for level in stored["levels"])
        refit = Refit(*stored["refit"]) if stored["refit"] else None
        return cls(**{**stored, "levels": levels, "refit": refit})

    def store(self, collection: Collection) -> None:
        Collection.objects.filter(pk=collection.pk).update(learned_confidence=asdict(self))


def chance_of(wrong: int, judged: int, *, risk: float) -> float:
    """Return the chance of at most so many wrong answers if each is wrong with this risk.

    Args:
        risk: In (0, 1).
    """
    return sum(
        exp(
            lgamma(judged + 1) - lgamma(count + 1) - lgamma(judged - count + 1)
            + count * log(risk) + (judged - count) * log(1 - risk)
        )
        for count in range(wrong + 1)
    )  # fmt: skip


def _proves(wrong: int, judged: int, max_wrong_percent: int) -> bool:
    chance = chance_of(wrong, judged, risk=max_wrong_percent / 100)
    return chance <= MAX_CHANCE / len(LEVELS)


def choose_level(levels: Sequence[Level], max_wrong_percent: int) -> Level | None:
    """Return the lowest level at which the judged answers prove the promise, or None.

    Each level is tested at an equal part of ``MAX_CHANCE``, so that some level proves a promise
    that it breaks with at most that chance, however the share of wrong answers varies over levels.

    Source: Angelopoulos et al., Learn then Test, 2021, with the Bonferroni correction.
    """
    proved = [level for level in levels if _proves(level.wrong, level.judged, max_wrong_percent)]
    return min(proved, default=None)


def count_needed(level: Level, max_wrong_percent: int) -> int | None:
    """Return how many more judgements prove the promise if as many of them are wrong as so far.

    None if no number up to ``MAX_NEEDED`` does.
    """
    share = level.wrong / max(1, level.judged)

    def would_prove(count: int) -> bool:
        judged = level.judged + count
        return _proves(ceil(share * judged - 1e-9), judged, max_wrong_percent)

    count = bisect_left(range(MAX_NEEDED + 1), True, key=would_prove)
    return count if count <= MAX_NEEDED else None


@dataclass(frozen=True, slots=True)
class ConfidenceState:
    """The confidence threshold of a collection, with the judgements behind it.

    Attributes:
        answer_from: The confidence from which answers are given.
        is_promised: The judged answers prove ``max_wrong_percent``.
        judgements_needed: More judgements that would prove it, of answers with at least
            ``needed_from``; both are None if it is proved, and if no number would.
        coverage: Share of the questions that are answered with the promise, proved or to be
            proved; ``shipped_coverage`` without it.
    """

    max_wrong_percent: int | None
    learns_confidence: bool
    answer_from: float
    is_promised: bool
    judged: int
    wrong: int
    judgements_needed: int | None
    needed_from: float | None
    coverage: float | None
    shipped_coverage: float | None
    refit: Refit | None
    learned_at: str | None


NOTHING_JUDGED = tuple(Level(answer_from, 0, 0, 0) for answer_from in LEVELS)


def read_state(collection: Collection) -> ConfidenceState:
    learned, level, refit = _decide(collection)
    promised = collection.max_wrong_percent
    needed, wanted = None, None
    if promised and level is None:
        levels = learned.levels if learned else NOTHING_JUDGED
        counts = [(count_needed(each, promised), each) for each in levels]
        needed, wanted = min(
            ((count, each) for count, each in counts if count is not None), default=(None, None)
        )
    at, asked = level or wanted, learned.asked if learned else 0
    return ConfidenceState(
        max_wrong_percent=promised,
        learns_confidence=collection.learns_confidence,
        answer_from=_refitted(level.answer_from, refit) if level else settings.PKB_ANSWER_FROM,
        is_promised=level is not None,
        judged=learned.judged if learned else 0,
        wrong=learned.wrong if learned else 0,
        judgements_needed=needed,
        needed_from=_refitted(wanted.answer_from, refit) if wanted else None,
        coverage=at.asked / asked if at and asked else None,
        shipped_coverage=learned.answered / asked if learned and asked else None,
        refit=learned.refit if learned else None,
        learned_at=learned.learned_at if learned else None,
    )


def with_learned(context: QAContext, collection: Collection) -> QAContext:
    _, level, refit = _decide(collection)
    verifier = context.verifier
    if refit is not None:
        fit = verifier.calibration.scaled(refit.slope, refit.offset)
        verifier = replace(verifier, calibration=fit)
    if level is not None:
        verifier = replace(verifier, answer_from=_refitted(level.answer_from, refit))
    return replace(context, verifier=verifier)


def _decide(
    collection: Collection,
) -> tuple[LearnedConfidence | None, Level | None, Refit | None]:
    """Return what was learned, the level that proves the promise, and the refit in force."""
    learned = LearnedConfidence.of(collection)
    if learned is None:
        return None, None, None
    promised, refit = collection.max_wrong_percent, learned.refit
    is_in_force = refit is not None and refit.is_better and collection.learns_confidence
    level = choose_level(learned.levels, promised) if promised else None
    return learned, level, refit if is_in_force else None


def _refitted(shipped: float, refit: Refit | None) -> float:
    """Return the confidence, by the fit in force, of one by the shipped fit."""
    return sigmoid(refit.slope * logit(shipped) + refit.offset) if refit else shipped


def change_confidence(name: str, **values: Any) -> None:
    """Set ``max_wrong_percent`` or ``learns_confidence``; without that, a refit is taken back.

    Raises:
        CollectionNotFound: There is no collection of this name.
        NotAllowed: The principal does not own it.
    """
    collection = Collection.objects.get_named(name)
    owned = Collection.objects.owned().filter(pk=collection.pk)
    if not owned.exists():
        raise NotAllowed("Only owners of a collection may change how sure its answers must be.")
    if values:
        owned.update(**values)
