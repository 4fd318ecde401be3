"""Questions that compare: what they put side by side, and what is to be asked of each."""

import re
from typing import NamedTuple

from qa.proof.support.words import read_words
from qa.questions import MOST_PARTS

# Words of a side, and of a whole comparison: what is longer compares no two things by their names.
MOST_NAME_WORDS = 8
MOST_WORDS = 40

_PLEASE = r"(?:please |(?:can|could|would) you (?:please )?)?"
_LEAD = r"(?:(?:what (?:is|are)|what['\u2019]s|explain|describe|tell (?:me|us)|show (?:me|us)) )?"
_AND = r" ?, (?:and )?| and | & "
# How a comparison is put, its sides in brackets, and what stands between two of them.
_FORMS = tuple(
    (re.compile(form, re.IGNORECASE), re.compile(between, re.IGNORECASE))
    for form, between in (
        (rf"{_PLEASE}(?:compare|contrast)(?: and contrast)? (?P<sides>.+)", _AND),
        (rf"{_PLEASE}(?:compare|contrast) (?P<sides>.+)", r" (?:with|to|against) "),
        (
            rf"{_PLEASE}{_LEAD}(?:the |any )?(?:(?:main|key|biggest) )?"
            r"(?:difference|distinction|comparison)s? between (?P<sides>.+)",
            _AND,
        ),
        (r"what distinguishes (?P<sides>.+)", r" from "),
        (
            r"how (?:do|does|did|is|are|was|were) (?P<sides>.+)",
            r" (?:differ from|different (?:from|to|than)|compared? (?:to|with)) ",
        ),
        (r"how (?:do|did|are|were) (?P<sides>.+) (?:differ|different|compare)", _AND),
        (r"what (?:do|does) (?P<sides>.+) (?P<verb>stand for|mean)", _AND),
        (r"(?P<sides>.+)", r" (?:vs\.?|versus) "),
    )
)
# In what respect sides are compared: it holds for each.
_RESPECT = re.compile(r" (?:in|for|when|regarding|with regard to) .+\Z", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(?:what|which|whose|who|whom|when|where|why|how|is|are|was|were|do|does|did|can|could|should"
    r"|will|would|has|have|if|in|others?)\b",
    re.IGNORECASE,
)


class Side(NamedTuple):
    """A thing that is compared, and the question whose answer tells of it."""

    name: str
    question: str


def split_comparison(text: str) -> tuple[Side, ...]:
    """Return the sides of a question that compares, at most ``MOST_PARTS``; else none.

    "How does a page differ from a ticket?" has two: "What is a page?", "What is a ticket?".
    """
    words = text.rstrip(" .?!\n").split()
    asked = " ".join(words)
    for form, between in _FORMS if len(words) <= MOST_WORDS else ():
        found = form.fullmatch(asked)
        if found is None:
            continue
        names, respect = _split(found["sides"], between)
        if len(names) > 1 and all(map(_is_name, names)):
            verb = found.groupdict().get("verb")
            return tuple(Side(name, _ask(name, verb, respect)) for name in names)
    return ()


def _split(sides: str, between: re.Pattern[str]) -> tuple[list[str], str]:
    """The names of the sides, none where it is unclear where one ends, and the respect."""
    *first, last = between.split(sides)
    respect = _RESPECT.search(last)
    names = [*first, last[: respect.start()] if respect else last]
    names = [name.removeprefix("both ").removeprefix("between ").strip() for name in names]
    # "Search and replace and grep" may be two or three.
    is_clear = len(names) == 2 or between.pattern != _AND or "," in sides  # noqa: PLR2004
    is_apart = len({name.lower() for name in names}) == len(names) <= MOST_PARTS
    return (names if is_clear and is_apart else []), respect.group() if respect else ""


def _is_name(name: str) -> bool:
    is_short = len(name.split()) <= MOST_NAME_WORDS
    has_content = any(word.is_content for word in read_words(name))
    return is_short and has_content and not (_NO_NAME.match(name) or set("?!:;,") & set(name))


def _ask(name: str, verb: str | None, respect: str) -> str:
    if verb:
        return f"What does {name} {verb}{respect}?"
    return f"What {'are' if _is_plural(name) else 'is'} {name}{respect}?"


def _is_plural(name: str) -> bool:
    last = name.rsplit(maxsplit=1)[-1]
    is_singular = name.lower().startswith(("a ", "an ")) or last.isupper()
    return not is_singular and last.endswith("s") and not last.endswith(("ss", "us", "is"))
