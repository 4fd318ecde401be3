"""Measure how near the passages of abstentions are to the answers of a data set.

For each chance from which on a passage would be shown with an abstention: of how many abstentions
on questions that the documents answer something would be shown, of how many the right document,
and of how many on questions that they do not answer.

.venv/bin/python benchmarks/abstentions.py http://127.0.0.1:8000 DATASET --collection NAME
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

CHANCES = (0.0, 0.05, 0.1, 0.15)


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def withheld(client: httpx.Client, dataset: Path, collection: str) -> Iterator[tuple[bool, Any]]:
    """Yield for each abstention whether it is answerable, and scores of its passages."""
    names = {row["id"]: Path(row["path"]).name for row in read(dataset / "corpus.jsonl.gz")}
    for row in read(dataset / "qa.jsonl.gz"):
        query = {"q": row["question"], "collection": collection}
        answer = client.get("/answer", params=query).json()
        gold = {names[key] for key in row["doc_id"] or ()}
        close = [(c["score"], Path(c["source_uri"]).name in gold) for c in answer["closest"]]
        if answer["kind"] == "abstained":
            yield row["answerable"], close


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--collection", default="default")
    given = parser.parse_args()
    with httpx.Client(base_url=given.url, timeout=120) as client:
        found = list(withheld(client, given.dataset, given.collection))
    for chance in CHANCES:
        near = [
            (is_there, [r for score, r in close if score >= chance]) for is_there, close in found
        ]
        there = [rights for is_there, rights in near if is_there]
        absent = [rights for is_there, rights in near if not is_there]
        print(
            f"from {chance:.2f}: answerable {sum(map(bool, there))} of {len(there)},"
            f" the right document {sum(map(any, there))};"
            f" unanswerable {sum(map(bool, absent))} of {len(absent)}"
        )


if __name__ == "__main__":
    main()
