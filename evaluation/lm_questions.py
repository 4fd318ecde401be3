"""Generate questions about a document with the language model, one for each chunk."""

from collections.abc import Iterator

from corpus.models import Document
from corpus.sentences import sentence_spans
from evaluation.question_rules import Proposal
from qa.answerers.write_question import write_question
from qa.context import LANGUAGE_MODEL, get_answerer


def propose_by_lm(document: Document) -> Iterator[Proposal]:
    """Yield questions that a document answers; the model is called lazily.

    Raises:
        BackendError: The model failed.
    """
    answerer = get_answerer(LANGUAGE_MODEL)
    for chunk in document.chunks.order_by("ordinal").defer("lexemes"):
        written = write_question(chunk.text, answerer=answerer)
        if written is not None:
            quoted = _around(chunk.text, written.start, written.end)
            start, end = (chunk.start_char + offset for offset in quoted)
            answer = chunk.text[written.start : written.end]
            yield Proposal(written.text, (answer,), start, end)


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of the sentences around an answer."""
    touched = [span for span in sentence_spans(text) if span[0] < end and start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)
