"""Answer in the documents' own words: the sentences around what was read. No language model."""

from collections.abc import Sequence

import dspy

from qa.answerers.excerpt import find_excerpt
from qa.answerers.signature import AnswerFromContext, label_passages
from qa.proof.confidence import likeliest_first
from qa.sigmoid import sigmoid
from qa.types import Draft, Passage


class ExtractiveProgram(dspy.Module):
    """The signature without a language model: quotes the passage that reads best."""

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
            return dspy.Prediction(answer="", citations=[], confidence=0.0)
        best, reading = read[0]
        start, end = find_excerpt(
            best.text, (reading.start, reading.end), most_words=self.most_words
        )
        return dspy.Prediction(
            answer=best.text[start:end],
            citations=[f"S{passages.index(best) + 1}"],
            confidence=sigmoid(reading.score),
        )


class ExtractiveAnswerer:
    """Quotes the documents."""

    name = "extractive"
    is_loaded = True

    def __init__(self, *, most_words: int) -> None:
        self.most_words = most_words

    def load(self) -> None:
        """Do nothing: what it goes by was read before."""

    def answer(self, question: str, passages: Sequence[Passage]) -> Draft:
        """Return sentences of the passage that reads best, word for word."""
        program = ExtractiveProgram(most_words=self.most_words)
        prediction = program(
            question=question,
            context=label_passages([passage.as_ranked for passage in passages]),
            passages=passages,
        )
        return Draft(
            text=prediction.answer,
            cited=tuple(prediction.citations),
            confidence=prediction.confidence,
            answerer=self.name,
        )
