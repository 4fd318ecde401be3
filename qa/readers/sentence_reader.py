"""A reader without own weights: a plain cross-encoder, sentence by sentence."""

from collections.abc import Sequence

from django.conf import settings

from corpus.characters import widen_to_characters
from corpus.sentences import sentence_spans
from qa.search.rerankers import rerankers
from qa.types import Reading

# Of one text; a passage has some ten.
MAX_SENTENCES = 40


class SentenceReader:
    """Marks the most relevant sentence; its relevance is the score, and the margin is 0."""

    name = "none"

    @property
    def is_loaded(self) -> bool:
        return rerankers[settings.PKB_JUDGE_MODEL].is_loaded

    def load(self) -> None:
        rerankers[settings.PKB_JUDGE_MODEL].load()

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        """Return a reading for each text; the leads are not read.

        Raises:
            BackendError: The model is missing or failed.
        """
        judge, readings = rerankers[settings.PKB_JUDGE_MODEL], []
        for text in texts:
            spans = [
                (start, end)
                for start, end in sentence_spans(text)[:MAX_SENTENCES]
                if any(map(str.isalnum, text[start:end]))
            ]
            sentences = [text[start:end] for start, end in spans] or [text]
            scores = judge.score(question, sentences)
            best = int(scores.argmax())
            start, end = widen_to_characters(text, *spans[best]) if spans else (0, 0)
            readings.append(Reading(float(scores[best]), start, end, margin=0.0))
        return readings
