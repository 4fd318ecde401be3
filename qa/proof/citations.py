"""Turn a draft into an answer of which every sentence is proved, or into an abstention."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from corpus.sentences import sentence_spans
from qa.proof.confidence import Calibration, gather_evidence, gather_evidence_alone, likeliest_first
from qa.proof.disagreement import find_disagreement
from qa.proof.drafts import Sentence
from qa.proof.newest import put_newest_first
from qa.proof.unfinished import Say, UnfinishedAnswer
from qa.questions import asks_for_several
from qa.types import (
    CLOSEST_COUNT,
    Answer,
    Citation,
    ClosePassage,
    Draft,
    Evidence,
    Passage,
    Reading,
)

if TYPE_CHECKING:
    from qa.search.rerankers import Reranker

# Who reads an answer's confidence alone takes one half for the line between an answer and none: an
# abstention stays under it, however high the bound on answers was set.
MOST_SURE_ABSTENTION = 0.49
# The reader's margin from which on the few words it marks are an answer of their own, in logits:
# docs/decisions/0023.
SHORT_FROM = 0.1
# A sentence of more words is said, not named: docs/decisions/0051.
MOST_NAMING_WORDS = 5
# Marks of a list or of emphasis at the edges of a text, or an item that begins within it.
_EDGE_MARKS = re.compile(
    r"\A(?:[*|#\u2022]|[-+]\s|\d{1,3}[.)]\s)|[*|#\u2022]\Z"
    r"|\n[ \t]{0,20}(?:[*|\u2022]|[-+]\s|\d{1,3}[.)]\s)"
)
_MARK = re.compile(r"\A(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_STOPS = ".!?\u3002 "
# The relevance to the question, a logit, from which on a quote beside the marked words is evidence.
BEARING_FROM = 0.0


def _keep_silent(text: str, citation: Citation) -> None:
    """Do nothing: most wait for the whole answer."""


@dataclass(frozen=True, slots=True)
class Prover:
    """Proves what answerers write.

    Attributes:
        judge: Judges sentences as support of others.
        calibration: Estimates the confidence.
        answer_from: The least confidence of an answer that is given.
        abstain_below: Under it no passage is near enough to say that it is unsure.
    """

    judge: Reranker
    calibration: Calibration
    answer_from: float
    abstain_below: float

    def prove(
        self,
        draft: Draft,
        passages: Sequence[Passage],
        *,
        question: str,
        say: Say = _keep_silent,
    ) -> Answer:
        """Return the answer with its citations; no text if nothing is proved or it is unsure.

        Args:
            passages: Read, as the draft's labels count them.
            say: Called with each piece of the answer's text and its citation, in order, as soon as
                it is certain that the answer will have it.
        """
        return self.finish(self.begin(passages, question=question, say=say), draft)

    def begin(
        self, passages: Sequence[Passage], *, question: str, say: Say = _keep_silent
    ) -> UnfinishedAnswer:
        """Return an answer to which the draft is told while it is written."""
        chances = self._estimate(gather_evidence(passages))

        def weigh(source: Sentence) -> float:
            chance = chances.get(source.passage.chunk_id, 0.0)
            return chance if self._bears_on(question, source) else 0.0

        return UnfinishedAnswer(
            question,
            passages,
            say=say,
            score=self.judge.score,
            weigh=weigh,
            answer_from=self.answer_from,
        )

    def finish(self, unfinished: UnfinishedAnswer, draft: Draft) -> Answer:
        """Prove what is left of a draft that is written, as ``prove`` does."""
        unfinished.hear(draft, is_whole=True)
        question, passages = unfinished.question, unfinished.passages
        drafted = tuple(unfinished.drafted)
        if not unfinished.is_said:
            return replace(self.hold_back(question, passages), drafted=drafted)
        writing = unfinished.writing
        return Answer(
            question,
            writing.text,
            writing.confidence,
            tuple(writing.citations),
            short=_find_short(question, writing.text, writing.citations),
            disagreement=self._find_disagreement(question, writing.citations, passages),
            drafted=drafted,
        )

    def put_newest_first(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Let the newest of passages that disagree be the answer, where their days are known."""
        return put_newest_first(
            question,
            passages,
            estimate=self.calibration.estimate,
            answer_from=self.answer_from,
        )

    def _find_disagreement(
        self, question: str, citations: Sequence[Citation], passages: Sequence[Passage]
    ) -> tuple[ClosePassage, ...]:
        """Return the passages that say otherwise and would be sure enough to be quoted alone."""
        chances = self._estimate(gather_evidence_alone(passages))
        return find_disagreement(
            question, citations, passages, chances, answer_from=self.answer_from
        )

    def _estimate(self, evidence: Mapping[str, Evidence]) -> dict[str, float]:
        return {chunk: self.calibration.estimate(each) for chunk, each in evidence.items()}

    def _bears_on(self, question: str, quoted: Sentence) -> bool:
        """Tell whether a quote is what its passage answers with, or at least about the matter.

        A planted sentence may stand in a passage that answers.
        """
        reading, offset = quoted.passage.reading, quoted.passage.start_char
        if reading is not None and reading.start < reading.end:
            start, end = reading.start + offset, reading.end + offset
            if quoted.start < end and start < quoted.end:
                return True
        (relevance,) = self.judge.score(question, [quoted.text])
        return bool(relevance >= BEARING_FROM)

    def hold_back(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Claim nothing, and show what comes closest."""
        chances = self._estimate(gather_evidence(passages))
        best = max(chances.values(), default=0.0)
        shown = [
            _show_close(passage, reading, chances[passage.chunk_id])
            for passage, reading in likeliest_first(passages)
        ]
        shown.sort(key=lambda close: -close.score)
        return Answer(
            question,
            "",
            min(best, MOST_SURE_ABSTENTION),
            closest=tuple(shown[:CLOSEST_COUNT]),
            is_unsure=bool(shown) and best >= self.abstain_below,
        )


def _show_close(passage: Passage, reading: Reading, chance: float) -> ClosePassage:
    """Point at the sentences that the part touches which comes nearest to an answer."""
    touched = [
        (start, end)
        for start, end in sentence_spans(passage.text)
        if end > reading.start and start < reading.end
    ]
    start, end = (touched[0][0], touched[-1][1]) if touched else (0, len(passage.text))
    offset = passage.start_char
    return ClosePassage(passage, offset + start, offset + end, chance)


def _find_short(question: str, text: str, citations: Sequence[Citation]) -> tuple[int, int] | None:
    """Where the words stand that the reader marked in the likeliest passage, if it is sure.

    Nothing where several things are asked for, or the words are no name of one thing.
    """
    read = likeliest_first([citation.passage for citation in citations])
    if not read or read[0][1].margin < SHORT_FROM:
        return None
    if asks_for_several(question) or not _is_one_thing(*read[0]):
        return None
    passage, reading = read[0]
    start, end = reading.start + passage.start_char, reading.end + passage.start_char
    for citation in citations:
        if citation.passage.chunk_id != passage.chunk_id:
            continue
        is_quoted = text[citation.answer_start : citation.answer_end] == citation.quote
        is_inside = citation.start_char <= start < end <= citation.end_char
        if is_quoted and is_inside:
            at = citation.answer_start - citation.start_char
            return start + at, end + at
    return None


def _is_one_thing(passage: Passage, reading: Reading) -> bool:
    """Tell whether the marked words are no whole sentence, and no list's or emphasis' marks."""
    marked = passage.text[reading.start : reading.end].strip()
    if _EDGE_MARKS.search(marked):
        return False
    for start, end in sentence_spans(passage.text):
        words = _MARK.sub("", passage.text[start:end].rstrip(_STOPS))
        last = start + len(passage.text[start:end].rstrip(_STOPS))
        is_whole = reading.start <= last - len(words) and last <= reading.end
        if is_whole and len(words.split()) > MOST_NAMING_WORDS:
            return False
    return True
