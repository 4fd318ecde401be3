"""Find the names in a question that the quoted documents are not about.

A reader finds the answer to "How long is a shift at Acme?" in the manual of any other company.
A false alarm is worse than a miss: only what is written like a name counts, a document is about
each name that a retrieved passage of it has, and one such name of the question is enough. How it
was chosen: benchmarks/results/answers.md.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from corpus.loaders.metadata import full_title
from corpus.sentences import sentence_spans
from qa.grounding.support.names import Evidence, find_unknown_names, mark_first, read_evidence
from qa.grounding.support.words import FUNCTION_WORDS, MONTHS, Word, read_words
from qa.types import Passage

_TOKEN = re.compile(r"[^\W_](?:[\w&]|[-.](?=\w))*")
# After the first word of a sentence, if it is a name: a genitive or a colon.
_SET_OFF = re.compile(r"['\u2019]s?(?!\w)|:\s")
# A noun in the singular without an article: a name also in lower case.
_BARE = re.compile(
    r"\bdoes (?!(?:(?:any|every|some|no)(?:one|body|thing)?|one|each|another)\b)([a-z][\w-]*)"
)
# A year or version.
_NUMBER = re.compile(r"(?<![\w.])(?:(?:19|20)\d\d|\d+\.\d+)(?![\w.]\w)")
# Characters of a word that may stand for a longer one.
MIN_SHORT_FORM = 4
# Words within a name: "Foundation for Public Code".
_LINKS = frozenset("of for de du der von van".split())
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
# They have a capital, and are no subject of a document.
_NO_NAMES = FUNCTION_WORDS | {*MONTHS, *_DAYS, "let", "ok"}


class Name(NamedTuple):
    """A name as a question spells it, and its words."""

    text: str
    words: tuple[Word, ...]


def find_other_subjects(
    question: str, quoted: Sequence[Passage], retrieved: Sequence[Passage]
) -> tuple[str, ...]:
    """Return the names in a question that no quoted document is about.

    Args:
        quoted: The passages that the answer cites.
        retrieved: The passages that were found for the question.
    """
    names, numbers = read_names(question), read_numbers(question)
    bare = _BARE.search(question)
    is_selected = any(passage.is_selected for passage in quoted)
    if not quoted or is_selected or not (names or numbers or bare):
        return ()
    ids = {passage.document_id for passage in quoted}
    own = [*quoted, *(passage for passage in retrieved if passage.document_id in ids)]
    said = _read(map(_whole_text, own)).words
    lacking = {
        name: unknown
        for name in (*names, *numbers)
        if (unknown := find_unknown_names(name.words, said))
    }
    if not (lacking or bare):
        return ()
    everything = _read(map(_whole_text, retrieved))
    if bare:
        # A word in lower case may be a name if no passage has it.
        words = mark_first(read_words(bare[1]), everything)
        is_known = any(word.stem in everything.stems for word in words)
        if words and words[0].is_name and not is_known:
            names.append(_name(bare[1]))
            lacking[names[-1]] = list(names[-1].words)
    title = _read(map(_title, own)).words
    # An acronym such as IP is the subject only if the title has it.
    is_about_one = any(
        (name not in lacking and not name.text.isupper())
        or len(find_unknown_names(name.words, title)) < len(name.words)
        for name in names
    )
    others = _read(_title(passage) for passage in retrieved if passage.document_id not in ids)
    return tuple(
        dict.fromkeys(
            name.text
            for name, unknown in lacking.items()
            if _is_most(unknown, name, everything)
            if (name in names and not is_about_one)
            or all(word.stem in others.stems for word in unknown)
        )
    )


def read_names(question: str) -> list[Name]:
    """Return the names in a question, each of adjacent words with capitals."""
    return [
        _name(spelling)
        for start, end in sentence_spans(question)
        for spelling in _spellings(question[start:end])
    ]


def read_numbers(question: str) -> list[Name]:
    return [_name(match[0]) for match in _NUMBER.finditer(question)]


def _name(text: str) -> Name:
    words = read_words(_without_accents(text))
    return Name(text, tuple(word._replace(is_name=True) for word in words if word.is_content))


def _spellings(sentence: str) -> Iterator[str]:
    """Yield the names of a sentence as they are spelled, without genitives."""
    tokens = list(_TOKEN.finditer(sentence))
    are_names = [_is_name(sentence, token, is_first=not at) for at, token in enumerate(tokens)]
    start, end = 0, -1
    for at, token in enumerate(tokens):
        is_next = sentence[end : token.start()] == " "
        is_link = token[0] in _LINKS and any(are_names[at + 1 : at + 2])
        if is_next and (are_names[at] or is_link):
            end = token.end()
            continue
        if end > 0:
            yield sentence[start:end]
        start, end = (token.start(), token.end()) if are_names[at] else (0, -1)
    if end > 0:
        yield sentence[start:end]


def _is_name(sentence: str, token: re.Match[str], *, is_first: bool) -> bool:
    text = token[0]
    if text.lower() in _NO_NAMES or not text[0].isalpha():
        return False
    if is_first and not any(char.isupper() or char.isdigit() for char in text[1:]):
        return text[0].isupper() and _SET_OFF.match(sentence, token.end()) is not None
    return any(char.isupper() for char in text)


def _is_most(unknown: Sequence[Word], name: Name, evidence: Evidence) -> bool:
    """Return whether these are most words of a name, leaving out those that are common.

    A word that begins a longer one of the evidence is not unknown: "Corona" for "coronavirus".
    """
    lengths = {len(word.text) for word in unknown if len(word.text) >= MIN_SHORT_FORM}
    long = {stem[:length] for stem in evidence.stems for length in lengths if len(stem) > length}
    rare = [word for word in name.words if word.stem not in evidence.plain]
    counted = [word for word in unknown if word.text not in long and (word in rare or not rare)]
    return 2 * len(counted) > len(rare)


def _whole_text(passage: Passage) -> str:
    return f"{passage.source_uri}\n\n{passage.breadcrumb}\n\n{passage.text}"


def _title(passage: Passage) -> str:
    return full_title(passage.title, file_words=passage.file_words)


def _read(texts: Iterable[str]) -> Evidence:
    """Read each different text, without accents."""
    return read_evidence(
        _without_accents(text[start:end])
        for text in dict.fromkeys(texts)
        for start, end in sentence_spans(text)
    )


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))
