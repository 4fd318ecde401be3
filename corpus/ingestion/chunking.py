"""Split a text into chunks by its collection's settings."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from corpus.chunk_settings import SENTENCELESS
from corpus.embedders import get_embedder
from corpus.embedders.tokens import count_cl100k_tokens, find_cl100k_spans
from corpus.ingestion.chunkers import CHUNKERS
from corpus.ingestion.chunkers.budget import (
    CharacterCounter,
    ChunkBudget,
    LengthCounter,
    TokenCounter,
)
from corpus.ingestion.chunkers.sections import HeadingPath, Span
from corpus.ingestion.normal_form import Outline
from corpus.loaders.metadata import full_title
from corpus.models import Collection
from corpus.telemetry import Step, span

# Largest share of the embedder's tokens for title and headings.
CONTEXT_SHARE = 0.25


def embedder_input(text: str, *, context: str) -> str:
    """Return the text to embed for a chunk: title and headings, then its text."""
    return f"{context}\n{text}" if context else text


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk before it is stored.

    Attributes:
        context: Words of the file's path, title and headings; embedded together with the text.
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


@span(Step.CHUNKING)
def cut_chunks(
    text: str, *, title: str, outline: Outline, collection: Collection, file_words: str = ""
) -> list[NewChunk]:
    """Split ``text`` by the collection's settings and the embedder's maximum."""
    embedder = get_embedder(collection.embedding_model)
    max_context_tokens = int(embedder.max_tokens * CONTEXT_SHARE)

    @cache
    def context_under(path: HeadingPath) -> tuple[str, int]:
        """Return the context of chunks under these headings, and its length in tokens."""
        breadcrumb = " > ".join(dict.fromkeys(part for part in (title, *path) if part))
        context = full_title(breadcrumb, file_words=file_words)
        ends = [end for _, end in embedder.token_spans(context)]
        if len(ends) > max_context_tokens:
            context = context[: ends[max_context_tokens - 1]]
        return context, min(len(ends), max_context_tokens)

    embedder_counter = TokenCounter(
        embedder.token_spans(text), lambda piece: embedder.count_tokens([piece])[0]
    )
    counter: LengthCounter = embedder_counter
    if collection.chunk_unit == Collection.Unit.CHARACTERS:
        counter = CharacterCounter()
    elif collection.chunk_unit == Collection.Unit.CL100K_TOKENS:
        counter = TokenCounter(find_cl100k_spans(text), count_cl100k_tokens)
    strategy = collection.chunk_strategy

    def budget_under(path: HeadingPath) -> ChunkBudget:
        return ChunkBudget(
            counter=counter,
            size=collection.chunk_size,
            overlap=collection.chunk_overlap,
            overlap_sentences=(
                0 if strategy in SENTENCELESS else collection.chunk_overlap_sentences
            ),
            embedder_counter=embedder_counter,
            embedder_limit=embedder.max_tokens - context_under(path)[1],
        )

    spans = list(CHUNKERS[strategy](text, outline=outline, budget=budget_under))
    texts = [text[span.start : span.end] for span in spans]
    counts = embedder.count_tokens(texts)
    return [
        NewChunk(span, piece, context_under(span.heading_path)[0], count)
        for span, piece, count in zip(spans, texts, counts, strict=True)
    ]
