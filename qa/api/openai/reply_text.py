"""Text of a reply, with citation markers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qa.answer_record import AnswerRecord, QuoteRecord
from qa.grounding.disagreement import describe_disagreement
from qa.notices import UNANSWERED, UNSURE


@dataclass(frozen=True, slots=True)
class Cited:
    """The slice ``start:end`` of a reply's text and the source that supports it."""

    source: QuoteRecord
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A piece of the text that ends with its cited part, if any."""

    text: str
    cited: Cited | None = None


def annotate(answer: AnswerRecord) -> list[AnnotatedText]:
    """Split the answer after each cited part and add a marker there: ``[1]`` is the first.

    Quotes of disagreeing documents follow the answer. Without an answer, the closest passages are
    quoted, if there are any.
    """
    # OpenAI's format has no abstention: it is put in words, which the history recognizes.
    if answer.notice is not None:
        return [AnnotatedText(answer.notice)]
    if answer.kind == "unsure":
        return list(_list_quotes(UNSURE, answer.closest, is_whole=True))
    parts = list(_mark_citations(answer))
    parts += [AnnotatedText(f"\n\n{UNANSWERED} {part}") for part in answer.unanswered]
    if answer.disagreement:
        lead = describe_disagreement(citation.document_date or "" for citation in answer.citations)
        parts += _list_quotes(
            f"\n\n{lead}",
            answer.disagreement,
            is_whole=False,
            at=sum(len(part.text) for part in parts),
            first=len(answer.citations) + 1,
        )
    return parts


def _mark_citations(answer: AnswerRecord) -> Iterator[AnnotatedText]:
    citations = sorted(answer.citations, key=lambda citation: citation.answer_end)
    markers = [f" [{number}]" for number in range(1, len(citations) + 1)]
    at = 0
    for citation, marker in zip(citations, markers, strict=True):
        # Shift the cited part by the markers before it.
        start = citation.answer_start + sum(
            len(earlier)
            for other, earlier in zip(citations, markers, strict=True)
            if other.answer_end <= citation.answer_start
        )
        end = start + citation.answer_end - citation.answer_start
        text = answer.text[at : citation.answer_end] + marker
        yield AnnotatedText(text, Cited(citation, start, end))
        at = citation.answer_end
    if rest := answer.text[at:]:
        yield AnnotatedText(rest)


def _list_quotes(
    lead: str, quotes: Sequence[QuoteRecord], *, is_whole: bool, at: int = 0, first: int = 1
) -> Iterator[AnnotatedText]:
    """Quote after ``lead``: whole passages in paragraphs, or spans with their dates in lines.

    Args:
        at: Where the lead starts in the reply.
        first: The number of the first quote.
    """
    yield AnnotatedText(lead)
    at += len(lead)
    for number, quote in enumerate(quotes, start=first):
        gap, text, note = "\n", quote.quote, ""
        if is_whole:
            gap, text = "\n\n", quote.whole_text
        elif quote.document_date:
            note = f" ({quote.document_date})"
        start = at + len(gap)
        part = f"{gap}{text} [{number}]{note}"
        yield AnnotatedText(part, Cited(quote, start, start + len(text)))
        at += len(part)
