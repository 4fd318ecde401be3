"""Find passages: hybrid retrieval by vectors and words, fusion and reranking."""
