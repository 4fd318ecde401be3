import re
from itertools import pairwise

import pytest

from corpus.chunk_settings import SENTENCELESS
from corpus.ingestion.chunkers import CHUNKERS
from corpus.ingestion.chunkers.budget import CharacterCounter, ChunkBudget, TokenCounter
from corpus.ingestion.chunkers.scopes import MAX_NAMES
from corpus.ingestion.chunkers.sections import Span
from corpus.ingestion.normal_form import Outline, join_blocks
from corpus.loaders.blocks import Block

LIMIT = 20


def ruler_of(text: str) -> TokenCounter:
    return TokenCounter([match.span() for match in re.finditer(r"\w+|[^\w\s]", text)])


def split(
    text: str,
    outline: Outline | None = None,
    *,
    strategy: str = "structure",
    size: int = LIMIT,
    overlap: int = 0,
    sentences: int = 1,
) -> list[Span]:
    counter = ruler_of(text)
    shared = 0 if strategy in SENTENCELESS else sentences
    budget = ChunkBudget(counter, size, overlap, shared, counter, 256)
    return list(CHUNKERS[strategy](text, outline=outline or Outline(), budget=lambda path: budget))


def cut(text: str, outline: Outline | None = None, **rule: int | str) -> list[str]:
    return [text[s.start : s.end] for s in split(text, outline, **rule)]  # type: ignore[arg-type]


def sentences(count: int) -> str:
    return " ".join(f"Sentence {n} has five words." for n in range(count))


def test_small_paragraphs_are_packed() -> None:
    text = "One two three.\n\nFour five six.\n\nSeven eight nine."
    assert cut(text) == [text]


@pytest.mark.parametrize("strategy", ["sentence", "structure"])
def test_windows_of_a_long_paragraph_share_one_sentence(strategy: str) -> None:
    text = sentences(12)
    spans = split(text, strategy=strategy)
    assert len(spans) > 2
    for before, after in pairwise(spans):
        shared = text[after.start : before.end]
        assert re.fullmatch(r"Sentence \d+ has five words\.", shared)


def test_a_paragraph_that_begins_a_chunk_shares_no_sentence() -> None:
    first, second = "One two three. Four five six.", "Seven eight nine. Ten eleven twelve."
    assert cut(f"{first}\n\n{second}", size=10) == [first, second]


def test_an_overlap_is_of_whole_sentences_that_fit_or_of_words() -> None:
    text = sentences(40)
    for before, after in pairwise(split(text, strategy="sentence", size=48, overlap=15)):
        assert len(re.findall("Sentence", text[after.start : before.end])) == 2
    text = sentences(40)
    for before, after in pairwise(split(text, strategy="sentence", size=48, overlap=4)):
        assert text[after.start : before.end] == "has five words."


def test_a_sentence_over_the_limit_is_cut() -> None:
    text = " ".join(["word"] * 50)
    assert [len(piece.split()) for piece in cut(text)] == [20, 20, 10]


@pytest.mark.parametrize("strategy", list(CHUNKERS))
def test_a_word_without_end_is_cut(strategy: str) -> None:
    text = "x" * 5_000
    assert max(map(len, cut(text, strategy=strategy))) <= LIMIT * 12


def test_the_embedder_takes_less_than_was_asked_for() -> None:
    text = "word " * 600
    assert max(len(piece.split()) for piece in cut(text, size=800, overlap=200)) == 256


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
    for strategy in ("auto", "structure"):
        spans = split(text, outline, strategy=strategy, size=50)
        assert [(s.heading_path, s.heading_level, s.page) for s in spans] == [
            (("Coasts",), 1, 1),
            (("Coasts", "Lights"), 2, 2),
            (("Hills",), 1, 3),
        ]


@pytest.mark.parametrize("strategy", ["sentence", "recursive", "semantic"])
def test_a_window_is_under_the_heading_where_it_begins(strategy: str) -> None:
    text, outline = outlined(
        Block("Preface. " * 20, page=1), Block("# Hills", 1, "Hills", page=2), Block("Up. " * 40)
    )
    spans = split(text, outline, strategy=strategy, sentences=0)
    hills = text.index("# Hills")
    assert {(s.heading_path, s.page) for s in spans if s.start < hills} == {((), 1)}
    assert {(s.heading_path, s.page) for s in spans if s.start >= hills} == {(("Hills",), 2)}


def test_a_lone_heading_goes_with_the_section_below_it() -> None:
    text, outline = outlined(
        Block("# Top", 1, "Top"), Block("## Sub", 2, "Sub"), Block("word " * 40)
    )
    spans = split(text, outline, size=60)
    assert [s.heading_path for s in spans] == [("Top", "Sub")]


def test_small_sections_are_merged_under_their_parent() -> None:
    text, outline = outlined(
        Block("# Top", 1, "Top"),
        Block("word " * 40),
        *(block for n in "abcd" for block in (Block(f"## {n}", 2, n), Block("few words here"))),
    )
    spans = split(text, outline, size=60)
    assert [s.heading_path for s in spans] == [("Top",), ("Top",)]


def test_a_heading_is_not_a_chunk_of_its_own() -> None:
    text, outline = outlined(Block("# Top", 1, "Top"), Block("A b c d e. " * 10))
    assert cut(text, outline)[0].startswith("# Top\n\nA b")


def test_a_heading_of_level_4_does_not_end_a_chunk() -> None:
    text, outline = outlined(
        Block("Some words. " * 5), Block("#### Deep", 4, "Deep"), Block("More words. " * 5)
    )
    assert [piece[:9] for piece in cut(text, outline, sentences=0)] == ["Some word", "#### Deep"]
    text, outline = outlined(Block("Some words."), Block("#### Deep", 4, "Deep"), Block("More."))
    assert len(split(text, outline)) == 1


def test_a_chunk_behind_its_deep_heading_is_named_by_it() -> None:
    text, outline = outlined(
        Block("# Top", 1, "Top"),
        Block("#### Why?", 4, "Why?"),
        Block("A b c d e. " * 10),
        Block("#### How?", 4, "How?"),
        Block("A b c d e. " * 2),
    )
    spans = split(text, outline, size=40, sentences=0)
    assert [(s.heading_path, s.heading_level) for s in spans] == [
        (("Top",), 1),
        (("Top", "Why?"), 4),
        (("Top",), 1),
    ]
    assert text[spans[2].start :].startswith("#### How?")


def test_a_chunk_that_begins_inside_of_a_label_is_named_by_it() -> None:
    lead, term = "Options", "-v"
    text, outline = outlined(
        Block("# Top", 1, "Top"),
        Block("Options:", labels=(lead,)),
        Block("-v", labels=(lead, term)),
        Block("Talk a b c d. " * 12, labels=(lead, term)),
        Block("After. " * 20),
    )
    spans = split(text, outline, size=40, sentences=0)
    paths = [s.heading_path for s in spans]
    assert paths[0] == ("Top",)
    assert paths[1] == ("Top", lead, term)
    assert paths[-1] == ("Top",)


def test_a_chunk_of_what_was_said_is_named_by_the_time_at_which_it_begins() -> None:
    blocks = [Block(sentences(3), labels=(f"00:0{n}:30",)) for n in range(3)]
    text, outline = join_blocks(blocks)
    paths = [span.heading_path for span in split(text, outline)]
    assert paths == [("00:00:30",), ("00:01:30",), ("00:02:30",)]


def test_a_term_begins_a_chunk_with_what_is_said_of_it() -> None:
    said = "Word a b c d. " * 3
    text, outline = outlined(
        *(Block(text, labels=(term,)) for term in ("-a", "-b") for text in (term, said, said))
    )
    pieces = cut(text, outline, size=60)
    assert [piece.split()[0] for piece in pieces] == ["-a", "-b"]


def test_a_chunk_has_the_innermost_of_many_names() -> None:
    names = tuple("abcdefgh")
    text, outline = outlined(Block("Word. " * 60, labels=names))
    assert split(text, outline, size=40)[-1].heading_path == names[-MAX_NAMES:]


def test_names_leave_room_for_themselves() -> None:
    text, outline = outlined(Block("# A", 1, "A"), Block("Word. " * 90, labels=("Label",)))
    counter = ruler_of(text)

    def budget(path: tuple[str, ...]) -> ChunkBudget:
        return ChunkBudget(counter, 100, 0, 0, counter, 40 if "Label" in path else 100)

    spans = list(CHUNKERS["structure"](text, outline=outline, budget=budget))
    assert max(counter.count(s.start, s.end) for s in spans) <= 40


def test_a_table_that_fits_is_whole_and_others_are_cut_between_rows() -> None:
    table = "\n".join(f"| {n} | cell |" for n in range(4))
    text = "Words stand before it. " * 2 + "\n\n" + table
    assert any(table in piece for piece in cut(text, size=24, sentences=0))
    table = "\n".join(f"| {n}. Row no. {n} | cell |" for n in range(30))
    pieces = cut(table, size=40)
    assert len(pieces) > 3
    assert {line for piece in pieces for line in piece.split("\n")} == set(table.split("\n"))


def test_a_listing_with_empty_lines_is_one_block_and_loses_nothing() -> None:
    listing = "```python\nfirst = 1\n\nsecond = 2\n```"
    text = "Some words stand here.\n\n" + listing + "\n\nAnd words after it."
    assert any(listing in piece for piece in cut(text, sentences=0))
    text = "Words.\n\n```\nfirst = 1\n\nsecond = 2"
    assert cut(text) == [text]


def test_recursive_splitting_cuts_no_finer_than_it_must() -> None:
    text = "aaa bbb\n\nccc. ddd ee\nfff. ggg hhh iii jjj kkk"
    counter = CharacterCounter()
    budget = ChunkBudget(counter, 16, 0, 0, counter, 256)
    spans = list(CHUNKERS["recursive"](text, outline=Outline(), budget=lambda path: budget))
    assert [text[s.start : s.end] for s in spans] == [
        "aaa bbb", "ccc. ddd ee\nfff.", "ggg hhh iii jjj", "kkk",
    ]  # fmt: skip


def test_semantic_splitting_survives_gaps_of_every_length() -> None:
    text = "a".join(" " * n for n in range(1, 1_500)).strip()
    spans = split(text, strategy="semantic")
    assert sum(text[s.start : s.end].count("a") for s in spans) == text.count("a")


def test_white_space_gives_no_chunk() -> None:
    for strategy in CHUNKERS:
        assert split("", strategy=strategy) == []


@pytest.mark.parametrize(
    "spans", [[(1, 5), (3, 5), (1, 4), (3, 4)], [(0, 4), (0, 5), (0, 6), (1, 3), (1, 3)]]
)
def test_tokens_that_lie_inside_others_are_never_more_than_allowed(
    spans: list[tuple[int, int]],
) -> None:
    counter = TokenCounter(spans)
    for limit in (1, 2, 3):
        assert counter.count(0, counter.cut(0, 6, limit)) <= limit or counter.cut(0, 6, limit) == 1
        assert counter.count(counter.back(0, 6, limit), 6) <= limit


def test_characters_are_cut_by_their_number() -> None:
    counter = CharacterCounter()
    assert (counter.count(2, 7), counter.count_text("abc")) == (5, 3)
    assert (counter.cut(0, 9, 4), counter.cut(0, 3, 4), counter.cut(0, 9, 0)) == (4, 3, 1)
    assert (counter.back(0, 9, 4), counter.back(7, 9, 4)) == (5, 7)
