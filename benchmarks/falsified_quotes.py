"""Try to get falsified quotes accepted: ``python benchmarks/falsified_quotes.py FOLDER...``.

Each FOLDER is a data set whose ``corpus.jsonl.gz`` gives the documents. A thousand of their
sentences are changed in one place (a number, a unit, a name, a word, a direction, a negation) and
judged against the document that they come from: by a judge that finds all of it relevant, so that
only the hard checks stand, and by the configured one. Prints how many were accepted of each kind:
as ``supported``, or as ``partial`` where more than a word differs; exits 1 if any was. A quote with
another word may be ``partial``; how many are is printed, too.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import django
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.access.principal import SYSTEM, acting_as
from corpus.sentences import sentence_spans
from evaluation.datasets import read_dataset
from qa.grounding.support import judge_claim
from qa.search.rerankers import get_judge
from qa.types import Scorer
from tests.support.falsified import Falsified, falsify_all

Judge = Callable[[str, Sequence[str]], str]

SEED = 11


def main() -> None:
    options = _parse_options()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
    django.setup()
    report = {folder.name: _measure(folder, options) for folder in options.folders}
    print(json.dumps(report, indent=2))
    sys.exit(any(each["accepted"] for found in report.values() for each in found["judges"]))


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=1_000, help="quotes to falsify")
    parser.add_argument("--documents", type=int, default=600, help="documents to draw from")
    return parser.parse_args()


def _measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
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
    scorers = {"finds all relevant": _credulous, "configured": get_judge().score}
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
    with acting_as(SYSTEM):
        main()
