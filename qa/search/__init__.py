"""Find passages: two legs, vectors and words, fused into one list and reranked."""
