"""How sure a figure is: bootstrap intervals and a paired test, for any statistic of questions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Statistic = Callable[[Array], float]
"""From rows, one a question, shape (n, c), to one number; not a number where none bears on it."""

ROUNDS = 1_000
SEED = 20_260_101


def bootstrap_interval(
    rows: Array, statistic: Statistic, *, rounds: int = ROUNDS, seed: int = SEED
) -> tuple[float, float]:
    """Return the percentile interval that holds 95 % of the resampled values.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    random = np.random.default_rng(seed)
    size = len(rows)
    drawn = [statistic(rows[random.integers(0, size, size)]) for _ in range(rounds)]
    values = np.array(drawn)
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def paired_p_value(
    before: Array,
    after: Array,
    statistic: Statistic,
    *,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> float:
    """Return how often chance alone moves the statistic as far, two-sided.

    Under the null hypothesis the two configurations can be exchanged at any question; each round
    does so at random.

    Args:
        before: Rows of one configuration, shape (n, c); ``after`` those of the other for the
            same questions in the same order.

    Source: Smucker, Allan and Carterette, A Comparison of Statistical Significance Tests for
        Information Retrieval Evaluation, CIKM 2007.
    """
    seen = abs(statistic(after) - statistic(before))
    if np.isnan(seen):
        return float("nan")
    random = np.random.default_rng(seed)
    as_far = 0
    for _ in range(rounds):
        swap = random.integers(0, 2, (len(before), 1)).astype(bool)
        moved = statistic(np.where(swap, before, after)) - statistic(np.where(swap, after, before))
        # Rounding must not decide on a difference that is the same.
        as_far += np.isnan(moved) or abs(moved) >= seen - 1e-12
    return (as_far + 1) / (rounds + 1)
