"""Haystack and pgvector: word splitting, two retrievers joined by reciprocal ranks."""

from collections.abc import Iterable
from typing import Any

from driver import (
    CHUNK_WORDS,
    HITS,
    OVERLAP,
    PLAIN,
    RERANKED,
    RERANKING,
    Documents,
    parse_options,
    serve,
)
from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.writers import DocumentWriter
from haystack.utils import ComponentDevice, Secret
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)
from haystack_integrations.components.rankers.sentence_transformers import (
    SentenceTransformersSimilarityRanker,
)
from haystack_integrations.components.retrievers.pgvector import (
    PgvectorEmbeddingRetriever,
    PgvectorKeywordRetriever,
)
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore

DEVICE = ComponentDevice.from_str("cpu")


class Haystack:
    ways = (PLAIN, RERANKING)

    def __init__(self, *, database: str, model: str, reranker: str) -> None:
        self.model, self.reranker = model, reranker
        self.store = PgvectorDocumentStore(
            connection_string=Secret.from_token(database),
            create_extension=False,
            embedding_dimension=384,
        )
        self.pipelines: dict[str, Pipeline] = {}
        self.filling = self._build_filling()
        self.filling.warm_up()

    def _build_filling(self) -> Pipeline:
        filling = Pipeline()
        splitter = DocumentSplitter("word", split_length=CHUNK_WORDS, split_overlap=OVERLAP)
        filling.add_component("split", splitter)
        embedder = SentenceTransformersDocumentEmbedder(
            model=self.model, device=DEVICE, progress_bar=False
        )
        filling.add_component("embed", embedder)
        filling.add_component("write", DocumentWriter(self.store))
        filling.connect("split", "embed")
        filling.connect("embed", "write")
        return filling

    def load(self, documents: Documents) -> None:
        given = [Document(content=text, meta={"key": key}) for key, text in documents]
        self.filling.run({"split": {"documents": given}})

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        if way not in self.pipelines:
            self.pipelines[way] = self._build(is_reranking=way == RERANKING)
        asked: dict[str, dict[str, Any]] = {
            "embed": {"text": question},
            "words": {"query": question},
        }
        if way == RERANKING:
            asked["rank"] = {"query": question}
        last = "rank" if way == RERANKING else "join"
        found = self.pipelines[way].run(asked)[last]["documents"]
        return [document.meta["key"] for document in found]

    def _build(self, *, is_reranking: bool) -> Pipeline:
        depth = RERANKED if is_reranking else HITS
        searching = Pipeline()
        embedder = SentenceTransformersTextEmbedder(
            model=self.model, device=DEVICE, progress_bar=False
        )
        searching.add_component("embed", embedder)
        searching.add_component(
            "near", PgvectorEmbeddingRetriever(document_store=self.store, top_k=depth)
        )
        searching.add_component(
            "words", PgvectorKeywordRetriever(document_store=self.store, top_k=depth)
        )
        joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=depth)
        searching.add_component("join", joiner)
        searching.connect("embed.embedding", "near.query_embedding")
        searching.connect("near", "join")
        searching.connect("words", "join")
        if is_reranking:
            ranker = SentenceTransformersSimilarityRanker(
                model=self.reranker, device=DEVICE, top_k=HITS
            )
            searching.add_component("rank", ranker)
            searching.connect("join", "rank")
        return searching


if __name__ == "__main__":
    options = parse_options()
    serve(Haystack(database=options.database, model=options.model, reranker=options.reranker))
