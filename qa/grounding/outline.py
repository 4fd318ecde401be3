"""Summarize a document by its outline: each heading with the first sentence of its section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpus.sentences import sentence_spans
from qa.grounding.citations import OnText, cite
from qa.grounding.parts import JoinedText
from qa.types import Answer, Passage, Quote

# Fewest words of a sentence; headings and links have fewer.
MIN_WORDS = 5
# Words from a heading to the end of the sentence that opens its section.
MAX_WORDS = 60
# Confidence that the document with the requested title is the intended one: of 80 documents
# requested by title, 77 were summarized.
CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class Section:
    """A passage, and where in its text a section and the text after its heading begin."""

    passage: Passage
    start: int
    text_start: int


def summarize_outline(
    question: str, sections: Sequence[Section], *, answerer: str, on_text: OnText
) -> Answer:
    """Return headings and first sentences of the sections, word for word, each cited.

    Args:
        on_text: Called with each as it is added to the text.
    """
    joined = JoinedText()
    for section in sections:
        span = _find_opening(section)
        if span is None:
            continue
        joined.begin_part()
        start, end = (section.passage.start_char + at for at in span)
        added = joined.add(cite(Quote(section.passage, start, end), 0, end - start))
        if added is not None:
            on_text(*added)
    return Answer(
        question,
        joined.text,
        CONFIDENCE if joined.text else 0.0,
        tuple(joined.citations),
        answerer=answerer,
    )


def _find_opening(section: Section) -> tuple[int, int] | None:
    """Return the span from the heading to the end of the first sentence, or of that alone."""
    text = section.passage.text
    for span in sentence_spans(text[section.text_start :]):
        start, end = (section.text_start + at for at in span)
        sentence = text[start:end]
        if len(sentence.split()) < MIN_WORDS or sentence[-1] not in ".!?:":
            continue
        is_near = len(text[section.start : end].split()) <= MAX_WORDS
        return section.start if is_near else start, end
    return None
