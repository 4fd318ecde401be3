"""What holds for every strategy, unit and text."""

import re
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.chunk_settings import SENTENCELESS
from corpus.embedders.tokens import count_cl100k_tokens, find_cl100k_spans
from corpus.ingestion.chunkers import CHUNKERS
from corpus.ingestion.chunkers.budget import (
    CharacterCounter,
    ChunkBudget,
    LengthCounter,
    TokenCounter,
)
from corpus.ingestion.chunkers.sections import Span
from corpus.ingestion.normal_form import Outline, join_blocks, normalize_text
from corpus.loaders.blocks import Block

# What is drawn decides what is run.
pytestmark = pytest.mark.no_cover

EMBEDDER_LIMIT = 30
every_strategy = pytest.mark.parametrize("strategy", list(CHUNKERS))

words = st.sampled_from(
    ["alpha", "beta", "Gamma", "x" * 90, "Dr.", "end.", "stop!", "第一句。", "|", "```", "\n", "  "]
)
bodies = st.lists(words, min_size=1, max_size=60).map(" ".join)
blocks = st.lists(
    st.one_of(
        bodies.map(Block),
        bodies.map(lambda body: Block("\n".join(f"| {word} |" for word in body.split()))),
        st.integers(1, 6).map(lambda level: Block("#" * level + " Head", level, f"Head {level}")),
    ),
    max_size=8,
)


class Case(NamedTuple):
    text: str
    outline: Outline
    unit: str
    size: int
    overlap: int
    overlap_sentences: int

    def counter(self) -> LengthCounter:
        if self.unit == "characters":
            return CharacterCounter()
        if self.unit == "cl100k_tokens":
            return TokenCounter(find_cl100k_spans(self.text), count_cl100k_tokens)
        return self.embedder_counter()

    def embedder_counter(self) -> LengthCounter:
        spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", self.text)]
        return TokenCounter(spans, lambda text: len(re.findall(r"\w+|[^\w\s]", text)))

    def split(self, strategy: str) -> list[Span]:
        embedder = self.embedder_counter()
        counter = embedder if self.unit == "tokens" else self.counter()
        sentences = 0 if strategy in SENTENCELESS else self.overlap_sentences

        def budget(path: tuple[str, ...]) -> ChunkBudget:
            limit = EMBEDDER_LIMIT - len(path)
            return ChunkBudget(counter, self.size, self.overlap, sentences, embedder, limit)

        return list(CHUNKERS[strategy](self.text, outline=self.outline, budget=budget))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    text, outline = join_blocks(draw(blocks))
    unit = draw(st.sampled_from(["tokens", "cl100k_tokens", "characters"]))
    size = draw(st.integers(64, 400) if unit == "characters" else st.integers(16, 60))
    overlap = draw(st.just(0) | st.integers(0, size // 2))
    return Case(text, outline, unit, size, overlap, draw(st.integers(0, 3)))


@every_strategy
@given(case=cases())
def test_every_character_is_in_a_chunk(strategy: str, case: Case) -> None:
    covered = {i for span in case.split(strategy) for i in range(span.start, span.end)}
    assert all(char.isspace() or i in covered for i, char in enumerate(case.text))


@every_strategy
@given(case=cases())
def test_no_chunk_is_over_its_limit(strategy: str, case: Case) -> None:
    counter, embedder = case.counter(), case.embedder_counter()
    for span in case.split(strategy):
        assert counter.count(span.start, span.end) <= case.size
        tokens = embedder.count(span.start, span.end)
        assert tokens <= EMBEDDER_LIMIT - len(span.heading_path)


@every_strategy
@given(case=cases())
def test_chunks_are_in_order_trimmed_and_none_is_inside_another(strategy: str, case: Case) -> None:
    spans = case.split(strategy)
    for before, after in pairwise(spans):
        assert before.start < after.start
        assert before.end < after.end
    for span in spans:
        piece = case.text[span.start : span.end]
        assert piece == piece.strip() != ""


@every_strategy
@given(case=cases())
def test_neighbours_share_no_more_than_was_asked_for(strategy: str, case: Case) -> None:
    counter = case.counter()
    for before, after in pairwise(case.split(strategy)):
        if case.overlap and after.start < before.end:
            assert counter.count(after.start, before.end) <= case.overlap


@pytest.mark.parametrize("strategy", ["sentence", "recursive", "semantic"])
@given(count=st.integers(100, 300), overlap=st.integers(1, 9))
def test_neighbours_share_all_that_was_asked_for(strategy: str, count: int, overlap: int) -> None:
    text = " ".join(["word"] * count)
    case = Case(text, Outline(), "tokens", 20, overlap, 0)
    for before, after in pairwise(case.split(strategy)):
        assert len(text[after.start : before.end].split()) == overlap


@pytest.mark.parametrize("strategy", ["structure", "auto"])
@given(case=cases())
def test_no_large_section_is_joined_to_another(strategy: str, case: Case) -> None:
    embedder = case.embedder_counter()
    starts = [h.start for h in case.outline.headings if h.level <= 3]
    for span in case.split(strategy):
        inside = [start for start in starts if span.start < start < span.end]
        for start in inside:
            assert embedder.count(span.start, start) < 32


@given(text=st.text(max_size=300).filter(lambda t: "\x00" not in t))
def test_cl100k_spans_cover_the_text(text: str) -> None:
    clean = normalize_text(text.encode("utf-8", "ignore").decode()) if text.isprintable() else ""
    spans = find_cl100k_spans(clean)
    assert {i for start, end in spans for i in range(start, end)} == set(range(len(clean)))
    assert len(spans) == count_cl100k_tokens(clean)
