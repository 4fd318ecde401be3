"""txtai: an embeddings index with BM25 beside the vectors, whole documents."""

from collections.abc import Iterable

from driver import HITS, PLAIN, RERANKED, RERANKING, Documents, parse_options, serve
from transformers import pipeline
from txtai import Embeddings
from txtai.pipeline import Reranker, Similarity

# What the cross-encoder reads at most.
PAIR_TOKENS = 512


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
            # Its own pipeline cuts no pair, and falls at one that is longer than the model reads.
            pairs = pipeline(
                "text-classification",
                model=self.reranker_path,
                device="cpu",
                truncation=True,
                max_length=PAIR_TOKENS,
            )
            self.reranker = Reranker(self.embeddings, Similarity(model=pairs, crossencode=True))
        hits = self.reranker(question, limit=HITS, factor=RERANKED // HITS)
        return [hit["id"] for hit in hits]


if __name__ == "__main__":
    options = parse_options()
    serve(Txtai(model=options.model, reranker=options.reranker))
