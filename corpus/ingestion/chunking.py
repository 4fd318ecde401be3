"""Split a text into chunks by its collection's settings."""

from dataclasses import dataclass
from hashlib import sha256

from corpus.embedders import Embedder
from corpus.embedders.tokens import count_cl100k_tokens, find_cl100k_spans
from corpus.ingestion.chunkers import ChunkingRule, Span, split_text
from corpus.ingestion.chunkers.budget import CharacterCounter, LengthCounter, TokenCounter
from corpus.ingestion.normal_form import Outline
from corpus.models import Collection

# Largest share of the embedder's tokens for title and headings.
CONTEXT_SHARE = 0.25


def embedder_input(text: str, *, context: str) -> str:
    """Return the text to embed for a chunk: title and headings, then its text."""
    return f"{context}\n{text}" if context else text


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk before it is stored.

    Attributes:
        context: The title and headings above it; embedded together with the text.
        token_count: Of the text alone, by the embedder's tokenizer.
    """

    span: Span
    text: str
    context: str
    token_count: int

    @property
    def embedder_input(self) -> str:
        return embedder_input(self.text, context=self.context)

    @property
    def chunk_sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    @property
    def input_sha256(self) -> str:
        return sha256(self.embedder_input.encode()).hexdigest()


def cut_chunks(
    text: str, *, title: str, outline: Outline, collection: Collection, embedder: Embedder
) -> list[NewChunk]:
    """Split ``text`` by the collection's settings and the embedder's maximum."""
    most = int(embedder.max_tokens * CONTEXT_SHARE)
    contexts = _Contexts(title, embedder, most)
    counter = TokenCounter(
        embedder.token_spans(text), lambda piece: embedder.count_tokens([piece])[0]
    )
    spans = split_text(
        text,
        outline=outline,
        rule=ChunkingRule(
            strategy=collection.chunk_strategy,
            size=collection.chunk_size,
            overlap=collection.chunk_overlap,
            overlap_sentences=collection.chunk_overlap_sentences,
        ),
        counter=_unit_counter(text, collection, counter),
        embedder_counter=counter,
        embedder_limit=lambda path: embedder.max_tokens - contexts.tokens(path),
    )
    texts = [text[s.start : s.end] for s in spans]
    counts = embedder.count_tokens(texts)
    return [
        NewChunk(s, piece, contexts.text(s.heading_path), count)
        for s, piece, count in zip(spans, texts, counts, strict=True)
    ]


def _unit_counter(
    text: str, collection: Collection, embedder_counter: LengthCounter
) -> LengthCounter:
    """Return the counter of the collection's unit."""
    match collection.chunk_unit:
        case Collection.Unit.CHARACTERS:
            return CharacterCounter()
        case Collection.Unit.CL100K_TOKENS:
            return TokenCounter(find_cl100k_spans(text), count_cl100k_tokens)
        case _:
            return embedder_counter


class _Contexts:
    """The context of the chunks under each heading path, and its length in tokens."""

    def __init__(self, title: str, embedder: Embedder, most_tokens: int) -> None:
        self._title = title
        self._embedder = embedder
        self._most = most_tokens
        self._known: dict[tuple[str, ...], tuple[str, int]] = {}

    def text(self, path: tuple[str, ...]) -> str:
        return self._of(path)[0]

    def tokens(self, path: tuple[str, ...]) -> int:
        return self._of(path)[1]

    def _of(self, path: tuple[str, ...]) -> tuple[str, int]:
        if path not in self._known:
            parts = list(dict.fromkeys(part for part in (self._title, *path) if part))
            text = " > ".join(parts)
            ends = [end for _, end in self._embedder.token_spans(text)]
            if len(ends) > self._most:
                text = text[: ends[self._most - 1]]
            self._known[path] = text, min(len(ends), self._most)
        return self._known[path]
