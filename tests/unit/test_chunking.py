import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from corpus.ingestion.chunking import Span, TokenRuler, split_text
from corpus.ingestion.normalizing import Outline, join_blocks, normalize_text
from corpus.loading import Block

LIMIT = 20


def ruler_of(text: str) -> TokenRuler:
    return TokenRuler([match.span() for match in re.finditer(r"\w+|[^\w\s]", text)])


def split(text: str, outline: Outline | None = None, limit: int = LIMIT) -> list[Span]:
    return split_text(
        text, outline=outline or Outline(), ruler=ruler_of(text), limit=lambda path: limit
    )


words = st.sampled_from(["alpha", "beta", "Gamma", "x" * 90, "Dr.", "end.", "stop!", "第一句。"])
texts = st.lists(st.lists(words, min_size=1, max_size=60).map(" ".join), max_size=6).map(
    "\n\n".join
)


@given(texts)
def test_every_character_is_in_a_chunk(raw: str) -> None:
    text = normalize_text(raw)
    covered = {i for span in split(text) for i in range(span.start, span.end)}
    assert all(char.isspace() or i in covered for i, char in enumerate(text))


@given(texts)
def test_no_chunk_is_over_the_limit(raw: str) -> None:
    text = normalize_text(raw)
    ruler = ruler_of(text)
    assert all(ruler.count(span.start, span.end) <= LIMIT for span in split(text))


@given(texts)
def test_chunks_are_in_order_and_trimmed(raw: str) -> None:
    text = normalize_text(raw)
    spans = split(text)
    assert [s.start for s in spans] == sorted(s.start for s in spans)
    for span in spans:
        assert text[span.start : span.end] == text[span.start : span.end].strip() != ""


def test_small_paragraphs_are_packed() -> None:
    text = "One two three.\n\nFour five six.\n\nSeven eight nine."
    assert [text[s.start : s.end] for s in split(text)] == [text]


def test_windows_of_a_long_paragraph_share_one_sentence() -> None:
    text = " ".join(f"Sentence {n} has five words." for n in range(12))
    spans = split(text)
    assert len(spans) > 2
    for before, after in pairwise(spans):
        shared = text[after.start : before.end]
        assert re.fullmatch(r"Sentence \d+ has five words\.", shared)


def test_a_sentence_over_the_limit_is_cut() -> None:
    text = " ".join(["word"] * 50)
    assert [len(text[s.start : s.end].split()) for s in split(text)] == [20, 20, 10]


def test_a_word_without_end_is_cut() -> None:
    text = "x" * 5_000
    assert max(s.end - s.start for s in split(text)) <= LIMIT * 12


def outlined(*blocks: Block) -> tuple[str, Outline]:
    return join_blocks(blocks)


def test_chunks_know_their_headings_and_pages() -> None:
    body = "word " * 35
    text, outline = outlined(
        Block("# Coasts", 1, "Coasts", page=1),
        Block(body, page=1),
        Block("## Lights", 2, "Lights", page=2),
        Block(body, page=2),
        Block("# Hills", 1, "Hills", page=3),
        Block(body, page=3),
    )
    spans = split(text, outline, limit=50)
    assert [(s.heading_path, s.heading_level, s.page) for s in spans] == [
        (("Coasts",), 1, 1),
        (("Coasts", "Lights"), 2, 2),
        (("Hills",), 1, 3),
    ]


def test_a_lone_heading_goes_with_the_section_below_it() -> None:
    text, outline = outlined(
        Block("# Top", 1, "Top"), Block("## Sub", 2, "Sub"), Block("word " * 40)
    )
    spans = split(text, outline, limit=60)
    assert [s.heading_path for s in spans] == [("Top", "Sub")]


def test_a_heading_is_not_a_chunk_of_its_own() -> None:
    text, outline = outlined(Block("# Top", 1, "Top"), Block("A b c d e. " * 10))
    spans = split(text, outline)
    assert text[spans[0].start : spans[0].end].startswith("# Top\n\nA b")


def test_a_heading_of_level_4_does_not_end_a_chunk() -> None:
    text, outline = outlined(Block("Some words."), Block("#### Deep", 4, "Deep"), Block("More."))
    assert len(split(text, outline)) == 1


def test_white_space_gives_no_chunk() -> None:
    assert split("") == []
