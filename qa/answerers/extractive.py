"""Answer in the documents' own words, without a language model."""

from collections.abc import Iterator, Sequence

from qa.grounding.confidence import answer_logit, likeliest_first
from qa.intent import asks_how
from qa.segments import (
    STEP,
    Kind,
    Segment,
    Span,
    continues_list,
    earlier_steps,
    list_start,
    split_segments,
)
from qa.types import Draft, OnDraft, Passage, Query, Quote, Reading, Statement, ignore_draft

# How far behind the likeliest passage another one of its document may be, in logits, for its words
# to be said beside those of the first, and which share of an answer's words they may be:
# docs/decisions/0023.
SECOND_WITHIN = 3.0
SECOND_SHARE = 0.5
# The most words of a list or table, with what leads to it, that is said whole where several things
# are asked for, and of the steps where it is asked how to do something: docs/decisions/0024.
LIST_WORDS = 130


class ExtractiveAnswerer:
    """Quotes the passage with the best reading.

    If another span of the same document reads nearly as well, it is quoted, too.
    """

    name = "extractive"
    is_loaded = True
    reads_neighbors = False

    def __init__(self, *, max_words: int) -> None:
        self.max_words = max_words

    def load(self) -> None:
        """Do nothing: there are no weights."""

    def answer(
        self, query: Query, passages: Sequence[Passage], *, on_draft: OnDraft = ignore_draft
    ) -> Draft:
        """Return one statement per quote, whose text is the quote."""
        read = likeliest_first(passages)
        if not read:
            return Draft((), self.name)
        only_steps = not query.wants_list
        list_words = LIST_WORDS if query.wants_list or asks_how(query.text) else 0
        chosen = _cut(
            *read[0], max_words=self.max_words, list_words=list_words, only_steps=only_steps
        )
        second = self._find_second(read, chosen)
        fresh = [each for each in second if not any(map(each.is_within, chosen))]
        quotes = [*chosen, *fresh]
        return Draft(tuple(Statement(quote.text, (quote,)) for quote in quotes), self.name)

    def _find_second(
        self, read: Sequence[tuple[Passage, Reading]], chosen: Sequence[Quote]
    ) -> Sequence[Quote]:
        """Return a second span of the same document if the reader is in doubt."""
        min_logit, first = answer_logit(*read[0]) - SECOND_WITHIN, chosen[-1]
        for passage, reading in read[1:]:
            is_near = answer_logit(passage, reading) > min_logit
            disagrees = passage.chunk_id in first.passage.disagrees_with
            if not is_near or disagrees or passage.document_id != first.passage.document_id:
                continue
            quotes = _cut(passage, reading, max_words=int(self.max_words * SECOND_SHARE))
            other = quotes[-1]
            is_apart = other.end_char <= first.start_char or first.end_char <= other.start_char
            # A sentence in both is one that the document repeats.
            sentences = (other.text[each.start : each.end] for each in split_segments(other.text))
            if is_apart and not any(each in first.text for each in sentences):
                return quotes
        return ()


def _cut(
    passage: Passage,
    reading: Reading,
    *,
    max_words: int,
    list_words: int = 0,
    only_steps: bool = False,
) -> list[Quote]:
    """Return the quoted spans of a passage, after the spans they need; adjacent ones are joined."""
    text = passage.text
    excerpt = find_excerpt(
        text,
        (reading.start, reading.end),
        max_words=max_words,
        list_words=list_words,
        only_steps=only_steps,
    )
    needs = find_needs(text, excerpt, max_words=max_words + NEEDED_WORDS)
    return [
        Quote(passage, start + passage.start_char, end + passage.start_char)
        for start, end in _join([*needs, excerpt], text)
    ]


def _join(spans: Sequence[Span], text: str) -> Iterator[Span]:
    """Join spans that are separated by white space only."""
    start, end = spans[0]
    for following in spans[1:]:
        if text[end : following[0]].strip():
            yield start, end
            start = following[0]
        end = following[1]
    yield start, end


# Words that what is needed may have over the most words of an excerpt.
NEEDED_WORDS = 15


def find_excerpt(
    text: str, answer: Span, *, max_words: int, list_words: int = 0, only_steps: bool = False
) -> Span:
    """Return the span of the segments around the answer.

    Segments after the answer are added before those in front of it, up to the word limit. The span
    does not cross a heading; a list item or table row is taken without its neighbors.

    Args:
        answer: Half-open span of the answer in the text.
        max_words: Word limit; segments that the answer touches are always complete, and so is
            the header of a table whose rule is the first of them.
        list_words: Word limit for a whole list or table with its lead-in, if the answer is in
            it or leads to it.
        only_steps: Only a numbered list is taken; if it is too long, as many steps as fit.
    """
    segments = _section_around(text, answer)
    if not segments:
        return 0, len(text)
    touched = [
        at for at, each in enumerate(segments) if each.end > answer[0] and each.start < answer[1]
    ]
    ahead = sum(each.start < answer[1] for each in segments[1:])
    first, last = (touched[0], touched[-1]) if touched else (ahead, ahead)
    for span in _list_around(text, segments, first, last, only_steps=only_steps):
        if len(text[slice(*span)].split()) <= list_words:
            return span
    first, last = _grow(text, segments, first, last, max_words=max_words)
    return segments[first].start, segments[last].end


def find_needs(text: str, excerpt: Span, *, max_words: int) -> list[Span]:
    """Return the spans that an excerpt needs to be understood and does not contain.

    These are the sentence that introduces a list, parent items, the table header, and all earlier
    numbered steps, up to the word limit.

    Args:
        max_words: Of the excerpt and what it needs.
    """
    segments = _section_around(text, excerpt)
    at = next((at for at, each in enumerate(segments) if each.start == excerpt[0]), None)
    if at is None or not segments[at].begins_item:
        return []
    needs = list(segments[at].needs)
    steps = [each.span for each in earlier_steps(text, segments, at)]

    def has_room(spans: Sequence[Span]) -> bool:
        return sum(len(text[slice(*each)].split()) for each in [*spans, excerpt]) <= max_words

    if steps and has_room([*needs, *steps]):
        needs = sorted({*needs, *steps})
    while needs and not has_room(needs):
        needs.pop(0)
    return needs


def _grow(
    text: str, segments: Sequence[Segment], first: int, last: int, *, max_words: int
) -> tuple[int, int]:
    """Extend a range of segments by the segments it needs, then up to the word limit."""

    def has_room(start: int, end: int, *, words: int = max_words) -> bool:
        fits = start >= 0 and end < len(segments)
        return fits and len(text[segments[start].start : segments[end].end].split()) <= words

    def is_rule(at: int) -> bool:
        return 0 < at < len(segments) and segments[at].kind is Kind.RULE

    needed = max_words + NEEDED_WORDS
    is_first = first == 0 or segments[first - 1].kind is Kind.FIELDS
    if segments[first].refers_back and not is_first and has_room(first - 1, last, words=needed):
        first -= 1
    if segments[last].is_lead_in and has_room(first, last + 1, words=needed):
        last += 1
    names_columns = is_rule(last) or is_rule(last + 1)
    if is_rule(first - 1) and has_room(first - 2, last, words=needed):
        first -= 1
    if is_rule(first):
        first -= 1
    is_item = segments[first].is_listed and not names_columns
    end = last
    while has_room(first, end + 1) and not (is_item and segments[end + 1].begins_item):
        end += 1
    # Drop a lead-in or table header if what it introduces does not fit.
    while end > last and (segments[end].is_lead_in or is_rule(end) or is_rule(end + 1)):
        end -= 1
    last = end
    begin = first
    while has_room(first - 1, last) and not _is_neighbor(segments, first - 1):
        first -= 1
    # The end of a list that the answer is not in says nothing about it.
    while first < begin and continues_list(segments, first) and not segments[begin].is_listed:
        first += 1
    return first, last


def _is_neighbor(segments: Sequence[Segment], at: int) -> bool:
    """Return whether a segment belongs to another item, a table, or the header of an e-mail."""
    if segments[at].kind in {Kind.ROW, Kind.RULE, Kind.FIELDS}:
        return True
    return segments[at + 1].begins_item and segments[at].is_listed


def _list_around(
    text: str, segments: Sequence[Segment], first: int, last: int, *, only_steps: bool
) -> Iterator[Span]:
    """Yield the list or table that segments belong to or introduce, with its lead-in.

    Args:
        only_steps: A numbered list, then the same without its last steps, up to the segments.
    """
    at = next((at for at in range(first, last + 1) if segments[at].is_listed), last + 1)
    while at < len(segments) and not segments[at].is_listed:
        if segments[at].begins_block:
            return
        at += 1
    if at == len(segments):
        return
    begin, end = list_start(segments, at), max(at, last)
    while end + 1 < len(segments) and continues_list(segments, end + 1):
        end += 1
    start = segments[min(first, _first_leading(segments, begin))].start
    if only_steps and not STEP.match(text, segments[begin].start):
        return
    yield start, segments[end].end
    for each in range(end, max(at, last), -1) if only_steps else ():
        if segments[each].begins_item:
            yield start, segments[each - 1].end


def _first_leading(segments: Sequence[Segment], begin: int) -> int:
    """Return the index of a list's lead-in: a sentence with a colon, or a paragraph."""
    if begin == 0 or (
        segments[begin].kind in {Kind.ROW, Kind.RULE} and not segments[begin - 1].is_lead_in
    ):
        return begin
    at = begin - 1
    while not segments[begin - 1].is_lead_in and at > 0 and not segments[at].begins_block:
        at -= 1
    return at


def _section_around(text: str, answer: Span) -> list[Segment]:
    """Return the segments between two headings where the answer starts.

    If the answer is in a heading, return the segments after it: a heading names a topic only.
    """
    segments = [each for each in split_segments(text) if each.kind is not Kind.HEADING]
    if not segments:
        return []
    # Skip a section that ends before the answer.
    reaching = next((each for each in segments if each.end > answer[0]), segments[-1])
    return [each for each in segments if each.section == reaching.section]
