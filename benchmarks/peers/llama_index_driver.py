"""LlamaIndex and pgvector: token splitting, vectors and words fused by reciprocal ranks."""

from collections.abc import Iterable

from driver import (
    CHUNK_TOKENS,
    HITS,
    OVERLAP,
    PLAIN,
    RERANKED,
    RERANKING,
    Documents,
    parse_options,
    serve,
)
from llama_index.core import Document, Settings, StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import SentenceTransformerRerank
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import QueryBundle
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import make_url


class LlamaIndex:
    ways = (PLAIN, RERANKING)

    def __init__(self, *, database: str, model: str, reranker: str) -> None:
        Settings.llm = MockLLM()  # none is asked
        Settings.embed_model = HuggingFaceEmbedding(model, device="cpu")
        url = make_url(database)
        self.store = PGVectorStore.from_params(
            connection_string=url.set(drivername="postgresql+psycopg2"),
            async_connection_string=url.set(drivername="postgresql+asyncpg"),
            embed_dim=384,
            hybrid_search=True,
            text_search_config="english",
        )
        self.reranker_path = reranker
        self.reranker: SentenceTransformerRerank | None = None
        self.retrievers: dict[int, QueryFusionRetriever] = {}

    def load(self, documents: Documents) -> None:
        self.index = VectorStoreIndex.from_documents(
            [Document(id_=key, text=text) for key, text in documents],
            storage_context=StorageContext.from_defaults(vector_store=self.store),
            transformations=[SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=OVERLAP)],
        )

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        query = QueryBundle(question)
        found = self._retriever(HITS if way == PLAIN else RERANKED).retrieve(query)
        if way == RERANKING:
            if self.reranker is None:
                self.reranker = SentenceTransformerRerank(
                    model=self.reranker_path, top_n=HITS, device="cpu"
                )
            found = self.reranker.postprocess_nodes(found, query_bundle=query)
        return [hit.node.ref_doc_id or "" for hit in found]

    def _retriever(self, depth: int) -> QueryFusionRetriever:
        if depth not in self.retrievers:
            legs = [
                self.index.as_retriever(vector_store_query_mode=mode, similarity_top_k=depth)
                for mode in ("default", "text_search")
            ]
            self.retrievers[depth] = QueryFusionRetriever(
                legs,
                mode="reciprocal_rerank",
                num_queries=1,
                similarity_top_k=depth,
                use_async=False,
            )
        return self.retrievers[depth]


if __name__ == "__main__":
    options = parse_options()
    serve(LlamaIndex(database=options.database, model=options.model, reranker=options.reranker))
