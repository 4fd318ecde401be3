"""Answer in the documents' own words: the segments around what was read. No language model."""

from collections.abc import Iterator, Sequence

from qa.excerpt import NEEDED_WORDS, find_excerpt, find_needs
from qa.proof.confidence import likeliest_first, weigh
from qa.segments import Span, split_segments
from qa.types import Draft, OnDraft, Passage, Query, Quote, Reading, Statement, ignore_draft

# How far behind the likeliest passage another one of its document may be, in logits, for its words
# to be said beside those of the first, and which share of an answer's words they may be:
# docs/decisions/0023.
SECOND_WITHIN = 3.0
SECOND_SHARE = 0.5
# The most words of a list or table, with what leads to it, that is said whole where several things
# are asked for: docs/decisions/0024.
LIST_WORDS = 130


class ExtractiveAnswerer:
    """Quotes the passage that reads best.

    Where another place of its document reads nearly as well, that is quoted, too.
    """

    name = "extractive"
    is_loaded = True
    reads_neighbours = False

    def __init__(self, *, most_words: int) -> None:
        self.most_words = most_words

    def load(self) -> None:
        """Do nothing: what it goes by was read before."""

    def answer(
        self, query: Query, passages: Sequence[Passage], *, on_draft: OnDraft = ignore_draft
    ) -> Draft:
        """Return a statement for each quote, whose text is the quote's."""
        read = likeliest_first(passages)
        if not read:
            return Draft((), self.name)
        list_words = LIST_WORDS if query.wants_list else 0
        chosen = _cut(*read[0], most_words=self.most_words, list_words=list_words)
        second = self._find_second(read, chosen)
        fresh = [each for each in second if not any(map(each.is_within, chosen))]
        quotes = [*chosen, *fresh]
        return Draft(tuple(Statement(quote.text, (quote,)) for quote in quotes), self.name)

    def _find_second(
        self, read: Sequence[tuple[Passage, Reading]], chosen: Sequence[Quote]
    ) -> Sequence[Quote]:
        """Return what another place of the same document says, if the reader is in doubt."""
        least, first = weigh(*read[0]) - SECOND_WITHIN, chosen[-1]
        for passage, reading in read[1:]:
            is_near = weigh(passage, reading) > least
            if not is_near or passage.document_id != first.passage.document_id:
                continue
            found = _cut(passage, reading, most_words=int(self.most_words * SECOND_SHARE))
            other = found[-1]
            is_apart = other.end_char <= first.start_char or first.end_char <= other.start_char
            if is_apart and not _repeats(other.text, first.text):
                return found
        return ()


def _cut(
    passage: Passage, reading: Reading, *, most_words: int, list_words: int = 0
) -> list[Quote]:
    """Return what is quoted of a passage, behind what that needs; what follows on is one quote."""
    text = passage.text
    excerpt = find_excerpt(
        text, (reading.start, reading.end), most_words=most_words, list_words=list_words
    )
    needs = find_needs(text, excerpt, most_words=most_words + NEEDED_WORDS)
    return [
        Quote(passage, start + passage.start_char, end + passage.start_char)
        for start, end in _join([*needs, excerpt], text)
    ]


def _join(spans: Sequence[Span], text: str) -> Iterator[Span]:
    """Make one span of those with nothing but white space between them."""
    start, end = spans[0]
    for following in spans[1:]:
        if text[end : following[0]].strip():
            yield start, end
            start = following[0]
        end = following[1]
    yield start, end


def _repeats(text: str, other: str) -> bool:
    """Return whether a sentence of a text stands in another, as what a document says twice."""
    return any(text[each.start : each.end] in other for each in split_segments(text))
