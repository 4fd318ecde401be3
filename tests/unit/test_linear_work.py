"""Nothing that reads a text takes more than in proportion to its length.

While a pattern is matched no other thread runs, so that one text of blanks could stop the service.
Compared is how long a text and one four times as long take: four times as long where work is
linear, sixteen times where it is quadratic.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import pytest

from corpus.chunk_settings import SENTENCELESS
from corpus.ingestion.chunkers import CHUNKERS
from corpus.ingestion.chunkers.budget import ChunkBudget, TokenCounter
from corpus.ingestion.normal_form import Outline, join_blocks, normalize_text
from corpus.loaders.blocks import Block
from corpus.sentences import sentence_spans
from qa import intent
from qa.grounding.support import judge_claim
from qa.segments import split_segments
from qa.types import Exchange
from tests.support.drawing import examples

pytestmark = pytest.mark.no_cover  # tracing would be what is timed

ROOT = Path(__file__).parents[2]
PACKAGES = ("corpus", "qa", "web", "pkb", "evaluation")

# Between the 4 of linear and the 16 of quadratic work.
MAX_GROWTH = 8
# What takes less is not looked at: the clock's own grain would decide.
MIN_S = 0.004
SIZES = (150, 600)

# The first two in each run, all in a campaign.
HEADS = ("", "a", "1", "= a", "what is ", ":a:`", "<a ", "a (")[: examples(2)]
UNITS = (
    " ", "\t", "\n", " \n", ".", "!?", ")", "'", '"', "[", "`", "|", "| ", "-", "- ", "#", "<", "/",
    "*", "=", "_", "\u3002", "a", "a ", "a.", "a, ", "a-", "1", "1.", "1,111,", "0 ", ":a", "aA",
    "\u0301\u0316", "\u1100\u1161",
)  # fmt: skip
TAILS = ("\0", "a", "")[: examples(2)]


def modules() -> list[str]:
    """Name the modules that compile a pattern."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "re.compile(" in path.read_text() and "migrations" not in path.parts:
                parts = path.relative_to(ROOT).with_suffix("").parts
                found.append(".".join(parts).removesuffix(".__init__"))
    return found


def patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns that a module's name stands for, within containers too."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from patterns_in(tuple(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from patterns_in(each)


def hostile_texts(
    words: Iterable[str] = (), *, heads: Iterable[str] = HEADS, tails: Iterable[str] = TAILS
) -> Iterator[Callable[[int], str]]:
    """Yield makers of texts of so many characters: a head, one thing over and over, a tail."""
    for head, unit, tail in product(heads, (*UNITS, *words), tails):
        yield partial(hostile_text, head, unit, tail)


def hostile_text(head: str, unit: str, tail: str, size: int) -> str:
    return head + unit * (size // len(unit)) + tail


def seconds(work: Callable[[Any], object], text: Any, *, runs: int) -> float:
    """Return the least time that the work took in this thread."""
    taken = []
    for _ in range(runs):
        begun = thread_time()
        work(text)
        taken.append(thread_time() - begun)
    return min(taken)


def grows_too_fast(work: Callable[[Any], object], make: Callable[[int], Any]) -> bool:
    for size in SIZES:
        if seconds(work, make(4 * size), runs=1) < MIN_S:
            continue
        # Another process may have disturbed the one or the other, but not each time.
        if all(growth(work, make, size) > MAX_GROWTH for _ in range(3)):
            return True
    return False


def growth(work: Callable[[Any], object], make: Callable[[int], Any], size: int) -> float:
    least = seconds(work, make(size), runs=3)
    return seconds(work, make(4 * size), runs=2) / max(least, MIN_S / 16)


def search_to_the_end(pattern: re.Pattern[Any]) -> Callable[[str], object]:
    is_bytes = isinstance(pattern.pattern, bytes)
    return lambda text: sum(1 for _ in pattern.finditer(text.encode() if is_bytes else text))


def own_words(pattern: re.Pattern[Any]) -> set[str]:
    """What the pattern itself names: near matches are made of it."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    return {f"{word} " for word in re.findall(r"(?<!\\)[A-Za-z<!]{2,}", source)[:12]}


@pytest.mark.parametrize("module", modules())
def test_no_pattern_is_worse_than_linear(module: str) -> None:
    slow = []
    for name, value in vars(import_module(module)).items():
        for pattern in patterns_in(value):
            work = search_to_the_end(pattern)
            texts = hostile_texts(own_words(pattern))
            if found := next((make for make in texts if grows_too_fast(work, make)), None):
                slow.append((name, found(8)))
    assert slow == []


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [(r"[ \t]+$", " "), (r"[.!?]+(?=\s)", "."), (r"\s*,?\s+and", " "), (r"it.*?to", "it ")],
)
def test_what_is_quadratic_is_told(pattern: str, unit: str) -> None:
    work = search_to_the_end(re.compile(pattern))
    assert grows_too_fast(work, lambda size: unit * (size // len(unit)) + "\0")


def cut(strategy: str) -> Callable[[str], object]:
    # The shorter text is cut too: a text that stays whole would be compared with one that does not.
    def work(text: str) -> object:
        spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
        counter = TokenCounter(spans, lambda piece: len(piece.split()))
        budget = ChunkBudget(counter, 20, 0, 0 if strategy in SENTENCELESS else 1, counter, 200)
        return list(CHUNKERS[strategy](text, outline=Outline(), budget=lambda path: budget))

    return work


def judge(claim: str, source: str) -> object:
    return judge_claim(claim, [source], score=lambda _, sources: np.ones(len(sources), np.float32))


CLAIM = "The port is 8000 and not 10."
WORK: dict[str, Callable[[str], object]] = {
    "normal form": lambda text: normalize_text(text.replace("\0", "x")),
    "blocks": lambda text: join_blocks(map(Block, text.replace("\0", "x").split("\n"))),
    "sentences": sentence_spans,
    "segments": split_segments,
    "phrases of a question": intent.find_phrases,
    "sentences of a question": intent.find_sentences,
    "parts of a question": lambda text: intent.split_question(f"What is {text}?"),
    "greeting": intent.is_greeting,
    "request": intent.classify_request,
    "summary": intent.find_document_name,
    "summary of all": intent.asks_for_overview,
    "comparison": lambda text: intent.split_comparison(f"Compare {text}"),
    "sides": lambda text: intent.split_comparison(f"{text} vs {text}"),
    "documents sought": lambda text: intent.parse_document_query(f"which documents {text}"),
    "follow-up": lambda text: intent.complete_follow_up(text, [Exchange(CLAIM, CLAIM, "")]),
    "topic": lambda text: intent.complete_follow_up("And it?", [Exchange(text, text, "")]),
    "claim": lambda text: judge(text, CLAIM),
    "source": lambda text: judge(CLAIM, text),
    "copy": lambda text: judge(text, f"{text} x"),
    **{f"chunks by {strategy}": cut(strategy) for strategy in CHUNKERS},
}
PHRASES = (
    "what is the port and ", "it is to ", "not ", "one hundred ", "Big Name ", "10 kg ", "- a\n",
    "| a | b |\n", "```\n", "```a\n", "# a\n", "a b c. ", "the ",
)  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_no_work_is_worse_than_linear(name: str) -> None:
    texts = hostile_texts(PHRASES, heads=[""], tails=["a"])
    slow = [make(12) for make in texts if grows_too_fast(WORK[name], make)]
    assert slow == []
