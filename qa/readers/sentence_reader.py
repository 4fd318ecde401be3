"""A reader without own weights: a plain cross-encoder, sentence by sentence."""

from collections.abc import Sequence

from corpus.characters import widen_to_characters
from corpus.sentences import sentence_spans
from qa.search.rerankers import get_judge
from qa.types import Reading

# Of one text; a passage has some ten.
MAX_SENTENCES = 40


class SentenceReader:
    """Marks the most relevant sentence; its relevance is the score, and the margin is 0."""

    name = "none"

    @property
    def is_loaded(self) -> bool:
        return get_judge().is_loaded

    def load(self) -> None:
        get_judge().load()

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        """Return a reading for each text; the leads are not read.

        Raises:
            BackendError: The model is missing or failed.
        """
        return [_read(question, text) for text in texts]


def _read(question: str, text: str) -> Reading:
    spans = [
        (start, end)
        for start, end in sentence_spans(text)[:MAX_SENTENCES]
        if any(map(str.isalnum, text[start:end]))
    ]
    if not spans:
        (score,) = get_judge().score(question, [text])
        return Reading(float(score), start=0, end=0, margin=0.0)
    scores = get_judge().score(question, [text[start:end] for start, end in spans])
    best = int(scores.argmax())
    start, end = widen_to_characters(text, *spans[best])
    return Reading(float(scores[best]), start, end, margin=0.0)
