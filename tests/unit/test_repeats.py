"""One document, or one text told twice, does not fill the list."""

from itertools import combinations

import pytest

from qa.search.passage_order import spread_passages
from qa.types import Passage

WORDS = "the quick brown fox jumps over the lazy dog near the old stone bridge at dawn".split()


def passage(number: int, document: str, text: str) -> Passage:
    score = 1 - number / 10
    return Passage(f"c{number}", document, "0" * 64, "", "", (), None, text, 0, 1, score=score)


def text_of(number: int) -> str:
    return " ".join(f"{word}{number}" for word in WORDS)


def ids(passages: list[Passage]) -> list[str]:
    return [each.chunk_id for each in passages]


def test_a_document_over_its_share_comes_behind_the_others() -> None:
    given = [passage(n, "a" if n < 4 else "b", text_of(n)) for n in range(6)]
    spread = spread_passages(given, per_document=2)
    assert ids(spread) == ["c0", "c1", "c4", "c5", "c2", "c3"]
    scores = [each.score for each in spread]
    assert scores == sorted(scores, reverse=True)


def test_a_repeated_text_comes_behind_the_others() -> None:
    footer = f"{' '.join(WORDS * 3)} page 7"
    given = [
        passage(0, "a", " ".join(WORDS * 3)),
        passage(1, "b", footer),
        passage(2, "c", text_of(2)),
    ]
    assert ids(spread_passages(given, per_document=9)) == ["c0", "c2", "c1"]


@pytest.mark.parametrize("other", ["new", "not old"])
def test_a_copy_with_another_value_is_no_repeat(other: str) -> None:
    text = " ".join(WORDS * 3)
    middle = len(text) // 2
    altered = text[:middle] + text[middle:].replace("old", other, 1)
    given = [passage(0, "a", text), passage(1, "b", altered), passage(2, "c", text_of(2))]
    assert ids(spread_passages(given, per_document=9)) == ["c0", "c1", "c2"]


def test_different_texts_of_few_documents_keep_their_order() -> None:
    given = [passage(n, "a", text_of(n)) for n in range(4)]
    assert spread_passages(given, per_document=9) == given


def test_none_is_lost() -> None:
    given = [passage(n, "a", "same words again") for n in range(5)]
    assert sorted(ids(spread_passages(given, per_document=1))) == ids(given)
    assert spread_passages([], per_document=1) == []


def test_whether_one_repeats_the_other_is_told_of_any_two_texts() -> None:
    words = [f"word{n}" for n in range(50)]
    cuts = [words[before : len(words) - behind] for before in range(9) for behind in range(9)]
    third = passage(2, "a", " ".join(WORDS))
    for one, other in combinations(cuts, 2):
        pair = [passage(0, "a", " ".join(one)), passage(1, "a", " ".join(other))]
        expected = ["c0", "c2", "c1"] if is_repeat(*pair) else ["c0", "c1", "c2"]
        assert ids(spread_passages([*pair, third], per_document=9)) == expected


def is_repeat(passage: Passage, other: Passage) -> bool:
    """Compare by the definition: the share of four words in a row that both have."""
    shingles, others = (shingles_of(each.text.split()) for each in (passage, other))
    return len(shingles & others) >= 0.8 * len(shingles | others)


def shingles_of(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + 4]) for at in range(len(words) - 3)}
