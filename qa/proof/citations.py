"""Turn a draft into an answer of which every sentence is proved, or into an abstention.

A sentence that stands word for word in a passage is cited there. Any other sentence must be
held up by a sentence of a passage the draft cites, which is then quoted. What has neither is
not said. A quote is always copied from the passage, never from the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus.sentences import sentence_spans, separator_after
from qa.proof.confidence import Calibration, EvidenceBuilder
from qa.proof.support import find_support
from qa.types import Answer, Citation, Draft, Evidence, Passage, Scorer

if TYPE_CHECKING:
    from qa.search.rerankers import Judge, TokenMatcher

Say = Callable[[str, Citation], None]

# Who reads an answer's confidence alone takes one half for the line between an answer and none: an
# abstention stays under it, however high the bound on answers was set.
MOST_SURE_ABSTENTION = 0.49


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage, as a span of the document."""

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
        judge: Judges sentences, as answers and as support.
        matcher: Compares sentences and questions word by word.
        calibration: Estimates the confidence.
        abstain_below: The least confidence of an answer that is given.
    """

    judge: Judge
    matcher: TokenMatcher
    calibration: Calibration
    abstain_below: float

    def prove(
        self,
        draft: Draft,
        passages: Sequence[Passage],
        *,
        question: str,
        say: Say = _keep_silent,
    ) -> Answer:
        """Return the answer with its citations; an abstention if nothing is proved or it is unsure.

        Args:
            say: Called with each piece of the answer's text and its citation, in order, as soon as
                it is certain that the answer will have it.
        """
        cited = cited_passages(draft, passages)
        sources = [sentence for passage in cited for sentence in _sentences(passage)]
        gathered = EvidenceBuilder(
            question, judge=self.judge, matcher=self.matcher, head=self.calibration.head
        )
        text, confidence, said_count = "", 0.0, 0
        evidence: Evidence | None = None
        citations: list[Citation] = []
        for proof in _prove_each(draft.text, sources, self.judge.score):
            text += separator_after(text)
            citations.append(_cite(proof, at=len(text)))
            text += proof.said
            evidence = _add_quote(proof.source, gathered)
            confidence = self.calibration.estimate(evidence)
            # The confidence only grows: once it is enough, nothing that is said is withdrawn.
            while confidence >= self.abstain_below and said_count < len(citations):
                begin = citations[said_count - 1].answer_end if said_count else 0
                citation = citations[said_count]
                say(text[begin : citation.answer_end], citation)
                said_count += 1
        if not said_count:
            return Answer(question, "", min(confidence, MOST_SURE_ABSTENTION), evidence=evidence)
        return Answer(question, text, confidence, tuple(citations), evidence)


def cited_passages(draft: Draft, passages: Sequence[Passage]) -> list[Passage]:
    """The passages whose labels the draft cites; a label that was never given is dropped."""
    labelled = {f"S{number}": passage for number, passage in enumerate(passages, start=1)}
    return [labelled[label] for label in dict.fromkeys(draft.cited) if label in labelled]


def _sentences(passage: Passage) -> Iterator[Sentence]:
    for start, end in sentence_spans(passage.text):
        yield Sentence(passage, passage.start_char + start, passage.start_char + end)


def _prove_each(text: str, sources: Sequence[Sentence], score: Scorer) -> Iterator[Proof]:
    """Walk through the draft: a source's own words if it goes on with them, else its sentence."""
    verbatim = sorted(sources, key=lambda source: -len(source.text))
    at = 0
    while rest := text[at:].lstrip():
        at = len(text) - len(rest)
        source = next((s for s in verbatim if _stands_at(text, at, s.text)), None)
        if source is not None:
            yield Proof(source.text, source, source.passage.score, "supported")
            at += len(source.text)
            continue
        start, end = sentence_spans(rest)[0]
        said = rest[start:end]
        at += end
        found = find_support(said, [source.text for source in sources], score=score)
        if found is not None:
            yield Proof(said, sources[found.index], found.score, found.verdict)


def _stands_at(text: str, at: int, sentence: str) -> bool:
    following = text[at + len(sentence) : at + len(sentence) + 1]
    return text.startswith(sentence, at) and not following.isalnum()


def _add_quote(quoted: Sentence, gathered: EvidenceBuilder) -> Evidence:
    moved = len(quoted.passage.lead) - quoted.passage.start_char
    span = quoted.start + moved, quoted.end + moved
    return gathered.add(quoted.text, text=quoted.passage.as_ranked, span=span)


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
