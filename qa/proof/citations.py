"""Turn a draft into an answer of which every sentence is proved, or into an abstention.

A sentence that stands word for word in a passage is cited there. Any other sentence must be
held up by a sentence of a passage the draft cites, which is then quoted. What has neither is
replaced by the sentence it comes from, or not said. A quote is always copied from the passage,
never from the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from corpus.sentences import sentence_spans, separator_after
from qa.proof.confidence import Calibration, gather_evidence, gather_evidence_alone, likeliest_first
from qa.proof.disagreement import find_disagreement
from qa.proof.support import find_support
from qa.types import (
    CLOSEST_COUNT,
    Answer,
    Citation,
    ClosePassage,
    Draft,
    Evidence,
    Passage,
    Reading,
    Scorer,
)

if TYPE_CHECKING:
    from qa.search.rerankers import Reranker

Say = Callable[[str, Citation], None]

# Who reads an answer's confidence alone takes one half for the line between an answer and none: an
# abstention stays under it, however high the bound on answers was set.
MOST_SURE_ABSTENTION = 0.49
# The reader's margin from which on the few words it marks are an answer of their own, in logits:
# docs/decisions/0023.
SHORT_FROM = 0.1
# The relevance to the question, a logit, from which on a quote beside the marked words is evidence.
BEARING_FROM = 0.0
# The relevance, a logit, from which on a source sentence says what an unproved sentence was to say.
SAME_MATTER_FROM = 2.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, or several in a row, as a span of the document."""

    passage: Passage
    start: int
    end: int

    @property
    def text(self) -> str:
        offset = self.passage.start_char
        return self.passage.text[self.start - offset : self.end - offset]


@dataclass(frozen=True, slots=True)
class Proof:
    """A sentence of the answer with the source that holds it up."""

    said: str
    source: Sentence
    score: float
    support: str


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
        chances = self._estimate(gather_evidence(passages))
        cited = cited_passages(draft, passages)
        sources = [sentence for passage in cited for sentence in _sentences(passage)]
        text, confidence, said_count = "", 0.0, 0
        citations: list[Citation] = []
        for proof in _prove_each(draft.text, sources, self.judge.score):
            text += separator_after(text)
            citations.append(_cite(proof, at=len(text)))
            text += proof.said
            if self._bears_on(question, proof.source):
                chance = chances.get(proof.source.passage.chunk_id, 0.0)
                confidence = max(confidence, chance)
            # The confidence only grows: once it is enough, nothing that is said is withdrawn.
            while confidence >= self.answer_from and said_count < len(citations):
                begin = citations[said_count - 1].answer_end if said_count else 0
                citation = citations[said_count]
                say(text[begin : citation.answer_end], citation)
                said_count += 1
        if not said_count:
            return self._hold_back(question, passages, chances)
        return Answer(
            question,
            text,
            confidence,
            tuple(citations),
            short=_find_short(text, citations),
            disagreement=self._find_disagreement(question, citations, passages),
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

    def _hold_back(
        self, question: str, passages: Sequence[Passage], chances: Mapping[str, float]
    ) -> Answer:
        """Claim nothing, and show what comes closest."""
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


def cited_passages(draft: Draft, passages: Sequence[Passage]) -> list[Passage]:
    """The passages whose labels the draft cites; a label that was never given is dropped."""
    labelled = {f"S{number}": passage for number, passage in enumerate(passages, start=1)}
    return [labelled[label] for label in dict.fromkeys(draft.cited) if label in labelled]


def _sentences(passage: Passage) -> Iterator[Sentence]:
    for start, end in sentence_spans(passage.text):
        yield Sentence(passage, passage.start_char + start, passage.start_char + end)


def _prove_each(text: str, sources: Sequence[Sentence], score: Scorer) -> Iterator[Proof]:
    """Walk through the draft: a source's own words if it goes on with them, else its sentence."""
    at = 0
    replaced: set[str] = set()
    while rest := text[at:].lstrip():
        at = len(text) - len(rest)
        run = _find_run(text, at, sources)
        if run is not None:
            yield Proof(run.text, run, run.passage.score, "supported")
            at += len(run.text)
            continue
        start, end = sentence_spans(rest)[0]
        said = rest[start:end]
        at += end
        found = find_support(said, [source.text for source in sources], score=score)
        if found is not None:
            yield Proof(said, sources[found.index], found.score, found.verdict)
            continue
        meant = _find_meant(said, sources, score)
        if meant is not None and meant.text not in replaced and meant.text not in text:
            replaced.add(meant.text)
            yield Proof(meant.text, meant, meant.passage.score, "supported")


def _find_run(text: str, at: int, sources: Sequence[Sentence]) -> Sentence | None:
    """The longest run of sentences of one passage that stands there, as they stand in it."""
    longest: Sentence | None = None
    for number, first in enumerate(sources):
        if not text.startswith(first.text, at):
            continue
        for last in sources[number:]:
            run = replace(first, end=last.end)
            if last.passage is not first.passage or not _stands_at(text, at, run.text):
                break
            if longest is None or len(run.text) > len(longest.text):
                longest = run
    return longest


def _find_meant(said: str, sources: Sequence[Sentence], score: Scorer) -> Sentence | None:
    """The source sentence that an unproved one was to say; None if none is about its matter."""
    if not sources:
        return None
    relevance = score(said, [source.text for source in sources])
    best = int(relevance.argmax())
    return sources[best] if relevance[best] >= SAME_MATTER_FROM else None


def _find_short(text: str, citations: Sequence[Citation]) -> tuple[int, int] | None:
    """Where in the answer the words stand that the reader marked, if it is sure of them."""
    for citation in citations:
        reading, moved = citation.passage.reading, citation.passage.start_char
        if reading is None or reading.margin < SHORT_FROM:
            continue
        start, end = reading.start + moved, reading.end + moved
        is_quoted = text[citation.answer_start : citation.answer_end] == citation.quote
        is_inside = citation.start_char <= start < end <= citation.end_char
        if is_quoted and is_inside:
            at = citation.answer_start - citation.start_char
            return start + at, end + at
    return None


def _stands_at(text: str, at: int, sentence: str) -> bool:
    following = text[at + len(sentence) : at + len(sentence) + 1]
    return text.startswith(sentence, at) and not following.isalnum()


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
        support=proof.support,
    )
