"""Compare results of answers in a table: ``python benchmarks/answer_figures.py DIR...``.

Each DIR is what ``manage.py evaluate --report DIR`` wrote, or ``PKB_DATA_DIR/evaluations/NAME``.
Prints the rows of a table in Markdown: each share with its 95 % interval and what it is of, the
median of words by itself, and whether the reader in the repository was trained on the set. That
goes by the set's name: of another set that is called the same it is not true. A result without
answers has no row, and a line on stderr.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluation.results import ANSWERS, Result

READER = "minilm-l12-reader"
# The dev sides of these are what its card, qa/readers/minilm-l12-reader.md, says it learned from.
TRAINED_ON = {"squad2", "squad2_more", "clapnq", "covid_qa", "covid_faq", "mtrag_un", "docs_faq"}
# Nor their texts. What is in neither may have texts in common with the first: xquad is of squad's.
HELD_OUT = {"manuals", "evaluation", "financebench", "rgb"}
COLUMNS = {
    "said_right": "right, of what is said",
    "answered_right": "answered right",
    "lost": "answerable, not answered",
    "words": "words",
    "contains_given": "gold answer in those given",
    "citation_precision": "citation precision",
    "refusal_recall": "unanswerable, not answered",
    "foreign_refused": "foreign, not answered",
    "auroc": "AUROC",
    "ece": "ECE",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    folders = parser.parse_args().folders
    heads = ["set, questions", "reader", *COLUMNS.values()]
    print_row(heads)
    print_row(["---"] * len(heads))
    for folder in folders:
        result = Result.from_json(json.loads((folder / "result.json").read_text()))
        if ANSWERS in result.observations:
            print_row(read_cells(result))
        else:
            print(
                f"{folder}: has no answers, only {', '.join(result.observations)}", file=sys.stderr
            )


def print_row(cells: list[str]) -> None:
    print("|", " | ".join(cells), "|")


def read_cells(result: Result) -> list[str]:
    """Return what stands in the row of one result."""
    asked = f"{result.dataset}, {len(result.observations[ANSWERS])}"
    return [asked, tell_reader(result), *(tell(result, name) for name in COLUMNS)]


def tell_reader(result: Result) -> str:
    reader = str(result.settings.get("PKB_READER", READER))
    if reader != READER:
        return reader
    if result.dataset in TRAINED_ON:
        return "trained on"
    return "held out" if result.dataset in HELD_OUT else "not known"


def tell(result: Result, name: str) -> str:
    figure = result.figure(name)
    if figure is None or figure.value is None or figure.low is None or figure.high is None:
        return "-"
    if name == "words":
        return f"{figure.value:.0f}"
    shares = [
        f"{share:.2f}".replace("0.", ".", 1) for share in (figure.value, figure.low, figure.high)
    ]
    return "{} of {} ({} to {})".format(shares[0], figure.n, *shares[1:])


if __name__ == "__main__":
    main()
