"""Turn a text into chunks with vectors, encoding no text a second time."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from corpus.embedding import Embedder
from corpus.ingestion.chunking import Span, TokenRuler, split_text
from corpus.ingestion.normalizing import Outline
from corpus.models import Collection, Embedding
from corpus.telemetry import Span as Traced
from corpus.telemetry import span

# Of what the embedder takes, title and headings may use this share.
CONTEXT_SHARE = 0.25


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
        return f"{self.context}\n{self.text}" if self.context else self.text

    @property
    def chunk_sha256(self) -> str:
        return sha256(self.text.encode()).hexdigest()

    @property
    def input_sha256(self) -> str:
        return sha256(self.embedder_input.encode()).hexdigest()


def cut_chunks(
    text: str, *, title: str, outline: Outline, collection: Collection, embedder: Embedder
) -> list[NewChunk]:
    """Cut ``text`` by the collection's settings, never over what the embedder takes."""
    most = int(embedder.max_tokens * CONTEXT_SHARE)
    contexts = _Contexts(title, embedder, most)

    def limit(path: tuple[str, ...]) -> int:
        return min(collection.chunk_size, embedder.max_tokens - contexts.tokens(path))

    spans = split_text(
        text,
        outline=outline,
        ruler=TokenRuler(embedder.token_spans(text)),
        limit=limit,
        overlap_sentences=collection.chunk_overlap,
    )
    texts = [text[s.start : s.end] for s in spans]
    counts = embedder.count_tokens(texts)
    return [
        NewChunk(s, piece, contexts.text(s.heading_path), count)
        for s, piece, count in zip(spans, texts, counts, strict=True)
    ]


class _Contexts:
    """What is put before the chunks under each heading path, and how long that is."""

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


def encode_chunks(
    chunks: Sequence[NewChunk], *, embedder: Embedder
) -> dict[str, NDArray[np.float32]]:
    """Return the vector of each chunk by its ``input_sha256``; known inputs are not encoded.

    Raises:
        BackendError: The embedder failed.
    """
    inputs = {chunk.input_sha256: chunk.embedder_input for chunk in chunks}
    vectors = Embedding.objects.of_inputs(list(inputs), model=embedder.name)
    missing = [digest for digest in inputs if digest not in vectors]
    with span(Traced.EMBEDDING, batch=len(missing)):
        encoded = embedder.embed_passages([inputs[digest] for digest in missing])
    return {**vectors, **dict(zip(missing, encoded, strict=True))}
