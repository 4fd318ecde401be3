"""Measure the check of claims, and try to get falsified quotes accepted.

    python benchmarks/claims.py FOLDER [--limit N] [--fit]
    python benchmarks/claims.py --falsified FOLDER... [--count N] [--documents N]

FOLDER holds ``claims.jsonl.gz`` and ``sentences.jsonl.gz`` (SciFact's claims with their abstracts).
Prints JSON: AUROC of the score, evidence that supports against abstracts without evidence, and the
share of each verdict by label, for claims of even number (the constants of
qa/grounding/support/verdict.py come from) and of odd number apart. ``--fit`` prints new constants.

With ``--falsified`` each FOLDER is a data set whose ``corpus.jsonl.gz`` gives the documents. A
thousand of their sentences are changed in one place (a number, a unit, a name, a word, a direction,
a negation) and judged against the document that they come from: by a judge that finds all of it
relevant, so that only the hard checks stand, and by the configured one. Prints how many were
accepted of each kind: as ``supported``, or as ``partial`` where more than a word differs; exits 1
if any was. A quote with another word may be ``partial``; how many are is printed, too.
"""

import argparse
import gzip
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import django
import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.access.principal import SYSTEM, acting_as
from corpus.sentences import sentence_spans
from evaluation.datasets import read_dataset
from qa.grounding.support import Support, judge_claim
from qa.grounding.support.verdict import (
    COVERAGE_WEIGHT,
    RELEVANCE_WEIGHT,
    share_covered,
)
from qa.grounding.support.words import read_words
from qa.search.rerankers import rerankers
from qa.search.rerankers.cross_encoder_reranker import CrossEncoderReranker
from qa.types import Scorer
from tests.support.falsified import Falsified, falsify_all

SUPPORT, CONTRADICT, NEITHER = "SUPPORT", "CONTRADICT", "NEITHER"
SEED = 11

Judge = Callable[[str, Sequence[str]], str]


class Pair(NamedTuple):
    """A claim with the sentences of one abstract, and their relation."""

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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
    django.setup()
    with acting_as(SYSTEM):
        if options.falsified:
            report = {
                folder.name: _measure_falsified(folder, options) for folder in options.folders
            }
            judges = [judge for each in report.values() for judge in each["judges"]]
        else:
            report, judges = _measure_verdicts(options), []
    print(json.dumps(report, indent=2))
    sys.exit(any(judge["accepted"] for judge in judges))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--limit", type=int, default=None, help="pairs to measure")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--falsified", action="store_true")
    parser.add_argument("--count", type=int, default=1_000, help="quotes to falsify")
    parser.add_argument("--documents", type=int, default=600, help="documents to draw them from")
    return parser.parse_args()


def _measure_verdicts(options: argparse.Namespace) -> dict[str, Any]:
    reranker = CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=options.threads)
    pairs = list(_read_pairs(options.folders[0]))[: options.limit]
    measured = [_measure(pair, reranker) for pair in pairs]
    halves = {
        name: [each for each in measured if each.pair.is_even is is_even]
        for name, is_even in (("even", True), ("odd", False))
    }
    report: dict[str, Any] = {name: _summarize(half) for name, half in halves.items()}
    if options.fit:
        report["fitted on even"] = _fit(halves["even"])
    return report


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
    """Return the output of the logistic model for each pair, with the current constants."""
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


def _measure_falsified(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    documents = [each.text for each in read_dataset(folder).documents]
    drawn = Random(SEED).sample(documents, min(options.documents, len(documents)))  # noqa: S311
    sources = {
        sentence: sentences
        for sentences in ([text[a:z] for a, z in sentence_spans(text)] for text in drawn)
        for sentence in sentences
    }
    made = falsify_all(list(sources), count=2 * options.count, seed=SEED)
    # "1)." may become the existing "2).", which is not a falsified quote.
    falsified = [each for each in made if each.text not in sources[each.original]][: options.count]
    judge = rerankers[settings.PKB_JUDGE_MODEL]
    scorers = {"finds all relevant": _credulous, "configured": judge.score}
    judges: dict[str, Judge] = {name: _judge_by(score) for name, score in scorers.items()}
    return {
        "falsified": Counter(each.kind for each in falsified),
        "judges": [
            {"judge": name} | _count_accepted(falsified, sources, judge)
            for name, judge in judges.items()
        ],
    }


def _judge_by(score: Scorer) -> Judge:
    return lambda text, sources: judge_claim(text, sources, score=score).verdict


def _credulous(claim: str, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.full(len(texts), 10.0, np.float32)


def _count_accepted(
    falsified: Sequence[Falsified], sources: dict[str, list[str]], judge: Judge
) -> dict[str, Any]:
    judged = [(each, judge(each.text, sources[each.original])) for each in falsified]
    partial = [each for each, verdict in judged if verdict == "partial"]
    accepted = [each for each, verdict in judged if verdict == "supported"]
    accepted += [each for each in partial if each.kind != "word"]
    return {
        "accepted": len(accepted),
        "by kind": Counter(each.kind for each in accepted),
        "examples": [each.text for each in accepted[:5]],
        "partial": len(partial),
    }


if __name__ == "__main__":
    main()
