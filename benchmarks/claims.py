"""Measure the claim check: ``python benchmarks/claims.py FOLDER [--limit N] [--fit]``.

FOLDER holds ``claims.jsonl.gz`` and ``sentences.jsonl.gz`` (SciFact's claims with their abstracts).
Prints JSON: AUROC of the score, evidence that supports against abstracts without evidence, and the
share of each verdict by label, for claims of even number (on which the constants of
qa/proof/support/verdict.py were fitted) and of odd number apart. ``--fit`` prints new constants.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from qa.proof.support import Support, judge_claim
from qa.proof.support.verdict import COVERAGE_WEIGHT, RELEVANCE_WEIGHT, share_covered
from qa.proof.support.words import read_words
from qa.search.rerankers.cross_encoder import CrossEncoderReranker

SUPPORT, CONTRADICT, NEITHER = "SUPPORT", "CONTRADICT", "NEITHER"


class Pair(NamedTuple):
    """A claim with the sentences of one abstract, and what they are to it."""

    is_even: bool
    claim: str
    sentences: list[str]
    label: str


class Measured(NamedTuple):
    """A pair with its verdict, the best raw relevance and the share of its words covered."""

    pair: Pair
    found: Support
    relevance: float
    coverage: float


def main() -> None:
    options = _parse_options()
    reranker = CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=options.threads)
    pairs = list(_read_pairs(options.folder))[: options.limit]
    measured = [_measure(pair, reranker) for pair in pairs]
    halves = {
        name: [each for each in measured if each.pair.is_even is is_even]
        for name, is_even in (("even", True), ("odd", False))
    }
    report: dict[str, Any] = {name: _summarize(half) for name, half in halves.items()}
    if options.fit:
        report["fitted on even"] = _fit(halves["even"])
    print(json.dumps(report, indent=2))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=None, help="pairs to measure")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    return parser.parse_args()


def _read_rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _read_pairs(folder: Path) -> Iterator[Pair]:
    texts = {row["id"]: row["sentences"] for row in _read_rows(folder / "sentences.jsonl.gz")}
    for row in _read_rows(folder / "claims.jsonl.gz"):
        labels = {each["doc_id"]: each["label"] for each in row["evidence"]}
        labels |= dict.fromkeys(row["not_enough_info_docs"], NEITHER)
        is_even = int(row["id"].rpartition("-")[2]) % 2 == 0
        for document, label in labels.items():
            if document in texts:
                yield Pair(is_even, row["claim"], texts[document], label)


def _measure(pair: Pair, reranker: CrossEncoderReranker) -> Measured:
    raws = reranker.score(pair.claim, pair.sentences)
    by_text = dict(zip(pair.sentences, raws, strict=True))
    found = judge_claim(
        pair.claim,
        pair.sentences,
        score=lambda _, texts: np.array([by_text[text] for text in texts], np.float32),
    )
    words = [read_words(text) for text in pair.sentences]
    return Measured(pair, found, float(raws.max()), share_covered(read_words(pair.claim), words))


def _summarize(measured: Sequence[Measured]) -> dict[str, Any]:
    told = [each for each in measured if each.pair.label != CONTRADICT]
    is_support = [each.pair.label == SUPPORT for each in told]
    return {
        "auroc": round(roc_auc_score(is_support, [each.found.score for each in told]), 3),
        "auroc without the hard checks": round(roc_auc_score(is_support, _weigh(told)), 3),
        "auroc of relevance alone": round(
            roc_auc_score(is_support, [each.relevance for each in told]), 3
        ),
        **{
            label: _shares([each.found.verdict for each in measured if each.pair.label == label])
            for label in (SUPPORT, NEITHER, CONTRADICT)
        },
    }


def _weigh(measured: Sequence[Measured]) -> list[float]:
    """What the logistic model makes of each pair, by the constants in force."""
    return [
        RELEVANCE_WEIGHT * each.relevance + COVERAGE_WEIGHT * each.coverage for each in measured
    ]


def _shares(verdicts: Sequence[str]) -> dict[str, float]:
    counts = Counter(verdicts)
    return {"n": len(verdicts)} | {
        verdict: round(count / len(verdicts), 3) for verdict, count in counts.most_common()
    }


def _fit(measured: Sequence[Measured]) -> dict[str, float]:
    told = [each for each in measured if each.pair.label != CONTRADICT]
    features = np.array([[each.relevance, each.coverage] for each in told])
    model = LogisticRegression(C=10).fit(features, [each.pair.label == SUPPORT for each in told])
    relevance, coverage = model.coef_[0]
    return {
        "RELEVANCE_WEIGHT": round(float(relevance), 3),
        "COVERAGE_WEIGHT": round(float(coverage), 3),
        "INTERCEPT": round(float(model.intercept_[0]), 3),
    }


if __name__ == "__main__":
    main()
