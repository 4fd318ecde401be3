"""Questions for the documents that speak of something, and whether a text does."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from corpus.sentences import sentence_spans
from qa.proof.support.words import read_words
from qa.types import ClosePassage, Passage

_DOCUMENTS = r"(?:documents?|docs?|files?|pages?|manuals?|guides?|sources?|texts?)"
_SPEAKS = (
    r"(?:(?:talks?|speaks?|writes?) about|(?:is|are) about(?! to )|mentions?|covers?"
    r"|discuss(?:es)?|deals? with|refers? to|contains?(?: information (?:on|about))?"
    r"|says? (?:something|anything) (?:about|on)"
    r"|have (?:something|anything|information) (?:about|on))"
)
_THEM = rf"(?:of )?(?:(?:the|my|our|your|these) )?{_DOCUMENTS}(?: here)?"
# Which file has the passwords, or which source has iron, a text may say.
_HOLDS = r"(?:files?|sources?|texts?) contains? (?!information )"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:which|what) (?!{_HOLDS}){_THEM} {_SPEAKS} (?P<topic>.+)",
        rf"in (?:which|what) {_THEM} (?:is|are) (?P<topic>.+) (?:mentioned|covered|discussed)",
        rf"(?:please )?(?:list|find|show|give)(?: me| us)?(?: all)? {_THEM}"
        rf"(?: (?:that|which) {_SPEAKS}| about| on) (?P<topic>.+)",
        rf"(?:are|is) there (?:any|an?|some)?(?: other)? ?{_DOCUMENTS}"
        rf"(?: (?:that|which) {_SPEAKS}| about| on) (?P<topic>.+)",
    )
)
MOST_WORDS = 40


def find_topic_sought(text: str) -> str:
    """Return what documents are sought for ("Which documents mention X?"); empty for none."""
    words = text.rstrip(" .?!\n").split()
    if len(words) > MOST_WORDS:
        return ""
    found = (form.fullmatch(" ".join(words)) for form in _FORMS)
    return next((each["topic"] for each in found if each), "")


def speaks_of(text: str, topic: str) -> bool:
    """Tell whether a text has all telling words of a topic, in whatever form of theirs."""
    wanted = {word.stem for word in read_words(topic) if word.is_content}
    return bool(wanted) and wanted <= {word.stem for word in read_words(text)}


def mentions(passage: Passage, topic: str) -> bool:
    """Tell whether a passage, or what it stands under, speaks of a topic."""
    return speaks_of(f"{passage.place}\n{passage.text}", topic)


def choose_mentions(passages: Sequence[Passage], topic: str) -> list[Passage]:
    """Return the first passage of each document: those that speak of the topic, else of all."""
    speaking = [passage for passage in passages if mentions(passage, topic)]
    return _first_of_each(speaking or passages)


def point_to(close: ClosePassage, topic: str) -> ClosePassage:
    """Point at the first sentence that speaks of a topic, unless what was read there does."""
    if speaks_of(close.quote, topic):
        return close
    text, offset = close.passage.text, close.passage.start_char
    for start, end in sentence_spans(text):
        if speaks_of(text[start:end], topic) and not text.startswith("#", start):
            return replace(close, start_char=offset + start, end_char=offset + end)
    return close


def _first_of_each(passages: Iterable[Passage]) -> list[Passage]:
    first: dict[str, Passage] = {}
    for passage in passages:
        first.setdefault(passage.document_id, passage)
    return list(first.values())
