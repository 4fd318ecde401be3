"""Answer in the documents' own words: pick the sentences that answer best. No language model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import dspy
import numpy as np
from numpy.typing import NDArray

from corpus.sentences import join_sentences, sentence_spans
from qa.answerers.signature import AnswerFromContext, label_passages, labelled_text
from qa.search.rerankers import get_judge, get_matcher
from qa.sigmoid import sigmoid
from qa.types import Draft, Matcher, Passage, Scorer

# What each was measured by: docs/decisions/0008.
# Passages whose sentences are looked at.
PASSAGE_COUNT = 10
# Sentences that the cross-encoder reads, those that match the question's tokens best.
JUDGED_COUNT = 8
# What a mean match of 1 adds to the cross-encoder's logit.
MATCH_WEIGHT = 20.0
# The same of its whole passage: a sentence is worth more in a passage that fits.
PASSAGE_WEIGHT = 40.0
# How far below the best sentence a further one of its passage may be, in logits. Sentences of other
# passages answer more, but are more often of the wrong document.
MARGIN = 9.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage; ``passage`` and ``ordinal`` are its place, from 0.

    Attributes:
        match: Mean of its best cosines to the question's tokens.
        passage_match: The same of its whole passage.
    """

    passage: int
    ordinal: int
    text: str
    match: float
    passage_match: float

    @property
    def prominence(self) -> float:
        return MATCH_WEIGHT * self.match + PASSAGE_WEIGHT * self.passage_match


class ExtractiveProgram(dspy.Module):
    """The signature without a language model: judges sentences by the packaged models.

    Args:
        score: Raw relevance of texts to a question.
        match: Cosines of a question's tokens to spans of a text.
    """

    signature = AnswerFromContext

    def __init__(self, *, score: Scorer, match: Matcher, max_sentences: int) -> None:
        super().__init__()
        self.score = score
        self.match = match
        self.max_sentences = max_sentences

    def forward(
        self, question: str, context: list[str], leads: Sequence[str] = ()
    ) -> dspy.Prediction:
        """Choose from the passages; ``leads`` are the titles' lines that they begin with."""
        candidates = list(self._candidates(question, context, leads))
        candidates.sort(key=lambda candidate: -candidate.match)
        judged = candidates[:JUDGED_COUNT]
        if not judged:
            return dspy.Prediction(answer="", citations=[], confidence=0.0)
        relevance = self.score(question, [candidate.text for candidate in judged])
        scores = relevance + np.array([candidate.prominence for candidate in judged])
        chosen = _choose(judged, scores, self.max_sentences)
        return dspy.Prediction(
            answer=join_sentences([candidate.text for candidate in chosen]),
            citations=[f"S{chosen[0].passage + 1}"],
            confidence=sigmoid(float(relevance.max())),
        )

    def _candidates(
        self, question: str, context: Sequence[str], leads: Sequence[str]
    ) -> Iterator[Candidate]:
        passages = zip_longest(context[:PASSAGE_COUNT], leads[:PASSAGE_COUNT], fillvalue="")
        for number, (labelled, lead) in enumerate(passages):
            text = labelled_text(labelled)
            skipped = len(lead)
            spans = [(a + skipped, z + skipped) for a, z in sentence_spans(text[skipped:])]
            matches = self.match(question, text, spans)
            of_passage = _mean_of(matches.max(axis=0, initial=0.0))
            for ordinal, (start, end) in enumerate(spans):
                sentence = text[start:end]
                # A Markdown heading says what is spoken of, not what is said.
                if not sentence.startswith("#"):
                    yield Candidate(
                        number, ordinal, sentence, _mean_of(matches[ordinal]), of_passage
                    )


def _mean_of(matches: NDArray[np.float32]) -> float:
    return float(matches.mean()) if matches.size else 0.0


def _choose(
    candidates: Sequence[Candidate], scores: NDArray[np.float64], most: int
) -> list[Candidate]:
    """The best sentence and others of its passage close to it, each text once, in reading order."""
    best_first = np.argsort(-scores, kind="stable")
    best = best_first[0]
    chosen: dict[str, Candidate] = {}
    for index in best_first:
        if len(chosen) == most or scores[index] < scores[best] - MARGIN:
            break
        if candidates[index].passage == candidates[best].passage:
            chosen.setdefault(candidates[index].text, candidates[index])
    return sorted(chosen.values(), key=lambda candidate: candidate.ordinal)


class ExtractiveAnswerer:
    """Quotes the documents."""

    name = "extractive"

    def __init__(self, *, max_sentences: int) -> None:
        self.max_sentences = max_sentences

    @property
    def is_loaded(self) -> bool:
        return get_judge().is_loaded and get_matcher().is_loaded

    def load(self) -> None:
        get_judge().load()
        get_matcher().load()

    def answer(self, question: str, passages: Sequence[Passage]) -> Draft:
        """Return the best sentences of the passages, word for word."""
        program = ExtractiveProgram(
            score=get_judge().score,
            match=get_matcher().match_tokens,
            max_sentences=self.max_sentences,
        )
        context = label_passages([passage.as_ranked for passage in passages])
        leads = [passage.lead for passage in passages]
        prediction = program(question=question, context=context, leads=leads)
        return Draft(
            text=prediction.answer,
            cited=tuple(prediction.citations),
            confidence=prediction.confidence,
            answerer=self.name,
        )
