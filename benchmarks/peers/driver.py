"""Shared parts of the drivers: options, and the line protocol of ``benchmarks/peers.py``.

A driver runs in the environment of its stack, so nothing but the standard library is imported here.
One JSON object a line, each answered by one, the first told by the driver itself::

    {"ways": ["hybrid", ...]}
    {"load": [["id", "text"], ...]}           {"loaded": 2}
    {"ask": "a question", "way": "hybrid"}    {"ids": ["id", ...]}
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

# Hits requested from each stack: the depth of the metrics.
HITS = 10
# Candidates of a reranker: as many as in pkb.
RERANKED = 20
# MiniLM reads 256 tokens, of which 2 are its own; a word of English text is 1.3, of science 1.5.
CHUNK_TOKENS, CHUNK_WORDS, OVERLAP = 240, 160, 20

PLAIN, RERANKING = "hybrid", "hybrid, reranked"
Documents = Sequence[tuple[str, str]]


class Stack(Protocol):
    """An empty stack."""

    @property
    def ways(self) -> Sequence[str]:
        """Return the search modes; the first needs the least memory, and is warmed up first."""

    def load(self, documents: Documents) -> None:
        """Ingest (id, text) pairs, and build the index."""

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        """Return document ids, best first, possibly repeated."""


def parse_options() -> argparse.Namespace:
    """Return the options: two model folders, an empty folder, and server addresses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--reranker", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--database", default="")
    parser.add_argument("--endpoint", default="")
    return parser.parse_args()


def serve(stack: Stack) -> None:
    """Answer line by line, until there are no more."""
    # Output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    converse(stack, sys.stdin, answers)


def converse(stack: Stack, lines: Iterable[str], answers: TextIO) -> None:
    for answer in _answer_all(stack, lines):
        print(json.dumps(answer), file=answers, flush=True)


def _answer_all(stack: Stack, lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    yield {"ways": list(stack.ways)}
    for line in lines:
        said = json.loads(line)
        if "load" in said:
            documents = [(key, text) for key, text in said["load"]]
            stack.load(documents)
            yield {"loaded": len(documents)}
        else:
            # A document with several hits takes the rank of its first.
            yield {"ids": list(dict.fromkeys(stack.ask(said["ask"], way=said["way"])))}
