"""Text of a reply, with citation markers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qa.grounding.disagreement import describe_disagreement
from qa.notices import UNANSWERED, UNSURE, notice_of
from qa.types import Answer, Citation, ClosePassage


@dataclass(frozen=True, slots=True)
class Cited:
    """The slice ``start:end`` of a reply's text and the source that supports it."""

    source: Citation | ClosePassage
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A piece of the text that ends with its cited part, if any."""

    text: str
    cited: Cited | None = None


def annotate(answer: Answer) -> list[AnnotatedText]:
    """Split the answer after each cited part and add a marker there: ``[1]`` is the first.

    Quotes of disagreeing documents follow the answer. Without an answer, the closest passages are
    quoted, if there are any.
    """
    if answer.kind == "answer":
        said = [*_cut(answer), *map(AnnotatedText, _unanswered_lines(answer))]
        return [*said, *_add_disagreement(answer, said)]
    if answer.is_unsure:
        return list(_list_quotes(UNSURE, answer.closest))
    # OpenAI's format has no abstention: it is put in words, which the history recognizes.
    return [AnnotatedText(notice_of(answer.intent))]


def _cut(answer: Answer) -> Iterator[AnnotatedText]:
    ordered = sorted(answer.citations, key=lambda citation: citation.answer_end)
    markers = [f" [{number}]" for number in range(1, len(ordered) + 1)]
    at = 0
    for citation, marker in zip(ordered, markers, strict=True):
        # Shift the cited part by the markers before it.
        start = citation.answer_start + sum(
            len(earlier)
            for other, earlier in zip(ordered, markers, strict=True)
            if other.answer_end <= citation.answer_start
        )
        end = start + citation.answer_end - citation.answer_start
        text = answer.text[at : citation.answer_end] + marker
        yield AnnotatedText(text, Cited(citation, start, end))
        at = citation.answer_end
    if rest := answer.text[at:]:
        yield AnnotatedText(rest)


def _unanswered_lines(answer: Answer) -> Iterator[str]:
    for part in answer.unanswered:
        yield f"\n\n{UNANSWERED} {part}"


def _add_disagreement(answer: Answer, said: Sequence[AnnotatedText]) -> Iterator[AnnotatedText]:
    if answer.disagreement:
        at = sum(len(part.text) for part in said)
        first = len(answer.citations) + 1
        lead = describe_disagreement(
            citation.passage.document_date for citation in answer.citations
        )
        yield from _list_quotes(f"\n\n{lead}", answer.disagreement, at=at, first=first)


def _list_quotes(
    lead: str, quoted: Sequence[ClosePassage], *, at: int = 0, first: int = 1
) -> Iterator[AnnotatedText]:
    """Quote passages, one per line, after ``lead``.

    ``at`` is where the lead starts in the reply. Disagreeing quotes include their documents' dates.
    """
    yield AnnotatedText(lead)
    at += len(lead)
    for number, close in enumerate(quoted, start=first):
        date = close.passage.document_date if first > 1 else ""
        said = close.shown_text if first == 1 else close.quote
        gap = "\n\n" if first == 1 else "\n"
        text = f"{gap}{said} [{number}]{f' ({date})' if date else ''}"
        start = at + len(gap)
        yield AnnotatedText(text, Cited(close, start, start + len(said)))
        at += len(text)
