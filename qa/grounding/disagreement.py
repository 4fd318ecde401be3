"""Find the passages that answer a question with another value than the one that is quoted.

A false alarm is worse than a miss: two sentences count as saying otherwise only where they are
about the same matter, word for word or nearly, and what the reader marked in them is of one kind
and differs: numbers and dates, names, or opposite directions. What tells that they are about
something else, another name or number beside the marked words, ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property

from corpus.sentences import sentence_spans
from qa.grounding.confidence import gather_evidence, likeliest_first
from qa.grounding.support.numbers import Number, read_numbers
from qa.grounding.support.polarity import is_condition, points_the_other_way
from qa.grounding.support.words import MONTHS, Word, read_words, stem
from qa.types import Citation, ClosePassage, Evidence, Passage, Reading

# With what follows no answered question of squad2 or of the manuals raises a false alarm, and most
# copies with one value changed are found: docs/decisions/0024.
# Share of the longer sentence's words that both have in one order, from which on one is a copy.
COPIED_FROM = 0.75
# Share of the shorter one's content words beside the marked ones that both have, from which on
# they are about one matter; of fewer such words than this, the question must have one too.
SHARED_FROM = 0.5
SHARED_LEAST = 2
# Or the share of what is asked for that both have beside the marked words.
ASKED_FROM = 0.6
# Words of a question that ask for a value, and are not what it is about.
_ASKING = frozenset(map(stem, "much many long often old high far late name version".split()))
# A name is short: more marked words are a description, of which there may be several true ones.
NAME_WORDS_MOST = 6
# From here on, and with a fraction, a number may be another one rounded.
ROUNDED_FROM = 10_000
# How often and how long, where no number says it: "once a week".
PERIODS = frozenset(
    map(stem, "minute hour day week month quarter year hourly daily weekly monthly yearly".split())
)


@dataclass(frozen=True)
class Statement:
    """The sentences of a passage that the marked words stand in, and those words."""

    passage: Passage
    reading: Reading
    start: int
    end: int

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return read_words(self.passage.text[self.start : self.end])

    @cached_property
    def value(self) -> tuple[Word, ...]:
        """The marked words, as they stand in the sentence."""
        text, reading = self.passage.text, self.reading
        before = len(read_words(text[self.start : max(self.start, reading.start)]))
        return self.words[before : before + len(read_words(text[reading.start : reading.end]))]

    @cached_property
    def around(self) -> tuple[Word, ...]:
        """The words of the sentences beside the marked ones."""
        text, reading = self.passage.text, self.reading
        before = read_words(text[self.start : max(self.start, reading.start)])
        return before + read_words(text[min(self.end, reading.end) : self.end])

    def show(self, chance: float) -> ClosePassage:
        offset = self.passage.start_char
        return ClosePassage(self.passage, offset + self.start, offset + self.end, chance)


def find_disagreement(
    question: str,
    citations: Sequence[Citation],
    passages: Sequence[Passage],
    chances: Mapping[str, float],
    *,
    answer_from: float,
) -> tuple[ClosePassage, ...]:
    """Return the passages of other documents that state another value, newest first.

    Those of one day, and behind all others those of which none is known, stay in their order.

    Args:
        chances: That a passage answers, were it the best one found, by its chunk.
        answer_from: A passage with less is not heard.
    """
    quoted = [stated for citation in citations if (stated := _read_quoted(citation))]
    cited = {citation.passage.chunk_id for citation in citations}
    others = [passage for passage in passages if passage.chunk_id not in cited]
    return newest_first(
        find_disagreeing(question, quoted, others, chances, answer_from=answer_from)
    )


def newest_first(found: Iterable[ClosePassage]) -> tuple[ClosePassage, ...]:
    return tuple(sorted(found, key=lambda close: close.passage.document_date, reverse=True))


def find_disagreeing(
    question: str,
    quoted: Sequence[Statement],
    passages: Iterable[Passage],
    chances: Mapping[str, float],
    *,
    answer_from: float,
) -> list[ClosePassage]:
    """Return those of the passages that disagree with what is quoted, in their order."""
    others = [
        stated
        for passage in passages
        if chances.get(passage.chunk_id, 0.0) >= answer_from
        if (stated := read_statement(passage)) is not None
    ]
    return [
        other.show(chances[other.passage.chunk_id])
        for other in others
        if any(disagree(question, each, other) for each in quoted)
    ]


def disagree(question: str, one: Statement, other: Statement) -> bool:
    """Tell whether two statements give different answers to the same question."""
    if one.passage.document_id == other.passage.document_id or one.words == other.words:
        return False
    if _names_only_one(question, one, other) or _is_other_matter(one, other):
        return False
    if _is_copy(one, other):
        return _differs(one, other, is_copy=True) or _turns(one, other)
    return _shares_matter(question, one, other) and _differs(one, other, is_copy=False)


def _read_quoted(citation: Citation) -> Statement | None:
    """What an answer quotes, where its marked words are among it."""
    stated = read_statement(citation.passage)
    if stated is None:
        return None
    offset = citation.passage.start_char
    start, end = stated.reading.start + offset, stated.reading.end + offset
    return stated if citation.start_char <= start and end <= citation.end_char else None


def read_statement(passage: Passage) -> Statement | None:
    """Return what a passage answers with; None where nothing is marked in it."""
    reading = passage.reading
    if reading is None or reading.start >= reading.end or passage.is_selected:
        return None
    touched = [
        span
        for span in sentence_spans(passage.text)
        if span[1] > reading.start and span[0] < reading.end
    ]
    return Statement(passage, reading, touched[0][0], touched[-1][1]) if touched else None


def _names_only_one(question: str, one: Statement, other: Statement) -> bool:
    """Tell whether the question names what one document has and the other does not."""
    named = {word.stem for word in read_words(question) if word.is_name or word.is_number}
    has, other_has = (
        named & {word.stem for word in read_words(f"{each.passage.place}\n{each.passage.text}")}
        for each in (one, other)
    )
    return has != other_has


def _is_other_matter(one: Statement, other: Statement) -> bool:
    """Tell whether each has a name, or each a number, beside its value that the other has not."""
    return any(
        _marks(one.around, by) - _marks(other.words, by)
        and _marks(other.around, by) - _marks(one.words, by)
        for by in ("is_name", "is_number")
    )


def _marks(words: Sequence[Word], by: str) -> set[str]:
    return {word.stem for word in words if getattr(word, by)}


def _is_copy(one: Statement, other: Statement) -> bool:
    """Tell whether the sentences are the same but for a few words."""
    stems, others = ([word.stem for word in each.words] for each in (one, other))
    matcher = SequenceMatcher(None, stems, others, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    return same >= COPIED_FROM * max(len(stems), len(others))


def _shares_matter(question: str, one: Statement, other: Statement) -> bool:
    """Tell whether the sentences share much, or both have the same of what is asked."""
    matter, other_matter = (_matter(each.around) for each in (one, other))
    asked, shared = _matter(read_words(question)), matter & other_matter
    is_alike = len(shared) >= SHARED_FROM * min(len(matter), len(other_matter))
    if is_alike and (len(shared) >= SHARED_LEAST or shared & asked):
        return True
    told = asked & shared
    return told == asked & (matter | other_matter) and len(told) >= max(1, ASKED_FROM * len(asked))


def _matter(words: Sequence[Word]) -> set[str]:
    """What is spoken of: content words that are no numbers and do not ask for one."""
    content = (word for word in words if word.is_content and not word.is_number)
    return {word.stem for word in content} - _ASKING


def _turns(one: Statement, other: Statement) -> bool:
    """Tell whether a copy says the opposite."""
    is_held = any(is_condition(word) for word in (*one.words, *other.words))
    return not is_held and points_the_other_way(one.words, other.words)


def _differs(one: Statement, other: Statement, *, is_copy: bool) -> bool:
    """Tell whether the values are of one kind and not the same."""
    numbers, others = _numbers(one), _numbers(other)
    if numbers and others:
        return _differ_as_numbers(one, other, numbers, others, is_copy=is_copy)
    if numbers or others:
        return False
    return _differ_in_a_word(one, other) if is_copy else _differ_as_names(one, other)


def _numbers(stated: Statement) -> list[Number]:
    """The numbers that are marked, but for those of "once a week"."""
    numbers = read_numbers(stated.value)
    is_period = any(word.stem in PERIODS for word in stated.value)
    return [] if is_period and all(number.is_loose for number in numbers) else numbers


def _differ_as_numbers(
    one: Statement,
    other: Statement,
    numbers: Sequence[Number],
    others: Sequence[Number],
    *,
    is_copy: bool,
) -> bool:
    if not _have_one_unit(numbers, others):
        return False
    values, other_values = {n.value for n in numbers}, {n.value for n in others}
    months, other_months = _months(one.value), _months(other.value)
    if months and other_months and months.isdisjoint(other_months):
        return True
    if values <= other_values or other_values <= values:
        return False
    return is_copy or not any(_may_be_rounded(a, b) for a in values for b in other_values)


def _have_one_unit(numbers: Sequence[Number], others: Sequence[Number]) -> bool:
    units, other_units = ({number.unit for number in each} - {""} for each in (numbers, others))
    return not units or not other_units or bool(units & other_units)


def _months(words: Sequence[Word]) -> set[str]:
    named = [word.text for word in words if word.is_name and len(word.text) >= 3]  # noqa: PLR2004
    return {month for month in MONTHS for name in named if month.startswith(name)}


def _may_be_rounded(value: Decimal, other: Decimal) -> bool:
    """Tell whether the one with more digits is the other, when it is rounded to its digits."""
    precise, rounded = sorted((value, other), key=lambda each: -len(_digits(each)))
    is_whole = precise == precise.to_integral_value()
    if is_whole and abs(precise) < ROUNDED_FROM:
        return False
    kept = len(_digits(rounded))
    return Decimal(f"{precise:.{kept - 1}e}") == rounded


def _digits(value: Decimal) -> str:
    return "".join(map(str, value.normalize().as_tuple().digits))


def _differ_in_a_word(one: Statement, other: Statement) -> bool:
    """Tell whether in a copy a name, or a length of time, gave way to another one."""
    left = _content(one.value).keys() - {word.stem for word in other.words}
    right = _content(other.value).keys() - {word.stem for word in one.words}
    if left & PERIODS and right & PERIODS:
        return True
    values = [word for word in one.value if word.stem in left]
    others = [word for word in other.value if word.stem in right]
    are_named = _is_named(one, values) and _is_named(other, others)
    return are_named and not _abbreviates(values, others)


def _is_named(stated: Statement, words: Sequence[Word]) -> bool:
    """Tell a name, also where it begins a sentence."""
    first = stated.passage.text[stated.reading.start]
    begins = bool(words) and words[0] == stated.value[0] and first.isupper()
    return begins or _has_name(words)


def _differ_as_names(one: Statement, other: Statement) -> bool:
    """Tell whether each is a name, and that one is nowhere in the other's sentence."""
    if max(len(one.value), len(other.value)) > NAME_WORDS_MOST:
        return False
    names, other_names = _content(one.value), _content(other.value)
    if names.keys() & {word.stem for word in other.words}:
        return False
    if other_names.keys() & {word.stem for word in one.words}:
        return False
    values, others = list(names.values()), list(other_names.values())
    return _has_name(values) and _has_name(others) and not _abbreviates(values, others)


def _content(words: Sequence[Word]) -> dict[str, Word]:
    return {word.stem: word for word in words if word.is_content}


def _has_name(words: Sequence[Word]) -> bool:
    return any(word.is_name for word in words)


def _abbreviates(names: Sequence[Word], others: Sequence[Word]) -> bool:
    """Tell a name from its first letters."""
    short, long = sorted((names, others), key=len)
    return len(short) == 1 and short[0].text == "".join(word.text[0] for word in long)


def prefer_newest(
    question: str,
    passages: Sequence[Passage],
    *,
    estimate: Callable[[Evidence], float],
    answer_from: float,
) -> list[Passage]:
    """Put the newest passage that answers otherwise than the likeliest one before that.

    What is newer still and says as the likeliest one does, or a third thing, comes there instead:
    an answer gives way to newer ones as long as there are any. It gets the score of the one whose
    place it takes: both are about one matter, so that how near that passage comes to the question
    tells of both. It stays where it is unless it would be sure enough there, and its document is
    known to be newer.

    Args:
        passages: With their readings.
        estimate: The chance that a passage answers.
        answer_from: With less neither is an answer.
    """
    read = [passage for passage, _ in likeliest_first(passages)]
    if not any(_is_newer(each, read[0]) for each in read):
        return list(passages)
    evidence = gather_evidence(passages)
    behind = evidence[read[0].chunk_id].behind
    chances = {chunk: estimate(replace(each, behind=behind)) for chunk, each in evidence.items()}
    if chances[read[0].chunk_id] < answer_from:
        return list(passages)
    newest = read[0]
    while stated := read_statement(newest):
        newer = [each for each in read if _is_newer(each, newest)]
        found = find_disagreeing(question, [stated], newer, chances, answer_from=answer_from)
        if not found:
            break
        newest = max((close.passage for close in found), key=lambda each: each.document_date)
    return list(passages) if newest is read[0] else _move_before(passages, newest, read[0])


def describe_disagreement(dates: Iterable[str]) -> str:
    """Return what stands before the quotes that say otherwise.

    Args:
        dates: Of what the answer quotes.
    """
    known = " and ".join(filter(None, dict.fromkeys(dates)))
    return f"Your documents disagree{f' (the answer is of {known})' if known else ''}:"


def _is_newer(passage: Passage, other: Passage) -> bool:
    """Tell whether its day is after another's; one within a year or month that is all is not."""
    known = min(len(passage.document_date), len(other.document_date))
    return passage.document_date[:known] > other.document_date[:known]


def _move_before(passages: Sequence[Passage], moved: Passage, other: Passage) -> list[Passage]:
    rest = [each for each in passages if each.chunk_id != moved.chunk_id]
    place = rest.index(other)
    return [*rest[:place], replace(moved, score=other.score, is_newest=True), *rest[place:]]
