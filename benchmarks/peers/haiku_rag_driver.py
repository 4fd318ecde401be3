"""haiku.rag: its own chunker, hybrid search in LanceDB, models behind an endpoint."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.labels import DocItemLabel
from driver import (
    CHUNK_TOKENS,
    HITS,
    PLAIN,
    RERANKED,
    RERANKING,
    Documents,
    parse_options,
    serve,
)
from haiku.rag.client import HaikuRAG
from haiku.rag.client.documents import DocumentImport
from haiku.rag.config import AppConfig

BATCH = 100


class HaikuRag:
    ways = (PLAIN, RERANKING)

    def __init__(self, folder: Path, *, model: str, endpoint: str) -> None:
        self.runner = asyncio.Runner()
        self.settings = {
            "embeddings": {
                "model": {
                    "provider": "openai",
                    "name": "all-MiniLM-L6-v2",
                    "vector_dim": 384,
                    "base_url": endpoint,
                    "api_key": "none",
                }
            },
            "processing": {"chunk_size": CHUNK_TOKENS, "chunking_tokenizer": model},
            "search": {"rerank_pool_factor": RERANKED // HITS},
        }
        ranker = {"model": {"provider": "vllm", "name": "cross-encoder", "base_url": endpoint}}
        self.path = folder / "haiku.lancedb"
        self.clients = {PLAIN: self._open(self.settings)}
        self.rank_settings = {**self.settings, "reranking": ranker}

    def _open(self, settings: dict[str, object]) -> HaikuRAG:
        config = AppConfig.model_validate(settings)
        client = HaikuRAG(self.path, config=config, create=True)
        self.runner.run(client.__aenter__())
        return client

    def load(self, documents: Documents) -> None:
        for start in range(0, len(documents), BATCH):
            self.runner.run(self._load(documents[start : start + BATCH]))

    async def _load(self, documents: Documents) -> None:
        client, imports = self.clients[PLAIN], []
        for key, text in documents:
            document = DoclingDocument(name=key)
            document.add_text(label=DocItemLabel.TEXT, text=text)
            chunks = await client.chunk(document)
            imports.append(DocumentImport(document, chunks, uri=f"peer:{key}"))
        await client.import_documents(imports)

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        if way not in self.clients:
            self.clients[way] = self._open(self.rank_settings)
        hits = self.runner.run(self.clients[way].search(question, HITS))
        return [(hit.document_uri or "").removeprefix("peer:") for hit in hits]


if __name__ == "__main__":
    options = parse_options()
    serve(HaikuRag(options.folder, model=options.model, endpoint=options.endpoint))
