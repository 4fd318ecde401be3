"""Find passages that answer a question with a different value than the quoted one.

A false alarm is worse than a miss. Two sentences disagree only if they are about the same matter,
almost word for word, and the words that the reader marked are of one kind and differ: numbers and
dates, names, or opposite directions. Another name or number beside the marked words shows that they
are about something else. Where both state a date or quantity of one kind, though, and both
are sure to answer, the question itself vouches for the matter: only its subject is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property
from itertools import combinations

from qa.grounding.confidence import MAX_AHEAD, gather_evidence, likeliest_first
from qa.grounding.support.numbers import Number, read_numbers
from qa.grounding.support.polarity import is_condition, points_the_other_way
from qa.grounding.support.words import MONTHS, Word, read_words, stem
from qa.segments import sentences_around
from qa.types import Citation, ClosePassage, Evidence, Passage, Reading

# With what follows no answered question of squad2 or of the manuals raises a false alarm, and most
# copies with one value changed are found: docs/decisions/0024.
# Share of the longer sentence's words that both have in one order, from which on one is a copy.
COPIED_FROM = 0.75
# Share of the shorter one's content words beside the marked ones that both have, from which on
# they are about one matter; of fewer such words than this, the question must have one too.
SHARED_FROM = 0.5
MIN_SHARED = 2
# Or the share of what is asked for that both have beside the marked words.
ASKED_FROM = 0.6
# Words of a question that ask for a value, and are not what it is about.
_ASKING = frozenset(map(stem, "much many long often old high far late name version".split()))
# A name is short: more marked words are a description, of which there may be several true ones.
MAX_NAME_WORDS = 6
# From here on, and with a fraction, a number may be another one rounded.
ROUNDED_FROM = 10_000
# Share of the names in the question that two passages must both have, for values of one kind to be
# those of one thing.
MOST_NAMES = 0.5
# A number without a unit that may be a year.
YEARS = range(1000, 2101)
# How often and how long, where no number says it: "once a week".
PERIODS = frozenset(
    map(stem, "minute hour day week month quarter year hourly daily weekly monthly yearly".split())
)


@dataclass(frozen=True)
class MarkedSentences:
    """The sentences of a passage that contain the marked words, and those words."""

    passage: Passage
    reading: Reading
    start: int
    end: int

    @cached_property
    def words(self) -> tuple[Word, ...]:
        return read_words(self.passage.text[self.start : self.end])

    @cached_property
    def value(self) -> tuple[Word, ...]:
        text, reading = self.passage.text, self.reading
        before = len(read_words(text[self.start : max(self.start, reading.start)]))
        return self.words[before : before + len(read_words(text[reading.start : reading.end]))]

    @cached_property
    def around(self) -> tuple[Word, ...]:
        """Return the words beside the marked ones."""
        text, reading = self.passage.text, self.reading
        before = read_words(text[self.start : max(self.start, reading.start)])
        return before + read_words(text[min(self.end, reading.end) : self.end])

    def show(self, chance: float) -> ClosePassage:
        offset = self.passage.start_char
        return ClosePassage(self.passage, offset + self.start, offset + self.end, chance)


def mark_disagreeing(
    question: str,
    passages: Sequence[Passage],
    *,
    estimate: Callable[[Evidence], float],
    answer_from: float,
) -> list[Passage]:
    """Return the passages in their order, each with the chunks of those that disagree with it.

    Both must be sure enough to answer, if they ranked first and were no rivals.

    Args:
        passages: With their readings.
        estimate: Returns the probability that a passage answers.
        answer_from: Lowest probability of an answer.
    """
    # Most are unsure however far ahead they would be: to compare all takes milliseconds.
    statements = [
        found
        for passage in passages
        if (found := read_statement(passage))
        and estimate(Evidence(found.reading.score, 0.0, MAX_AHEAD)) >= answer_from
    ]
    pairs = [
        (one.passage.chunk_id, other.passage.chunk_id)
        for one, other in combinations(statements, 2)
        if disagree(question, one, other)
    ]
    if not pairs:
        return list(passages)
    evidence = gather_evidence(_mark(passages, pairs))
    sure = {
        chunk
        for chunk, each in evidence.items()
        if estimate(replace(each, behind=0.0)) >= answer_from
    }
    return _mark(passages, [pair for pair in pairs if sure.issuperset(pair)])


def _mark(passages: Sequence[Passage], pairs: Iterable[tuple[str, str]]) -> list[Passage]:
    others: dict[str, list[str]] = {passage.chunk_id: [] for passage in passages}
    for one, other in pairs:
        others[one].append(other)
        others[other].append(one)
    return [replace(each, disagrees_with=tuple(others[each.chunk_id])) for each in passages]


def find_disagreement(
    citations: Sequence[Citation], passages: Sequence[Passage], chances: Mapping[str, float]
) -> tuple[ClosePassage, ...]:
    """Return the passages of other documents or messages that state another value, newest first.

    Passages with the same date keep their order, and those without a date come last.

    Args:
        passages: As ``mark_disagreeing`` returns them.
        chances: By chunk id, the probability that the passage answers.
    """
    disagreeing = set[str]()
    for citation in citations:
        reading, offset = citation.passage.reading, citation.passage.start_char
        if (
            reading is not None  # its marked words are quoted
            and citation.start_char <= reading.start + offset
            and reading.end + offset <= citation.end_char
        ):
            disagreeing.update(citation.passage.disagrees_with)
    disagreeing -= {citation.passage.chunk_id for citation in citations}
    return newest_first(
        sentences.show(chances[passage.chunk_id])
        for passage in passages
        if passage.chunk_id in disagreeing and (sentences := read_statement(passage))
    )


def newest_first(passages: Iterable[ClosePassage]) -> tuple[ClosePassage, ...]:
    return tuple(sorted(passages, key=lambda close: close.passage.document_date, reverse=True))


def disagree(question: str, one: MarkedSentences, other: MarkedSentences) -> bool:
    """Return whether two statements give different answers to the same question.

    They are of two documents, or of two messages of a thread.
    """
    passage, rival = one.passage, other.passage
    is_one_message = not passage.message_day or passage.heading_path[:2] == rival.heading_path[:2]
    is_one_text = passage.document_id == rival.document_id and is_one_message
    if is_one_text or one.words == other.words:
        return False
    named = {word for word in read_words(question) if word.is_name or word.is_number}
    has, other_has = (_named_in(each, named) for each in (one, other))
    kind = _kind_of_value(question, one)
    if (
        kind
        and kind == _kind_of_value(question, other)
        and len(has & other_has) > MOST_NAMES * len(named)
        and not any(word.is_number for word in has ^ other_has)
    ):
        return _differs(one, other, is_copy=False)
    # The question names what only one has; or each has a name, or each a number, that the other
    # lacks.
    if has != other_has or any(
        _marks(one.around, by) - _marks(other.words, by)
        and _marks(other.around, by) - _marks(one.words, by)
        for by in ("is_name", "is_number")
    ):
        return False
    # A copy has the same words except for a few.
    stems, others = ([word.stem for word in each.words] for each in (one, other))
    matcher = SequenceMatcher(None, stems, others, autojunk=False)
    same = sum(block.size for block in matcher.get_matching_blocks())
    if same >= COPIED_FROM * max(len(stems), len(others)):
        is_held = any(is_condition(word) for word in (*one.words, *other.words))
        is_turned = not is_held and points_the_other_way(one.words, other.words)
        return is_turned or _differs(one, other, is_copy=True)
    return _shares_matter(question, one, other) and _differs(one, other, is_copy=False)


def read_statement(passage: Passage) -> MarkedSentences | None:
    """Return the marked sentences of a passage; None if nothing is marked."""
    reading = passage.reading
    if reading is None or reading.start >= reading.end or passage.is_selected:
        return None
    around = sentences_around(passage.text, reading.start, reading.end)
    return MarkedSentences(passage, reading, *around) if around else None


def _kind_of_value(question: str, sentences: MarkedSentences) -> tuple[object, ...]:
    """Return which parts a date has, or the units of a quantity; empty for other values.

    A number without a unit is a count if the question asks how many, else it may be a year. What a
    value in a table is of, its row says.
    """
    if sentences.passage.text[sentences.start] == "|":
        return ()
    numbers = _numbers(sentences)
    units = tuple(dict.fromkeys(number.unit for number in numbers if number.unit))
    if units or not numbers:
        return units
    are_years = [number.value in YEARS for number in numbers]
    if _months(sentences.value):
        return "date", any(are_years), not all(are_years)
    if len(numbers) > 1:
        return ()
    if "how many" in question.casefold():
        return ("count",)
    return ("year",) if all(are_years) else ()


def _named_in(sentences: MarkedSentences, named: set[Word]) -> set[Word]:
    """Return those names and numbers that a passage has."""
    passage = sentences.passage
    stems = {word.stem for word in read_words(f"{passage.breadcrumb}\n{passage.text}")}
    return {word for word in named if word.stem in stems}


def _marks(words: Sequence[Word], by: str) -> set[str]:
    return {word.stem for word in words if getattr(word, by)}


def _shares_matter(question: str, one: MarkedSentences, other: MarkedSentences) -> bool:
    """Return whether the sentences share many words, or the words of the question."""
    matter, other_matter = (_matter(each.around) for each in (one, other))
    topic, shared = _matter(read_words(question)), matter & other_matter
    is_alike = len(shared) >= SHARED_FROM * min(len(matter), len(other_matter))
    if is_alike and (len(shared) >= MIN_SHARED or shared & topic):
        return True
    shared_topic = topic & shared
    return shared_topic == topic & (matter | other_matter) and len(shared_topic) >= max(
        1, ASKED_FROM * len(topic)
    )


def _matter(words: Sequence[Word]) -> set[str]:
    """Return the content words that are no numbers and do not ask for one."""
    content = (word for word in words if word.is_content and not word.is_number)
    return {word.stem for word in content} - _ASKING


def _differs(one: MarkedSentences, other: MarkedSentences, *, is_copy: bool) -> bool:
    """Return whether the values are of one kind and not equal."""
    numbers, others = _numbers(one), _numbers(other)
    if numbers and others:
        units, other_units = ({number.unit for number in each} - {""} for each in (numbers, others))
        if units and other_units and units.isdisjoint(other_units):
            return False
        if not is_copy and bool(units) != bool(other_units):
            return False
        values, other_values = {n.value for n in numbers}, {n.value for n in others}
        months, other_months = _months(one.value), _months(other.value)
        if months and other_months and months.isdisjoint(other_months):
            return True
        if values <= other_values or other_values <= values:
            return False
        return is_copy or not any(_may_be_rounded(a, b) for a in values for b in other_values)
    if numbers or others:
        return False
    return _differ_in_a_word(one, other) if is_copy else _differ_as_names(one, other)


def _numbers(sentences: MarkedSentences) -> list[Number]:
    """Return the marked numbers, except those of "once a week"."""
    numbers = read_numbers(sentences.value)
    is_period = any(word.stem in PERIODS for word in sentences.value)
    return [] if is_period and all(number.is_loose for number in numbers) else numbers


def _months(words: Sequence[Word]) -> set[str]:
    named = [word.text for word in words if word.is_name and len(word.text) >= 3]  # noqa: PLR2004
    return {month for month in MONTHS for name in named if month.startswith(name)}


def _may_be_rounded(value: Decimal, other: Decimal) -> bool:
    """Return whether the number with more digits rounds to the other."""
    precise, rounded = sorted((value, other), key=lambda each: -len(_digits(each)))
    is_whole = precise == precise.to_integral_value()
    if is_whole and abs(precise) < ROUNDED_FROM:
        return False
    digit_count = len(_digits(rounded))
    return Decimal(f"{precise:.{digit_count - 1}e}") == rounded


def _digits(value: Decimal) -> str:
    return "".join(map(str, value.normalize().as_tuple().digits))


def _differ_in_a_word(one: MarkedSentences, other: MarkedSentences) -> bool:
    """Return whether a copy has another name or another length of time."""
    left = _content(one.value).keys() - {word.stem for word in other.words}
    right = _content(other.value).keys() - {word.stem for word in one.words}
    if left & PERIODS and right & PERIODS:
        return True
    values = [word for word in one.value if word.stem in left]
    others = [word for word in other.value if word.stem in right]
    are_named = _is_named(one, values) and _is_named(other, others)
    return are_named and not _abbreviates(values, others)


def _is_named(sentences: MarkedSentences, words: Sequence[Word]) -> bool:
    """Return whether a word is a name, also at the start of a sentence."""
    first = sentences.passage.text[sentences.reading.start]
    begins = bool(words) and words[0] == sentences.value[0] and first.isupper()
    return begins or _has_name(words)


def _differ_as_names(one: MarkedSentences, other: MarkedSentences) -> bool:
    """Return whether both are names and one is missing from the other's sentence."""
    if max(len(one.value), len(other.value)) > MAX_NAME_WORDS:
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
    short, long = sorted((names, others), key=len)
    return len(short) == 1 and short[0].text == "".join(word.text[0] for word in long)


def prefer_newest(passages: Sequence[Passage]) -> list[Passage]:
    """Move the newest passage that disagrees with the likeliest one before it.

    A still newer passage that agrees with the likeliest, or states a third value, is moved instead.
    The moved passage gets the score of the one it replaces, since both are about one matter. It is
    moved only if its document is known to be newer.

    Args:
        passages: As ``mark_disagreeing`` returns them.
    """
    read = [passage for passage, _ in likeliest_first(passages)]
    newest = likeliest = next(iter(read), None)
    while newest and (
        newer := [
            each
            for each in read
            if each.chunk_id in newest.disagrees_with and _is_newer(each, newest)
        ]
    ):
        newest = max(newer, key=lambda each: each.document_date)
    if newest is None or likeliest is None or newest is likeliest:
        return list(passages)
    rest = [each for each in passages if each.chunk_id != newest.chunk_id]
    place = rest.index(likeliest)
    moved = replace(newest, score=likeliest.score, is_newest=True)
    return [*rest[:place], moved, *rest[place:]]


def describe_disagreement(dates: Iterable[str]) -> str:
    """Return the sentence that introduces disagreeing quotes.

    Args:
        dates: Of the documents that the answer quotes.
    """
    known = " and ".join(filter(None, dict.fromkeys(dates)))
    return f"Your documents disagree{f' (the answer is of {known})' if known else ''}:"


def _is_newer(passage: Passage, other: Passage) -> bool:
    """Return whether its date is after the other's; a date within an imprecise one is not."""
    known = min(len(passage.document_date), len(other.document_date))
    return passage.document_date[:known] > other.document_date[:known]
