"""Quotes that were tampered with in one place, and honest ones, made from real sentences."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from random import Random
from typing import NamedTuple

_AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|should|must|may|will|has|have|does|do)\b")
_NOT = re.compile(r"\b(?:does not|do not|did not|not|never|no)\s", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-])")
_NUMBER_WORDS = re.compile(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty)\b"
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_WORD = re.compile(r"(?<![\w'-])[a-z]{4,}(?![\w'-])")
_DIRECTIONS = dict(
    pair
    for a, b in [
        ("increase", "decrease"), ("increases", "decreases"), ("increased", "decreased"),
        ("more", "less"), ("higher", "lower"), ("before", "after"), ("above", "below"),
        ("all", "none of the"), ("always", "never"), ("must", "must not"), ("with", "without"),
        ("first", "last"), ("most", "least"), ("improves", "worsens"), ("or", "and not"),
    ]
    for pair in ((a, b), (b, a))
)  # fmt: skip
_DIRECTION = re.compile(rf"\b({'|'.join(_DIRECTIONS)})\b")
_UNITS = {
    "percent": "million", "%": " kg", "hours": "weeks", "days": "years", "months": "minutes",
    "minutes": "days", "seconds": "hours", "years": "days", "mg": "g", "kg": "mg",
}  # fmt: skip
_UNIT = re.compile(rf"(?<=\d)\s?({'|'.join(_UNITS)})(?!\w)")
# What is taken out, and nothing put in its place.
_DROPPED = {
    "prefix dropped": re.compile(
        r"\b(?:(?:non|anti|pseudo|quasi|ex)-(?=[A-Za-z])"
        r"|(?:so-called|former|alleged|supposed|purported|fake|almost|nearly) (?=[a-z]))",
        re.IGNORECASE,
    ),
    "sign dropped": re.compile(r"[<>\u2264\u2265\u00b1] ?(?=\d)|(?<=\d) ?%"),
    "unit dropped": re.compile(rf"(?<=\d)\s?({'|'.join(_UNITS)})(?!\w)"),
    "limit dropped": re.compile(
        r"(?<=\w),? (?:unless|except|until|without|only if|if|provided that|rarely|no longer)\b"
        r"[^.,;:()]*(?=[.!?]?\s*$)"
    ),
    "decimal point dropped": re.compile(r"(?<![\w.,])0?\.(?=\d)"),
}
_LIMITED = re.compile(r"\b(?:only|unless|if|until|except|without|or)\b")
_STOP_WORDS = frozenset(
    "that this these those with from have been were which their there they them then than when"
    " will would should could about into also such each both more most some only very other over"
    " under what where while must does because through during between your before after same"
    " here just even like many much well being thus".split()
)


class Falsified(NamedTuple):
    """A sentence and what became of it."""

    kind: str
    original: str
    text: str


def falsify_all(sentences: Sequence[str], *, count: int, seed: int) -> list[Falsified]:
    """Return ``count`` falsified quotes, of every kind about as many while there are some."""
    rng = Random(seed)  # noqa: S311  (falsifying needs no secret)
    names = sorted({name for text in sentences for name in _NAME.findall(text)})
    words = sorted({w for text in sentences for w in _WORD.findall(text)} - _STOP_WORDS)
    made = [each for text in sentences for each in _falsify(text, names, words, rng)]
    rng.shuffle(made)
    kinds = [[each for each in made if each.kind == kind] for kind in {e.kind: 0 for e in made}]
    taken = [each for each in chain.from_iterable(zip_longest(*kinds)) if each]
    return taken[:count]


def _falsify(
    text: str, names: Sequence[str], words: Sequence[str], rng: Random
) -> Iterator[Falsified]:
    """Change one place of the sentence, in each way that it allows."""

    def name(match: re.Match[str]) -> str:
        return rng.choice([each for each in names if each.lower() not in text.lower()] or ["Zorg"])

    def word(match: re.Match[str]) -> str:
        return rng.choice([each for each in words if each[:4] not in text.lower()])

    ways: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = {
        "number": (_NUMBER, lambda m: _other_number(m[0], rng)),
        "number word": (_NUMBER_WORDS, lambda m: rng.choice(["eleven", "ninety", "sixty"])),
        "negation dropped": (_NOT, lambda m: ""),
        "negation added": (_AUXILIARY, lambda m: f"{m[0]} not"),
        "name": (_NAME, name),
        "word": (_WORD, word),
        "direction": (_DIRECTION, lambda m: _DIRECTIONS[m[0]]),
        "unit": (_UNIT, lambda m: f" {_UNITS[m[1]]}"),
        **{kind: (pattern, lambda m: "") for kind, pattern in _DROPPED.items()},
    }
    for kind, (pattern, change) in ways.items():
        places = [m for m in pattern.finditer(text) if m[0] not in _STOP_WORDS or kind != "word"]
        if places and not (kind == "negation added" and _NOT.search(text)):
            at = rng.choice(places)
            changed = text[: at.start()] + change(at) + text[at.end() :]
            if changed != text:
                yield Falsified(kind, text, changed)


def _other_number(number: str, rng: Random) -> str:
    """Change one digit, not to a leading zero."""
    places = [at for at, char in enumerate(number) if char.isdigit()]
    at = rng.choice(places)
    digit = rng.choice([d for d in "123456789" if d != number[at]])
    return number[:at] + digit + number[at + 1 :]


def honest_variants(text: str) -> Iterator[str]:
    """Yield the sentence itself, and forms that say the same or less.

    Its last clause is left out where that sets no limit to the rest.
    """
    yield text
    yield text.lower()
    yield text.replace(" ", "  ")
    yield text.replace("'", "\u2019").replace(' "', " \u201c").replace('"', "\u201d")
    head, comma, tail = text.rpartition(", ")
    if comma and len(head.split()) > 4 and len(tail.split()) > 2 and not _LIMITED.search(tail):
        yield f"{head}."
