"""How sure an answer is, from the reranker's judgement of its evidence."""

import math

# A logistic model over the cross-encoder's raw scores of the best quoted sentence and of the
# passage it stands in, both for the question as asked.
SENTENCE_WEIGHT = 0.25
PASSAGE_WEIGHT = 0.25
INTERCEPT = 0.0


def estimate_confidence(*, sentence: float, passage: float) -> float:
    """Return the chance that the evidence answers the question, in [0, 1].

    Args:
        sentence: Raw relevance of the best quoted sentence.
        passage: Raw relevance of the best quoted passage.
    """
    logit = SENTENCE_WEIGHT * sentence + PASSAGE_WEIGHT * passage + INTERCEPT
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))
