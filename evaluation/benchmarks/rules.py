"""Score outputs as the publications' own scripts do. Pure."""

import re
import string
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from evaluation.metrics import Array

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


class FirstResults(NamedTuple):
    """Figures of the first results of a search, each in [0, 1]."""

    precision: float
    recall: float
    reciprocal_rank: float


def judge_first(ranking: Sequence[str], relevant: Collection[str], *, k: int) -> FirstResults:
    """Judge the first k results, by the rule of Anthropic's guides to retrieval.

    Their Pass@k is the recall. Precision is that of the different results that were found.
    """
    first = ranking[:k]
    ranks = [rank for rank, key in enumerate(first, start=1) if key in relevant]
    hit_count = len(set(first) & set(relevant))
    return FirstResults(
        precision=hit_count / len(set(first)) if first else 0.0,
        recall=hit_count / len(relevant),
        reciprocal_rank=1 / ranks[0] if ranks else 0.0,
    )


def normalize_answer(text: str) -> str:
    """Return a text in lower case, without punctuation and articles, as SQuAD's script does."""
    plain = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def squad_exact_match(answer: str, gold: Sequence[str]) -> float:
    """Return 1 if the answer equals a gold one, else 0 (Rajpurkar et al., SQuAD, EMNLP 2016)."""
    return float(normalize_answer(answer) in map(normalize_answer, gold))


def squad_f1(answer: str, gold: Sequence[str]) -> float:
    """Return the best F1 of shared words over the gold answers, as SQuAD's script does."""
    words, best = normalize_answer(answer).split(), 0.0
    for right in (normalize_answer(each).split() for each in gold):
        shared = (Counter(words) & Counter(right)).total()
        if shared:
            best = max(best, 2 * shared / (len(words) + len(right)))
    return best


class SpanCounts(NamedTuple):
    """Spans of one question, summed over questions by ``spans_f1``.

    Attributes:
        right_said: Said spans that are right, in parts.
        said: Said spans, at least 1, like ``gold``.
        right_gold: Gold spans that were said, in parts.
    """

    right_said: float
    said: float
    right_gold: float
    gold: float


def count_spans(answers: Sequence[str], gold: Sequence[str], *, is_partial: bool) -> SpanCounts:
    """Count equal spans, or shares of overlap (Li et al., MultiSpanQA, NAACL 2022).

    Args:
        is_partial: Count for each span the longest substring that it shares with the best one of
            the other side, as a share of its own length.
    """
    said, right = ({normalize_answer(each) for each in side} for side in (answers, gold))
    counts = float(max(1, len(said))), float(max(1, len(right)))
    if is_partial:
        shares = (_share_covered(said, right), _share_covered(right, said))
    else:
        shares = (float(len(said & right)),) * 2
    return SpanCounts(shares[0], counts[0], shares[1], counts[1])


def _share_covered(spans: Collection[str], others: Collection[str]) -> float:
    return sum(
        max(
            (
                SequenceMatcher(None, other, span).find_longest_match().size / len(span)
                for other in others
            ),
            default=0.0,
        )
        for span in spans
        if span
    )


def spans_f1(rows: Array) -> float:
    """Return the micro F1 of ``SpanCounts``, shape (n, 4)."""
    right_said, said, right_gold, gold = rows.sum(axis=0)
    precision, recall = right_said / said, right_gold / gold
    both = precision + recall
    return float(2 * precision * recall / both) if both else 0.0


def macro_f1_of_sources(rows: Array) -> float:
    """Return macro-F1 of two classes, the mean of the sources (AttributionBench, ACL 2024).

    Args:
        rows: Source, whether the claim is held up, and whether it was accepted; shape (n, 3).
    """
    sources, truth, said = rows[:, 0], rows[:, 1] > 0, rows[:, 2] > 0
    of_sources = []
    for source in np.unique(sources):
        scores = []
        for positive in (True, False):
            is_true, is_said = ((each == positive)[sources == source] for each in (truth, said))
            if size := is_true.sum() + is_said.sum():  # as scikit-learn, a class that is nowhere
                scores.append(2 * (is_true & is_said).sum() / size)
        of_sources.append(np.mean(scores))
    return float(np.mean(of_sources))


def mean(rows: Array) -> float:
    return float(rows[:, 0].mean())
