"""An answer while its draft is written: what is proved is said, and never taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from corpus.sentences import separator_after
from qa.proof.drafts import PARAGRAPH_GAP, Proof, Sentence, Step, begin_walk
from qa.types import Citation, Draft, DraftedSentence, Passage, Scorer

Say = Callable[[str, Citation], None]


class UnfinishedAnswer:
    """Proves a draft sentence by sentence, as far as it is written.

    Attributes:
        drafted: What became of the draft that was heard last.
        writing: What is in the answer by now.
    """

    def __init__(
        self,
        question: str,
        passages: Sequence[Passage],
        *,
        say: Say,
        score: Scorer,
        weigh: Callable[[Sentence], float],
        answer_from: float,
    ) -> None:
        """Begin without a word.

        Args:
            passages: Read, as the drafts' labels count them.
            say: Called with each piece of the answer's text and its citation, in order, as soon as
                it is certain that the answer will have it.
            score: Judges sentences as support of others.
            weigh: The confidence of an answer that quotes this, in [0, 1].
            answer_from: The confidence from which on it is said.
        """
        self.question, self.passages = question, passages
        self.drafted: list[DraftedSentence] = []
        self._say, self._score, self._weigh = say, score, weigh
        self._answer_from = answer_from
        self.writing = _Writing(say, answer_from)
        self._heard = Draft("", (), answerer="")
        self._walk = begin_walk(self._heard, passages, score)

    @property
    def is_said(self) -> bool:
        """Whether it is an answer by now; then it stays one."""
        return self.writing.said_count > 0

    def hear(self, draft: Draft, *, is_whole: bool = False) -> None:
        """Prove what is new in a draft and finished.

        A draft that does not go on as the one before takes its place, but for what was said.

        Raises:
            AskerLeft: By ``say``.
            BackendError: A model failed.
        """
        if not self._goes_on(draft):
            self._begin_again(draft)
        self._heard = draft
        for step in self._walk.go_on(draft.text, is_whole=is_whole):
            self._take(step)

    def _goes_on(self, draft: Draft) -> bool:
        before = self._heard
        is_same = (draft.answerer, draft.cited) == (before.answerer, before.cited)
        return is_same and draft.text.startswith(before.text[: self._walk.at])

    def _begin_again(self, draft: Draft) -> None:
        if not self.is_said:
            self.writing = _Writing(self._say, self._answer_from)
        said = [
            Sentence(citation.passage, citation.start_char, citation.end_char)
            for citation in self.writing.citations
        ]
        self._walk = begin_walk(draft, self.passages, self._score, said=said)
        self.drafted = []

    def _take(self, step: Step) -> None:
        self.drafted.append(step.drafted)
        if step.proof is not None:
            chance = self._weigh(step.proof.source)
            self.writing.add(step.proof, chance, is_apart=step.begins_paragraph)


@dataclass(slots=True)
class _Writing:
    """The text of an answer with its citations.

    Attributes:
        answer_from: The confidence from which on it is said.
        said_count: Citations whose pieces were said: none of them, or all.
    """

    say: Say
    answer_from: float
    text: str = ""
    confidence: float = 0.0
    citations: list[Citation] = field(default_factory=list)
    said_count: int = 0

    def add(self, proof: Proof, chance: float, *, is_apart: bool) -> None:
        """Write a sentence; say what is certain by then to be in the answer."""
        self.text += PARAGRAPH_GAP if is_apart and self.text else separator_after(self.text)
        self.citations.append(_cite(proof, at=len(self.text)))
        self.text += proof.said
        self.confidence = max(self.confidence, chance)
        # The confidence only grows: once it is enough, nothing that is said is withdrawn.
        while self.confidence >= self.answer_from and self.said_count < len(self.citations):
            begin = self.citations[self.said_count - 1].answer_end if self.said_count else 0
            citation = self.citations[self.said_count]
            self.say(self.text[begin : citation.answer_end], citation)
            self.said_count += 1


def _cite(proof: Proof, *, at: int) -> Citation:
    """Make the citation of a sentence that begins at this character of the answer."""
    return Citation(
        passage=proof.source.passage,
        quote=proof.source.text,
        start_char=proof.source.start,
        end_char=proof.source.end,
        answer_start=at,
        answer_end=at + len(proof.said),
        score=proof.score,
        support="supported",
    )
