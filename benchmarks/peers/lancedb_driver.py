"""LanceDB: vectors and a full-text index of a table, fused by reciprocal ranks; no splitting."""

from collections.abc import Iterable
from pathlib import Path

import lancedb
from driver import HITS, PLAIN, RERANKED, RERANKING, Documents, parse_options, serve
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector
from lancedb.rerankers import CrossEncoderReranker


class LanceDb:
    ways = (PLAIN, RERANKING)

    def __init__(self, folder: Path, *, model: str, reranker: str) -> None:
        self.database = lancedb.connect(folder / "lancedb")
        encoder = get_registry().get("sentence-transformers").create(name=model, device="cpu")

        class Row(LanceModel):  # type: ignore[misc]
            key: str
            text: str = encoder.SourceField()
            vector: Vector(encoder.ndims()) = encoder.VectorField()  # type: ignore[valid-type]

        self.table = self.database.create_table("documents", schema=Row)
        self.reranker_path = reranker
        self.reranker: CrossEncoderReranker | None = None

    def load(self, documents: Documents) -> None:
        self.table.add([{"key": key, "text": text} for key, text in documents])
        self.table.create_fts_index("text")

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        search = self.table.search(question, query_type="hybrid")
        if way == RERANKING:
            if self.reranker is None:
                self.reranker = CrossEncoderReranker(model_name=self.reranker_path, device="cpu")
            search = search.rerank(self.reranker).limit(RERANKED)
        else:
            search = search.limit(HITS)
        return [row["key"] for row in search.to_list()][:HITS]


if __name__ == "__main__":
    options = parse_options()
    serve(LanceDb(options.folder, model=options.model, reranker=options.reranker))
