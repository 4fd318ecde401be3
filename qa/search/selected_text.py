"""Retrieve from a text sent with the question, as if it were the corpus."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from time import perf_counter

import numpy as np

from corpus.embedders import embed_passages, embed_queries, get_embedder
from corpus.models import Collection
from corpus.sentences import sentence_spans
from qa.search.hybrid import RetrievedPassages
from qa.types import Passage, Query

# The reranker reads 384 tokens of a question and a passage, about 1,500 characters of English.
PASSAGE_CHARS = 1_000


class SelectedText:
    """A retriever over one text; its passages are spans of that text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.content_sha256 = sha256(text.encode()).hexdigest()

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        """Return the passages most similar to the query, best first, by the collection's model.

        Raises:
            CollectionNotFound: There is no collection of this name.
            BackendError: The embedder failed.
        """
        started = perf_counter()
        collections = Collection.objects.get_asked(query.collection)
        model = get_embedder(collections[0].embedding_model)
        passages = list(self.passages())
        vectors = embed_passages([passage.text for passage in passages], embedder=model)
        similarities = np.clip(vectors @ embed_queries([query.text], embedder=model)[0], 0.0, 1.0)
        scored = [
            replace(passage, similarity=float(value), score=float(value))
            for passage, value in zip(passages, similarities, strict=True)
        ]
        best = sorted(scored, key=lambda passage: -passage.score)[:limit]
        elapsed_ms = (perf_counter() - started) * 1000
        return RetrievedPassages(best, embedding_ms=elapsed_ms, search_ms=0.0)

    def passages(self) -> Iterator[Passage]:
        """Yield the text in passages of about ``PASSAGE_CHARS``."""
        # Adjacent sentences; a longer one stays whole.
        packs: list[tuple[int, int]] = []
        for start, end in sentence_spans(self.text):
            if packs and end - packs[-1][0] <= PASSAGE_CHARS:
                packs[-1] = packs[-1][0], end
            else:
                packs.append((start, end))
        for number, (start, end) in enumerate(packs):
            yield Passage(
                chunk_id=f"selected-{number}",
                document_id="",
                content_sha256=self.content_sha256,
                title="",
                source_uri="",
                heading_path=(),
                page=None,
                text=self.text[start:end],
                start_char=start,
                end_char=end,
                is_selected=True,
            )
