"""Walk through a draft: what of it is said, and in whose words.

A sentence that stands word for word in a passage is quoted there. Any other must restate a
sentence of a passage that the draft cites, which is then quoted. What does neither gives way to
the sentence it comes from, or is not said. A quote is always copied from the passage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from corpus.sentences import finished_spans, sentence_spans
from qa.proof.support import find_departure
from qa.sigmoid import sigmoid
from qa.types import Draft, DraftedSentence, Passage, Scorer

# The relevance, a logit, from which on a source sentence says what an unproved sentence was to say.
SAME_MATTER_FROM = 2.0
# Under it, a logit, a source is of another matter, whatever words it shares with the sentence.
RESTATED_FROM = 0.0
# A sentence that begins so does not say what it is about.
_LEANING = re.compile(r"(?:it|its|he|his|she|her|they|their)\b", re.IGNORECASE)
# Between what a draft sets apart.
PARAGRAPH_GAP = "\n\n"
_ITEM = re.compile(r"(?:[-*+\u2022]|(?<!\d)\d++[.)])\s")


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

    def is_within(self, other: "Sentence") -> bool:
        """Tell whether another span of the same document holds this one."""
        is_same = self.passage.document_id == other.passage.document_id
        return is_same and other.start <= self.start and self.end <= other.end


@dataclass(frozen=True, slots=True)
class Proof:
    """A sentence of the answer with the source that holds it up."""

    said: str
    source: Sentence
    score: float


@dataclass(frozen=True, slots=True)
class Step:
    """What became of a piece of the draft, and the proof of what is said for it, if any is.

    Attributes:
        begins_paragraph: Whether it is a quote that a blank line stands before in the draft.
    """

    drafted: DraftedSentence
    proof: Proof | None = None
    begins_paragraph: bool = False


def cited_passages(draft: Draft, passages: Sequence[Passage]) -> list[Passage]:
    """The passages whose labels the draft cites; a label that was never given is dropped."""
    labelled = {f"S{number}": passage for number, passage in enumerate(passages, start=1)}
    return [labelled[label] for label in dict.fromkeys(draft.cited) if label in labelled]


@dataclass(slots=True)
class Walk:
    """A walk through a draft, as far as it is written.

    What becomes of a piece never depends on how far the draft was when it was looked at.

    Attributes:
        sources: Sentences of the passages that the draft cites.
        score: Judges texts against a sentence.
        said: What was said in the place of other sentences, or before this draft: not said again.
        at: Where the next piece begins.
    """

    sources: Sequence[Sentence]
    score: Scorer
    said: list[Sentence]
    at: int = 0

    def go_on(self, text: str, *, is_whole: bool) -> Iterator[Step]:
        """Walk on: a source's own words if the draft goes on with them, else its sentence.

        Args:
            text: The draft so far; it begins as it did before.
            is_whole: Nothing more comes.
        """
        while rest := text[self.at :].lstrip():
            at = len(text) - len(rest)
            if not is_whole and _may_go_on_in(rest, self.sources):
                return
            run = _find_run(text, at, self.sources, self.said)
            spans = sentence_spans(rest) if is_whole else finished_spans(rest)
            if run is not None:
                begins_paragraph = PARAGRAPH_GAP in text[self.at : at]
                self.at = at + len(run.text)
                yield self._quote_run(run, begins_paragraph=begins_paragraph)
            elif spans:
                start, end = spans[0]
                self.at = at + end
                yield self._prove_one(rest[start:end], before=text[:at])
            else:
                return

    def _quote_run(self, run: Sentence, *, begins_paragraph: bool) -> Step:
        if _is_said(run, self.said):
            return Step(DraftedSentence(run.text, "repeated"))
        drafted = DraftedSentence(run.text, "quoted")
        return Step(drafted, _quote(run), begins_paragraph=begins_paragraph)

    def _prove_one(self, sentence: str, *, before: str) -> Step:
        step = _prove_one(sentence, self.sources, self.score)
        if step.proof is None or step.drafted.outcome != "replaced":
            return step
        if step.proof.said in before or _is_said(step.proof.source, self.said):
            return Step(replace(step.drafted, outcome="repeated"))
        self.said.append(step.proof.source)
        return step


def begin_walk(
    draft: Draft, passages: Sequence[Passage], score: Scorer, *, said: Sequence[Sentence] = ()
) -> Walk:
    """Begin to walk through a draft that cites these passages."""
    cited = cited_passages(draft, passages)
    sources = [sentence for passage in cited for sentence in _sentences(passage)]
    return Walk(sources, score, list(said))


def _is_said(source: Sentence, said: Sequence[Sentence]) -> bool:
    return any(source.is_within(each) for each in said)


def _may_go_on_in(rest: str, sources: Sequence[Sentence]) -> bool:
    """Tell whether what is written so far may be the beginning of a source's words."""
    return any(
        each.passage.text.startswith(rest, each.start - each.passage.start_char) for each in sources
    )


def _sentences(passage: Passage) -> Iterator[Sentence]:
    for start, end in sentence_spans(passage.text):
        yield Sentence(passage, passage.start_char + start, passage.start_char + end)


def _quote(source: Sentence) -> Proof:
    return Proof(source.text, source, source.passage.score)


def _prove_one(said: str, sources: Sequence[Sentence], score: Scorer) -> Step:
    """Prove a sentence that stands in no source, or put its source's in its place."""
    if not sources:
        return Step(DraftedSentence(said, "dropped", "it cites no passage that was given"))
    relevance = score(said, [source.text for source in sources])
    by_relevance = [(float(relevance[at]), sources[at]) for at in (-relevance).argsort()]
    for raw, source in by_relevance:
        if raw >= RESTATED_FROM and not find_departure(said, source.text):
            return Step(DraftedSentence(said, "restated"), Proof(said, source, sigmoid(raw)))
    near = [each for raw, each in by_relevance if raw >= SAME_MATTER_FROM and not _is_heading(each)]
    if not near:
        return Step(DraftedSentence(said, "dropped", "no sentence of what it cites is about it"))
    reason = find_departure(said, near[0].text)
    return Step(DraftedSentence(said, "replaced", reason), _quote(_with_what_it_needs(near[0])))


def _is_heading(source: Sentence) -> bool:
    return source.text.startswith("#")


def _with_what_it_needs(meant: Sentence) -> Sentence:
    """Begin with the item that the sentence is of, or the one before it that it leans on."""
    passage, offset = meant.passage, meant.passage.start_char
    before = passage.text[: meant.start - offset]
    line = before.rfind("\n") + 1
    if _ITEM.match(passage.text, line):
        return replace(meant, start=offset + line)
    if _LEANING.match(meant.text) and line < len(before.rstrip()):
        start, _ = sentence_spans(before)[-1]
        return replace(meant, start=offset + max(start, line))
    return meant


def _find_run(
    text: str, at: int, sources: Sequence[Sentence], said: Sequence[Sentence]
) -> Sentence | None:
    """The longest run of sentences of one passage that stands there, as they stand in it.

    A sentence that was said is a run by itself. Of what a passage says twice, the place that it
    answers in, or the last one before that.
    """
    longest: Sentence | None = None
    for number, first in enumerate(sources):
        if not _stands_at(text, at, first.text):
            continue
        for last in sources[number:]:
            run = replace(first, end=last.end)
            if last.passage is not first.passage or not _stands_at(text, at, run.text):
                break
            if last is not first and (_is_said(first, said) or _is_said(last, said)):
                break
            if longest is None or _is_better(run, longest):
                longest = run
    return longest


def _is_better(run: Sentence, other: Sentence) -> bool:
    if len(run.text) != len(other.text):
        return len(run.text) > len(other.text)
    reading = run.passage.reading
    if run.passage is not other.passage or reading is None:
        return False
    # A table's header stands before the row that answers.
    return run.start < reading.end + run.passage.start_char


def _stands_at(text: str, at: int, sentence: str) -> bool:
    following = text[at + len(sentence) : at + len(sentence) + 1]
    return text.startswith(sentence, at) and not following.isalnum()
