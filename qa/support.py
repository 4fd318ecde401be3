"""Does a source hold up a claim: hard checks on what must not be altered, then relevance."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scorer = Callable[[str, Sequence[str]], NDArray[np.float32]]

# Raw relevance of a source sentence for a claim, from which on it counts as the same statement.
SUPPORTED_FROM = 3.0
PARTIAL_FROM = 0.0

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|unable|\w+n't)\b", re.I
)
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-Z][\w'-]*")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Support:
    """Which of the sources holds up a claim, and how well."""

    index: int
    score: float
    verdict: str


def find_support(claim: str, sources: Sequence[str], *, score: Scorer) -> Support | None:
    """Return the best source that holds up the claim, or None.

    A source whose numbers, names or negation differ from the claim's is none, however alike.
    """
    fit = [index for index, source in enumerate(sources) if keeps_facts(claim, source)]
    if not fit:
        return None
    scores = score(claim, [sources[index] for index in fit])
    best = int(np.argmax(scores))
    raw = float(scores[best])
    if raw < PARTIAL_FROM:
        return None
    verdict = "supported" if raw >= SUPPORTED_FROM else "partial"
    return Support(fit[best], float(1 / (1 + np.exp(-raw))), verdict)


def keeps_facts(claim: str, source: str) -> bool:
    """Tell whether each number and name of the claim is in the source, and negation agrees."""
    claim, source = claim.replace("\u2019", "'"), source.replace("\u2019", "'")
    numbers = set(_NUMBER.findall(claim)) <= set(_NUMBER.findall(source))
    negation = bool(_NEGATION.search(claim)) == bool(_NEGATION.search(source))
    words = {word.lower() for word in _WORD.findall(source)}
    names = all(
        part.lower() in words for name in _NAME.findall(claim) for part in _WORD.findall(name)
    )
    return numbers and negation and names
