"""Judge one ranking or one answer against what is right: pure functions."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytrec_eval

NDCG_DEPTH = 10
# The depths of the recall curve; the k of a run is added to them.
RECALL_DEPTHS = (1, 3, 5, 10, 20, 50)

# A word, or one character of a script that puts no spaces between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ARTICLES = frozenset({"a", "an", "the"})


def judge_ranking(
    ranking: Sequence[str], relevant: Mapping[str, int], *, k: int
) -> dict[str, float]:
    """Return ``ndcg`` and ``mrr`` of the first ten, and ``recall@d`` at each depth.

    Args:
        ranking: Ids of documents, best first, each once.
        relevant: Grade of each relevant document, above 0.
    """
    depths = sorted({*RECALL_DEPTHS, k})
    recalls = ",".join(map(str, depths))
    deep = _evaluate(ranking, relevant, {f"ndcg_cut.{NDCG_DEPTH}", f"recall.{recalls}"})
    shallow = _evaluate(ranking[:NDCG_DEPTH], relevant, {"recip_rank"})
    return {
        "ndcg": deep.get(f"ndcg_cut_{NDCG_DEPTH}", 0.0),
        "mrr": shallow.get("recip_rank", 0.0),
        "recall": deep.get(f"recall_{k}", 0.0),
        **{f"recall@{depth}": deep.get(f"recall_{depth}", 0.0) for depth in depths},
    }


def _evaluate(
    ranking: Sequence[str], relevant: Mapping[str, int], measures: set[str]
) -> dict[str, float]:
    """Ask pytrec_eval, which knows scores and no ranks; it leaves out an empty ranking."""
    scores = {key: float(len(ranking) - rank) for rank, key in enumerate(ranking)}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict(relevant)}, measures)
    found: dict[str, float] = evaluator.evaluate({"q": scores}).get("q", {})
    return found


def answer_tokens(text: str) -> list[str]:
    """Return the words, in lower case, without punctuation and English articles."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return [token for token in _TOKEN.findall(plain) if token not in _ARTICLES]


def exact_match(answer: str, gold: Iterable[str]) -> float:
    """Return 1 if the answer's words are those of a gold answer, else 0."""
    tokens = answer_tokens(answer)
    return float(any(tokens == answer_tokens(right) for right in gold))


def token_f1(answer: str, gold: Iterable[str]) -> float:
    """Return the best F1 of shared words over the gold answers, in [0, 1]."""
    tokens = Counter(answer_tokens(answer))
    return max((_f1(tokens, Counter(answer_tokens(right))) for right in gold), default=0.0)


def _f1(said: Counter[str], right: Counter[str]) -> float:
    shared = (said & right).total()
    return 2 * shared / (said.total() + right.total()) if shared else 0.0


def contains_gold(answer: str, gold: Iterable[str]) -> float:
    """Return 1 if the words of a gold answer stand in the answer one after the other, else 0."""
    tokens = answer_tokens(answer)
    return float(any(_stands_in(answer_tokens(right), tokens) for right in gold))


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    starts = range(len(whole) - size + 1)
    return bool(size) and any(whole[start : start + size] == part for start in starts)
