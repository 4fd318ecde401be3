"""What a reader found is kept with the passage, and orders passages."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from qa.grounding.confidence import SCORE_WEIGHT, likeliest_first
from qa.readers import READ_COUNT, READ_WITHIN, headings_of, read_passages
from qa.types import CLOSEST_COUNT, Passage, Reading
from tests.support.doubles import StubModel
from tests.support.passages import passage, read_as

PASSAGE = passage("It is of oak.", title="Mill", heading_path=("Parts", "Wheel"))
BARE = replace(PASSAGE, chunk_id="c2", title="", heading_path=(), text="Rye is ground.")


class Measuring(StubModel):
    """Reads how long text and lead are."""

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        pairs = zip(texts, leads, strict=True)
        return [Reading(len(lead), 0, len(text), len(question)) for text, lead in pairs]


def read(*passages: Passage) -> list[Passage]:
    return read_passages("Why?", passages, reader=Measuring())


def test_each_passage_has_its_own_reading_and_keeps_its_place() -> None:
    first, second = read(BARE, PASSAGE)
    assert (first.reading, second.reading) == (
        Reading(0, 0, len(BARE.text), 4),
        Reading(len("Mill > Parts > Wheel\n"), 0, len(PASSAGE.text), 4),
    )
    assert [replace(each, reading=None) for each in (first, second)] == [BARE, PASSAGE]
    assert read() == []


def test_only_the_best_ranked_are_read_and_the_others_stay() -> None:
    many = [replace(BARE, chunk_id=f"c{number}") for number in range(READ_COUNT + 2)]
    found = read(*many)
    assert [each.chunk_id for each in found] == [each.chunk_id for each in many]
    assert [each.reading is None for each in found] == [False] * READ_COUNT + [True] * 2


def test_what_is_far_behind_the_best_is_not_read_but_for_the_first_ones() -> None:
    scores = [1.0, 1.0 - READ_WITHIN, *[0.1] * 6]
    far = [replace(BARE, chunk_id=f"c{n}", score=score) for n, score in enumerate(scores)]
    assert [each.reading is not None for each in read(*far)] == [True] * CLOSEST_COUNT + [False] * 3
    near = [replace(each, score=1.0 - READ_WITHIN / 2) for each in far]
    assert all(each.reading is not None for each in read(*near))


CONTENTS = "Parts of a mill Grinding rye The wheel\n- Grinding rye\n- The wheel"
OTHERS = [
    replace(BARE, chunk_id=f"h{number}", title="Parts of a mill", heading_path=(heading,))
    for number, heading in enumerate(("1. Grinding rye", "2. The wheel"))
]


class Keeping(Measuring):
    """Keeps the texts that it reads."""

    texts: Sequence[str] = ()

    def read(
        self, question: str, texts: Sequence[str], *, leads: Sequence[str] = ()
    ) -> list[Reading]:
        self.texts = texts
        return super().read(question, texts, leads=leads)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Mills turn.\n{CONTENTS}\nThey grind.", f"Mills turn.\n{' ' * 65}\nThey grind."),
        ("Grinding rye\n\nThe wheel turns a stone.", "Grinding rye\n\nThe wheel turns a stone."),
        ("- Grinding rye: 2 coins an hour, or 9 a day\n" * 3, None),
    ],
)
def test_lists_of_other_headings_are_not_read(text: str, expected: str | None) -> None:
    reader = Keeping()
    read_passages("Why?", [replace(BARE, text=text)], reader=reader, headings=headings_of(OTHERS))
    assert reader.texts == [expected or text]


def test_what_was_read_before_is_read_again() -> None:
    (again,) = read(read_as(PASSAGE, "oak", score=-9.0))
    assert again == read(PASSAGE)[0]


def in_order(*passages: Passage) -> list[Passage]:
    """The passages, likeliest first, each of which comes with its own reading."""
    found = likeliest_first(passages)
    assert [reading for _, reading in found] == [likely.reading for likely, _ in found]
    return [likely for likely, _ in found]


def test_what_reads_better_or_stands_out_is_likelier() -> None:
    worse, better = read_as(PASSAGE, score=1.0), read_as(BARE, score=2.0)
    assert in_order(worse, better) == [better, worse]
    found = replace(read_as(PASSAGE, score=1.0), score=0.9)
    read_better = replace(read_as(BARE, score=2.0), score=0.1)
    assert in_order(read_better, found) == [found, read_better]
    read_best = replace(read_as(BARE, score=2.0 + SCORE_WEIGHT), score=0.1)
    assert in_order(found, read_best) == [read_best, found]


def test_what_is_as_likely_keeps_its_order_and_what_was_not_read_is_left() -> None:
    first, second = read_as(PASSAGE, score=1.0), read_as(BARE, score=1.0)
    assert in_order(first, second) == [first, second]
    assert in_order(second, first) == [second, first]
    assert in_order(PASSAGE, read_as(BARE, score=-9.0)) == [read_as(BARE, score=-9.0)]
    assert in_order(PASSAGE) == []
