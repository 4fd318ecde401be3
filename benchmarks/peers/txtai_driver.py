"""txtai: an embeddings index with BM25 beside the vectors, whole documents."""

from collections.abc import Iterable

from driver import HITS, PLAIN, RERANKED, RERANKING, Documents, parse_options, serve
from txtai import Embeddings
from txtai.pipeline import Reranker, Similarity


class Txtai:
    ways = (PLAIN, RERANKING)

    def __init__(self, *, model: str, reranker: str) -> None:
        # content: the texts are kept, which its reranker reads.
        self.embeddings = Embeddings(path=model, hybrid=True, content=True, gpu=False)
        self.reranker_path = reranker
        self.reranker: Reranker | None = None

    def load(self, documents: Documents) -> None:
        self.embeddings.index((key, text, None) for key, text in documents)

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        if way == PLAIN:
            return [hit["id"] for hit in self.embeddings.search(question, HITS)]
        if self.reranker is None:
            similarity = Similarity(self.reranker_path, crossencode=True, gpu=False)
            self.reranker = Reranker(self.embeddings, similarity)
        hits = self.reranker(question, limit=HITS, factor=RERANKED // HITS)
        return [hit["id"] for hit in hits]


if __name__ == "__main__":
    options = parse_options()
    serve(Txtai(model=options.model, reranker=options.reranker))
