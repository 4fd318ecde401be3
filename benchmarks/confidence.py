# ruff: noqa: E402  (models can be imported once Django is set up)
"""Measure how often a promise holds that judged answers prove, and what a refit changes.

    python manage.py evaluate SET --mode answers     # for each set, in the same installation
    python benchmarks/confidence.py SET... [--percent N] [--splits N] [--draws N]

SET is a folder of a data set; its known answers are the judgements. It needs the packages of
`scripts/install evaluation`. Prints three tables, some minutes of a core for four sets:

1. Over random halves, how often one half proves that at most N percent is wrong, how often it does
   not prove what the other half breaks, and the share of questions that are answered then.
2. With so many judgements about other documents, how often they prove it and how often a refit is
   better, and what is answered then. As in a collection, PKB_ANSWER_FROM decides without a proof.
3. The expected calibration error of the shipped fit, and of refits to other documents.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import django
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from django.conf import settings

from evaluation.datasets import read_dataset
from evaluation.fit_confidence import group_of
from evaluation.judged_answers import FOLDS, Judgement, count_levels, refit
from evaluation.metrics import SEED, expected_calibration_error
from evaluation.reports import latest_results
from evaluation.results import ANSWERS
from qa.grounding.confidence import logit, sigmoid
from qa.learned_confidence import choose_level

COUNTS = (0, 25, 50, 100)


class Judged(NamedTuple):
    """The judged quotes of a data set's questions, and how many of these have an answer."""

    name: str
    judgements: Sequence[Judgement]
    answerable: int


def read_judged(folder: Path) -> Judged:
    """Return the quotes of a data set's last evaluation."""
    dataset = read_dataset(folder)
    documents = {document.id: document for document in dataset.documents}
    results = {kept.result.dataset: kept.result for kept in latest_results()}
    observed = results[dataset.name].observations[ANSWERS]
    judgements = [
        Judgement(row["estimate"], row["draft_right"] > 0, group_of(question, documents))
        for question in dataset.questions
        if (row := observed.get(question.id)) and row["estimate"]
    ]
    return Judged(dataset.name, judgements, int(sum(r["answerable"] for r in observed.values())))


def prove_on_halves(judged: Judged, *, percent: int, splits: int) -> list[str]:
    random = np.random.default_rng(SEED)
    half = len(judged.judgements) // 2
    broken, coverages = 0, []
    for _ in range(splits):
        order = [judged.judgements[at] for at in random.permutation(len(judged.judgements))]
        level = choose_level(count_levels(order[:half]), percent)
        if level is None:
            continue
        said = [each for each in order[half:] if each.estimate >= level.answer_from]
        broken += 100 * sum(not each.is_right for each in said) > percent * len(said)
        coverages.append(len(said) / len(order[half:]))
    coverage = f"{np.mean(coverages):.2f}" if coverages else "-"
    proved, held = len(coverages) / splits, 1 - broken / splits
    return [judged.name, f"{half}", f"{proved:.3f}", f"{held:.3f}", coverage]


Parts = tuple[list[Judgement], list[Judgement]]


def split_documents(judged: Judged, *, count: int, draws: int) -> Iterator[Parts]:
    """Yield up to ``count`` judgements about other documents with those about a fifth of them."""
    documents = sorted({each.document for each in judged.judgements})
    for draw in range(draws):
        random = np.random.default_rng(SEED + draw)
        folds = dict(zip(documents, random.permutation(len(documents)) % FOLDS, strict=True))
        for fold in range(FOLDS):
            others = [each for each in judged.judgements if folds[each.document] != fold]
            tested = [each for each in judged.judgements if folds[each.document] == fold]
            yield [others[at] for at in random.permutation(len(others))[:count]], tested


def answer_after(judged: Judged, *, count: int, percent: int, draws: int) -> list[str]:
    said = right = proved = refitted = 0
    for known, tested in split_documents(judged, count=count, draws=draws):
        level, fit = choose_level(count_levels(known), percent), refit(known)
        is_refitted = fit is not None and fit.is_better
        slope, offset = (fit.slope, fit.offset) if fit and is_refitted else (1.0, 0.0)
        bound = level.answer_from if level else sigmoid(
            (logit(settings.PKB_ANSWER_FROM) - offset) / slope
        )  # fmt: skip
        given = [each for each in tested if each.estimate >= bound]
        said, right = said + len(given), right + sum(each.is_right for each in given)
        proved, refitted = proved + (level is not None), refitted + is_refitted
    runs = draws * FOLDS
    wrong = f"{1 - right / said:.3f}" if said else "-"
    answered_right = f"{right / draws / judged.answerable:.3f}"
    return [judged.name, f"{count}", f"{proved / runs:.2f}", f"{refitted / runs:.2f}",
            answered_right, wrong]  # fmt: skip


def compare_errors(judged: Judged, *, draws: int) -> list[str]:
    """Compare over all quotes; a refit is used whether or not it is better."""
    estimates, refitted, right = [], [], []
    for known, tested in split_documents(judged, count=len(judged.judgements), draws=draws):
        fit = refit(known)
        slope, offset = (fit.slope, fit.offset) if fit else (1.0, 0.0)
        estimates += [each.estimate for each in tested]
        refitted += [sigmoid(slope * logit(each.estimate) + offset) for each in tested]
        right += [float(each.is_right) for each in tested]
    size, truth = len(judged.judgements), np.array(right)
    shipped = expected_calibration_error(np.array(estimates[:size]), truth[:size])
    errors = [
        expected_calibration_error(np.array(refitted[at : at + size]), truth[at : at + size])
        for at in range(0, len(refitted), size)
    ]
    return [judged.name, f"{size}", f"{shipped:.3f}", f"{np.mean(errors):.3f}"]


def print_table(*rows: Sequence[str]) -> None:
    heads, *others = rows
    for row in (heads, ["---"] * len(heads), *others):
        print("|", " | ".join(row), "|")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", type=Path, nargs="+", metavar="SET")
    parser.add_argument("--percent", type=int, default=20)
    parser.add_argument("--splits", type=int, default=1_000)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    percent, draws = options.percent, options.draws
    measure([read_judged(folder) for folder in options.sets], percent, options.splits, draws)


def measure(sets: Sequence[Judged], percent: int, splits: int, draws: int) -> None:
    print_table(
        ["set", "judged", "proves it", f"at most {percent} % wrong, or not proved", "answered"],
        *(prove_on_halves(each, percent=percent, splits=splits) for each in sets),
    )
    print_table(
        [
            "set",
            "judged",
            "proves it",
            "refit is better",
            "answered right",
            "wrong, of what is said",
        ],
        *(
            answer_after(each, count=count, percent=percent, draws=draws)
            for each in sets
            for count in COUNTS
        ),
    )
    print_table(
        ["set", "quotes", "error of the shipped fit", "of a refit"],
        *(compare_errors(each, draws=draws) for each in sets),
    )


if __name__ == "__main__":
    main()
