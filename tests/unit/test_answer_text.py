"""The text of an answer as it grows."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.proof.text import AnswerText, Piece, cite
from qa.types import Citation, Quote
from tests.factories import COAST

FIRST, SECOND, THIRD = (Quote(COAST, 100 + at, 110 + at) for at in (0, 20, 40))


@dataclass
class Hearing:
    """Keeps what is said."""

    said: list[tuple[str, Citation]] = field(default_factory=list)

    def __call__(self, text: str, citation: Citation) -> None:
        self.said.append((text, citation))

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.said)


def grown(*pieces: Piece) -> AnswerText:
    text = AnswerText(Hearing(), 0.0)
    text.add(pieces, 1.0)
    return text


def sentence(text: str, *quotes: Quote) -> Piece:
    return Piece(text, quotes or (FIRST,))


def item(text: str) -> Piece:
    return Piece(text, (FIRST,), layout="item")


def block(text: str) -> Piece:
    return Piece(text, (FIRST,), layout="block")


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([sentence("One."), sentence("Two.")], "One. Two."),
        ([block("one"), block("two")], "one\n\ntwo"),
        ([sentence("One."), block("two"), sentence("Three.")], "One.\n\ntwo\n\nThree."),
        ([item("one"), item("two")], "- one\n- two"),
        ([sentence("One:"), item("two"), item("three")], "One:\n- two\n- three"),
        ([item("one"), item("two"), sentence("Three.")], "- one\n- two\n\nThree."),
        ([item("one")], "one"),
        ([sentence("One:"), item("two")], "One:\n\ntwo"),
    ],
)
def test_pieces_are_laid_out_as_they_are(pieces: list[Piece], text: str) -> None:
    assert grown(*pieces).text == text


def test_an_item_behind_another_is_of_its_list() -> None:
    text = grown(item("one"), item("two"))
    text.add([item("three")], 1.0)
    assert text.text == "- one\n- two\n- three"


def test_each_quote_is_cited_for_its_piece() -> None:
    text = grown(sentence("One.", FIRST, SECOND), sentence("Two.", THIRD))
    assert [text.text[c.answer_start : c.answer_end] for c in text.citations] == [
        "One.", "One.", "Two.",
    ]  # fmt: skip
    assert [c.quote for c in text.citations] == [FIRST.text, SECOND.text, THIRD.text]


def test_a_citation_has_the_quote_s_place_and_its_passage_s_score() -> None:
    cited = cite(SECOND, 3, 9)
    assert (cited.passage, cited.start_char, cited.end_char) == (COAST, 120, 130)
    assert (cited.answer_start, cited.answer_end) == (3, 9)
    assert (cited.score, cited.support) == (COAST.score, "supported")


def test_a_quote_within_a_cited_one_is_there_already() -> None:
    text = grown(sentence("One.", FIRST), sentence("Two.", SECOND))
    assert text.has([FIRST, Quote(COAST, 121, 129)])
    assert not text.has([FIRST, THIRD])
    assert not text.has([Quote(COAST, 100, 111)])
    assert text.has([])


def test_nothing_is_said_before_it_is_sure_enough_and_then_all_of_it() -> None:
    hearing = Hearing()
    text = AnswerText(hearing, answer_from=0.5)
    text.add([sentence("One.")], 0.4)
    assert (hearing.text, text.is_said) == ("", False)
    text.add([sentence("Two.", FIRST, SECOND)], 0.5)
    assert text.is_said
    assert [piece for piece, _ in hearing.said] == ["One.", " Two.", ""]
    text.add([sentence("Three.")], 0.1)
    assert hearing.text == text.text == "One. Two. Three."
    assert text.confidence == 0.5


def test_what_was_not_said_can_be_forgotten() -> None:
    hearing = Hearing()
    text = AnswerText(hearing, answer_from=0.5)
    text.add([item("one"), item("two")], 0.4)
    text.begin_again()
    text.add([item("three")], 0.5)
    assert text.text == hearing.text == "three"
    assert text.confidence == 0.5
    assert len(text.citations) == 1


def test_what_was_said_cannot() -> None:
    text = grown(sentence("One."))
    text.begin_again()
    assert (text.text, text.confidence, len(text.citations)) == ("One.", 1.0, 1)


PIECES = st.builds(
    Piece,
    st.sampled_from(["One.", "two", "Three:\nfour"]),
    st.lists(st.sampled_from([FIRST, SECOND, THIRD]), min_size=1).map(tuple),
    st.sampled_from(["sentence", "item", "block"]),
)


@given(st.lists(st.tuples(st.lists(PIECES), st.floats(0, 1))))
def test_what_is_said_is_always_how_the_answer_begins(
    added: list[tuple[list[Piece], float]],
) -> None:
    hearing = Hearing()
    text = AnswerText(hearing, answer_from=0.5)
    for pieces, confidence in added:
        text.add(pieces, confidence)
        assert hearing.text in {"", text.text}
    assert text.is_said == bool(hearing.said)
    assert all(
        text.text[c.answer_start : c.answer_end] in {"One.", "two", "Three:\nfour"}
        for c in text.citations
    )
