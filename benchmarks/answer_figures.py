"""Put results of answers side by side: ``python benchmarks/answer_figures.py DIR...``.

Each DIR is what ``manage.py evaluate --report DIR`` wrote, or ``PKB_DATA_DIR/evaluations/NAME``.
Prints the rows of a table in Markdown: each figure with its 95 % interval and what it is of, and
whether the reader in the repository was trained on the set.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluation.results import Result

# The dev sides of these, of which qa/readers/minilm-l12-reader.md tells.
TRAINED_ON = {"squad2", "squad2_more", "clapnq", "covid_qa", "covid_faq", "mtrag_un", "docs_faq"}
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    heads = ["set, questions", "reader", *COLUMNS.values()]
    print_row(heads)
    print_row(["---"] * len(heads))
    for folder in parser.parse_args().folders:
        print_row(read_cells(Result.from_json(json.loads((folder / "result.json").read_text()))))


def print_row(cells: list[str]) -> None:
    print("|", " | ".join(cells), "|")


def read_cells(result: Result) -> list[str]:
    """Return what stands in the row of one result."""
    asked = f"{result.dataset}, {len(result.observations['answers'])}"
    reader = "trained on" if result.dataset in TRAINED_ON else "held out"
    if result.settings.get("PKB_READER") == "none":
        reader = "none"
    return [asked, reader, *(tell(result, name) for name in COLUMNS)]


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
