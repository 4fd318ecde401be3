"""Build training rows of a reader from a data set: questions with passages, answered or not."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from corpus.sentences import sentence_spans
from evaluation.datasets import DataSet, GoldDocument, GoldQuestion

MAX_CHARS = 900
# Weight of a question made unanswerable by a rule or another passage: some are still answerable.
MADE_WEIGHT = 0.5
OTHER_PASSAGE_SHARE = 2 / 3
NEGATION_SHARE = 0.25

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+)*")
_NUMBER = re.compile(r"\b\d[\d,]*\b")
_LOWER_WORD = re.compile(r"\b[a-z]+\b")
_PAIRS = (
    "first last|largest smallest|most least|before after|increase decrease|north south|east west|"
    "more less|highest lowest|early late|earliest latest|began ended|start stop|won lost|"
    "maximum minimum|major minor|high low|oldest newest|public private|always never|"
    "accepted rejected|allowed prohibited|supported opposed|inside outside|best worst|"
    "above below|created destroyed|increased decreased|longest shortest|internal external|"
    "upper lower|legal illegal|with without|many few"
)
OPPOSITES: Mapping[str, str] = {
    word: other
    for pair in _PAIRS.split("|")
    for word, other in (pair.split(), reversed(pair.split()))
}
NEGATIONS: Mapping[str, str] = {
    word: f"{word}n't" for word in ("did", "was", "is", "were", "does", "are", "do", "has")
}


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """A question with a passage, and the gold reading.

    Attributes:
        heading: Title of the passage's document.
        spans: Half-open character spans of the answer; empty if there is none, None if the span is
            unknown.
        weight: Weight in the loss.
    """

    question: str
    passage: str
    heading: str
    is_answered: bool
    spans: tuple[tuple[int, int], ...] | None
    weight: float = 1.0


def make_rows(dataset: DataSet, *, seed: int = 0) -> list[ReaderRow]:
    """Return the rows of a data set, deterministic for a seed.

    An answerable question is paired with the passage that contains the answer verbatim; also with a
    word replaced, and with another passage of the same title. An unanswerable one is paired with
    the most similar passage.
    """
    draw = Random(seed)  # noqa: S311  (no secret)
    passages = {document.id: _passages(document.text) for document in dataset.documents}
    documents = {document.id: document for document in dataset.documents}
    by_title: dict[str, list[str]] = defaultdict(list)
    for document in dataset.documents:
        by_title[_title(document)] += passages[document.id]
    names = _names_by_title(dataset.questions, documents)
    rows = []
    for question in dataset.questions:
        named = next((documents[key] for key in question.doc_ids if key in documents), None)
        row = _natural_row(question, named, passages[named.id]) if named else None
        if named and row:
            rows.append(row)
        if named and row and row.is_answered:
            title = _title(named)
            others = _without(by_title[title], question.answers)
            rows += _unanswered(row, names=names[title], others=others, draw=draw)
    return rows


def replace_word(question: str, names: Sequence[str], draw: Random) -> str | None:
    """Return the question with a name, number or word replaced, or None."""
    ways = [_replace_name, _replace_number, _replace_opposite]
    draw.shuffle(ways)
    if draw.random() < NEGATION_SHARE:
        ways.append(_negate)
    questions = (way(question, names, draw) for way in ways)
    return next((changed for changed in questions if changed is not None), None)


def _passages(text: str) -> list[str]:
    """Cut between sentences, at ``MAX_CHARS`` where possible."""
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if spans and end - spans[-1][0] <= MAX_CHARS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [text[start:end] for start, end in spans]


def _natural_row(
    question: GoldQuestion, document: GoldDocument, own: Sequence[str]
) -> ReaderRow | None:
    """Return the question beside the passage that answers it, or nearly, or None."""
    if not own:
        return None
    nearest = max(own, key=lambda passage: _shared_words(question.text, passage))
    plain = ReaderRow(question.text, nearest, document.title, is_answered=False, spans=())
    if not question.is_answerable:
        return plain
    for answer in filter(None, question.answers):
        holding = [passage for passage in own if answer in passage]
        if holding:
            passage = max(holding, key=lambda each: _shared_words(question.text, each))
            start = passage.index(answer)
            spans = ((start, start + len(answer)),)
            return replace(plain, passage=passage, is_answered=True, spans=spans)
    return replace(plain, is_answered=True, spans=None) if len(own) == 1 else None


def _unanswered(
    row: ReaderRow, *, names: Sequence[str], others: Sequence[str], draw: Random
) -> Iterator[ReaderRow]:
    made = replace(row, is_answered=False, spans=(), weight=MADE_WEIGHT)
    changed = replace_word(row.question, names, draw)
    if changed is not None:
        yield replace(made, question=changed)
    if others and draw.random() < OTHER_PASSAGE_SHARE:
        near = max(others, key=lambda passage: _shared_words(row.question, passage))
        yield replace(made, passage=near)


def _without(passages: Sequence[str], answers: Sequence[str]) -> list[str]:
    """Return the passages without an answer; none if no answer is known."""
    wanted = [answer.lower() for answer in answers if answer]
    if not wanted:
        return []
    return [
        passage for passage in passages if not any(answer in passage.lower() for answer in wanted)
    ]


def _names_by_title(
    questions: Sequence[GoldQuestion], documents: Mapping[str, GoldDocument]
) -> dict[str, list[str]]:
    names: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        for key in question.doc_ids:
            if key in documents:
                names[_title(documents[key])] |= set(_NAME.findall(question.text))
    return defaultdict(list, {title: sorted(title_names) for title, title_names in names.items()})


def _title(document: GoldDocument) -> str:
    return document.title or document.id


def _shared_words(left: str, right: str) -> int:
    return len(set(_WORD.findall(left.lower())) & set(_WORD.findall(right.lower())))


def _replace_name(question: str, names: Sequence[str], draw: Random) -> str | None:
    matches = list(_NAME.finditer(question))
    if not matches:
        return None
    old = draw.choice(matches)
    length = len(old.group().split())
    others = [
        name
        for name in names
        if name.lower() not in question.lower()
        and old.group() not in name
        and abs(len(name.split()) - length) <= 1
    ]
    return _put(question, old, draw.choice(others)) if others else None


def _replace_number(question: str, names: Sequence[str], draw: Random) -> str | None:
    matches = list(_NUMBER.finditer(question))
    if not matches:
        return None
    old = draw.choice(matches)
    value = int(old.group().replace(",", ""))
    return _put(question, old, str(value + draw.randint(1, max(3, value // 20))))


def _replace_opposite(question: str, names: Sequence[str], draw: Random) -> str | None:
    return _replace_by(question, OPPOSITES, draw)


def _negate(question: str, names: Sequence[str], draw: Random) -> str | None:
    return _replace_by(question, NEGATIONS, draw)


def _replace_by(question: str, table: Mapping[str, str], draw: Random) -> str | None:
    matches = [match for match in _LOWER_WORD.finditer(question) if match.group() in table]
    if not matches:
        return None
    old = draw.choice(matches)
    return _put(question, old, table[old.group()])


def _put(question: str, old: re.Match[str], new: str) -> str:
    return question[: old.start()] + new + question[old.end() :]
