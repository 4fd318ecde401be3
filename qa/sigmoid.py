"""From logits to chances. Pure."""

import math

# Further out a float tells no chance from 0 or 1, and from 710 on the exponential overflows.
MOST_LOGIT = 60.0


def sigmoid(logit: float) -> float:
    """Return the chance of a logit, in [0, 1]."""
    return 1 / (1 + math.exp(-max(-MOST_LOGIT, min(MOST_LOGIT, logit))))
