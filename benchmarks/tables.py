"""Measure the calculations with cells of tables on TAT-QA's test part, each with its context given.

    python benchmarks/tables.py FOLDER

The folder holds ``corpus.jsonl.gz`` (rows with ``id`` and ``text``; the rows of tables are lines
with `` | `` between cells) and ``qa.jsonl.gz`` (rows with ``question``, ``doc_id``, ``answers``,
``scale`` and ``answer_type``). A result is right if its number, to two decimals, and its scale
are; an extreme, if its year or row is; a share without a scale equals its percentage.
"""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.loaders.table_blocks import table_blocks
from qa.table_answers import Calculation, find_calculation, find_extreme_row
from qa.types import Passage

_TOLERANCE = Decimal("0.011")
_SCALES = {"%": "percent", "percentage points": "percent"}


def main() -> None:
    folder = Path(sys.argv[1])
    texts = {row["id"]: stored_text(row["text"]) for row in rows_of(folder / "corpus.jsonl.gz")}
    asked, said, right = Counter[str](), Counter[str](), Counter[str]()
    for row in rows_of(folder / "qa.jsonl.gz"):
        kind, text = row["answer_type"], texts[row["doc_id"]]
        passage = Passage(row["doc_id"], row["doc_id"], "", "", "", (), None, text, 0, len(text))
        asked[kind] += 1
        question = row["question"]
        made = find_calculation(question, [passage]) or find_extreme_row(question, [passage])
        if made is not None:
            said[kind] += 1
            right[kind] += is_right(made, row)
    for kind, count in asked.items():
        sys.stdout.write(f"{kind}: asked {count}, said {said[kind]}, right {right[kind]}\n")
    share = right.total() / max(said.total(), 1)
    sys.stdout.write(f"right of what is said: {right.total()} of {said.total()}, {share:.3f}\n")


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


def stored_text(text: str) -> str:
    """Return a context as the loaders store it: its table in Markdown."""
    blocks: list[str] = []
    for block in text.split("\n\n"):
        rows = [line.split(" | ") for line in block.split("\n")]
        is_table = len(rows) > 1 and " | " in block
        blocks += [each.text for each in table_blocks(rows)] if is_table else [block]
    return "\n\n".join(blocks)


def is_right(made: Calculation, row: dict[str, Any]) -> bool:
    if made.column:
        return str(row["answers"][0]).lower() in made.column.lower()
    try:
        gold = Decimal(str(row["answers"][0]).strip("$% ").replace(",", ""))
    except InvalidOperation:
        return False
    scale = _SCALES.get(made.unit, made.unit)
    if scale == "percent" and not row["scale"]:
        return abs(made.number / 100 - gold) < _TOLERANCE / 100
    return scale == row["scale"] and abs(made.number - gold) < _TOLERANCE


if __name__ == "__main__":
    main()
