"""Answer in the documents' own words: the sentences around what was read. No language model."""

from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from corpus.sentences import sentence_spans
from qa.answerers.excerpt import NEEDED_WORDS, find_excerpt, find_lead
from qa.answerers.signature import AnswerFromContext, label_passages
from qa.proof.confidence import likeliest_first, weigh
from qa.proof.drafts import PARAGRAPH_GAP
from qa.questions import asks_for_several
from qa.types import Draft, Hear, Passage, Reading, hear_nothing

# How far behind the likeliest passage another one of its document may be, in logits, for its words
# to be said beside those of the first, and which share of an answer's words they may be:
# docs/decisions/0023.
SECOND_WITHIN = 3.0
SECOND_SHARE = 0.5
# The most words of a list or table, with what leads to it, that is said whole where several things
# are asked for: docs/decisions/0051.
LIST_WORDS = 130


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is said of a passage: a span of its text.

    Attributes:
        lead: What it needs and stands apart from it: a list's lead-in, a table's header.
    """

    passage: Passage
    start: int
    end: int
    lead: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def pieces(self) -> tuple[str, ...]:
        """The texts that are said, in order, each word for word."""
        return (self.passage.text[slice(*self.lead)], self.text) if self.lead else (self.text,)

    def is_elsewhere(self, other: "Excerpt") -> bool:
        """Tell whether it is another place of the same document."""
        moved = self.passage.start_char - other.passage.start_char
        is_same = self.passage.document_id == other.passage.document_id
        return is_same and (self.end + moved <= other.start or other.end <= self.start + moved)

    def repeats(self, other: "Excerpt") -> bool:
        """Tell whether a sentence of it stands in the other, as what a document says twice."""
        spans = sentence_spans(self.text)
        return any(self.text[start:end] in other.text for start, end in spans)


class ExtractiveProgram(dspy.Module):
    """The signature without a language model: quotes the passage that reads best.

    Where another place of its document reads nearly as well, that is quoted, too.
    """

    signature = AnswerFromContext

    def __init__(self, *, most_words: int) -> None:
        super().__init__()
        self.most_words = most_words

    def forward(
        self, question: str, context: list[str], passages: Sequence[Passage]
    ) -> dspy.Prediction:
        """Choose among the passages, of which ``context`` holds the labelled texts."""
        read = likeliest_first(passages)
        if not read:
            return dspy.Prediction(answer="", citations=[])
        excerpts = self._choose(read, list_words=LIST_WORDS if asks_for_several(question) else 0)
        pieces = dict.fromkeys(piece for excerpt in excerpts for piece in excerpt.pieces)
        return dspy.Prediction(
            answer=PARAGRAPH_GAP.join(pieces),
            citations=[f"S{passages.index(each.passage) + 1}" for each in excerpts],
        )

    def _choose(self, read: Sequence[tuple[Passage, Reading]], *, list_words: int) -> list[Excerpt]:
        """Return one excerpt, or two of one document between which the reader is in doubt."""
        least = weigh(*read[0]) - SECOND_WITHIN
        first = _cut(*read[0], most_words=self.most_words, list_words=list_words)
        near = [each for each in read[1:] if weigh(*each) > least]
        others = (_cut(*each, most_words=int(self.most_words * SECOND_SHARE)) for each in near)
        elsewhere = (other for other in others if other.is_elsewhere(first))
        second = next((other for other in elsewhere if not other.repeats(first)), None)
        return [first, second] if second else [first]


def _cut(passage: Passage, reading: Reading, *, most_words: int, list_words: int = 0) -> Excerpt:
    text = passage.text
    start, end = find_excerpt(
        text, (reading.start, reading.end), most_words=most_words, list_words=list_words
    )
    lead = find_lead(text, (start, end))
    said = text[start:end] + (f" {text[slice(*lead)]}" if lead else "")
    has_room = len(said.split()) <= most_words + NEEDED_WORDS
    return Excerpt(passage, start, end, lead if has_room else None)


class ExtractiveAnswerer:
    """Quotes the documents."""

    name = "extractive"
    is_loaded = True

    def __init__(self, *, most_words: int) -> None:
        self.most_words = most_words

    def load(self) -> None:
        """Do nothing: what it goes by was read before."""

    def answer(
        self, question: str, passages: Sequence[Passage], *, hear: Hear = hear_nothing
    ) -> Draft:
        """Return sentences of the passage that reads best, word for word, at once."""
        program = ExtractiveProgram(most_words=self.most_words)
        prediction = program(
            question=question,
            context=label_passages([passage.as_ranked for passage in passages]),
            passages=passages,
        )
        return Draft(
            text=prediction.answer,
            cited=tuple(prediction.citations),
            answerer=self.name,
        )
