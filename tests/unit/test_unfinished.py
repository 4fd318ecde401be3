"""An answer while its draft is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.types import Answer, Citation, Draft, Passage
from tests.doubles import read_as
from tests.unit.test_citations import BUILT, MILL, MILL_CHANCE, OTHER, QUESTION, TEXT, prover

RYE, OWNER = "It does not grind rye.", "Anna Holt owns it."
FOREIGN = "A foreign text."
LIE = "The mill was built in 1875."
PARAPHRASE = "the mill was built, in 1874."
STRANGE = "Elephants fly to the moon."
PASSAGES = (MILL, OTHER)


@dataclass
class Telling:
    """A draft that is told piece by piece, and what is said of it."""

    answer_from: float = 0.0
    passages: Sequence[Passage] = PASSAGES
    said: list[tuple[str, Citation]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prover = prover(answer_from=self.answer_from)
        self.unfinished = self.prover.begin(
            self.passages, question=QUESTION, say=lambda *piece: self.said.append(piece)
        )

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.said)

    def tell(self, text: str, *, cited: tuple[str, ...] = ("S1", "S2"), by: str = "model") -> None:
        self.unfinished.hear(Draft(text, cited, answerer=by))

    def end(self, text: str, *, cited: tuple[str, ...] = ("S1", "S2"), by: str = "model") -> Answer:
        return self.prover.finish(self.unfinished, Draft(text, cited, answerer=by))


def proved_at_once(text: str, *, answer_from: float = 0.0) -> Answer:
    return Telling(answer_from).end(text)


@given(
    st.lists(st.sampled_from([BUILT, RYE, OWNER, FOREIGN, LIE, PARAPHRASE, STRANGE, TEXT]))
    .flatmap(lambda each: st.tuples(st.just(each), st.sampled_from([" ", "\n\n", "\n- "])))
    .map(lambda each: each[1].join(each[0])),
    st.lists(st.integers(min_value=0, max_value=400)),
    st.sampled_from([0.0, MILL_CHANCE]),
)
def test_how_a_draft_is_cut_into_pieces_changes_nothing(
    text: str, cuts: list[int], answer_from: float
) -> None:
    telling = Telling(answer_from)
    for cut in sorted(cuts):
        telling.tell(text[:cut])
    answer = telling.end(text)
    assert answer == proved_at_once(text, answer_from=answer_from)
    assert telling.text == answer.text
    assert [citation for _, citation in telling.said] == list(answer.citations)


def test_a_sentence_is_said_once_the_next_has_begun() -> None:
    telling = Telling()
    telling.tell(PARAPHRASE)
    assert telling.text == ""
    telling.tell(f"{PARAPHRASE} A")
    assert telling.text == PARAPHRASE


def test_a_quote_is_said_once_it_goes_on_no_more() -> None:
    telling = Telling()
    telling.tell(TEXT[:40])
    assert telling.text == ""
    telling.tell(f"{TEXT[:50]} And")
    assert telling.text == TEXT[:50]


def test_nothing_is_said_before_it_is_sure_enough() -> None:
    telling = Telling(MILL_CHANCE)
    telling.tell(f"{FOREIGN} {BUILT}")
    assert telling.text == ""
    telling.tell(f"{FOREIGN} {BUILT} {STRANGE}")
    assert telling.text == f"{FOREIGN} {BUILT}"


def test_what_was_said_of_a_draft_that_broke_off_stays_before_what_takes_its_place() -> None:
    telling = Telling()
    telling.tell(f"{PARAPHRASE} {FOREIGN} A m")
    said = telling.text
    answer = telling.end(TEXT, cited=("S1",), by="extract")
    assert said == f"{PARAPHRASE} {FOREIGN}"
    assert answer.text == telling.text == f"{said} {RYE}\n\n{OWNER}"
    assert [sentence.outcome for sentence in answer.drafted] == ["repeated", "quoted"]


def test_of_a_draft_of_which_nothing_was_said_nothing_stays() -> None:
    telling = Telling(MILL_CHANCE)
    telling.tell(f"{FOREIGN} {STRANGE} A m")
    assert telling.end(BUILT, by="extract").text == telling.text == BUILT
    assert Telling(MILL_CHANCE).end(BUILT, by="extract").text == BUILT


def test_a_draft_that_begins_anew_takes_the_place_of_the_one_before() -> None:
    telling = Telling()
    telling.tell(f"{OWNER} {PARAPHRASE} A m")
    answer = telling.end(f"{FOREIGN} {OWNER}")
    assert answer.text == f"{OWNER} {PARAPHRASE} {FOREIGN}"
    assert [sentence.outcome for sentence in answer.drafted] == ["quoted", "repeated"]


def test_what_was_said_stays_where_the_draft_turns_into_a_refusal() -> None:
    telling = Telling()
    telling.tell(f"{PARAPHRASE} A m")
    assert telling.end("", cited=()).text == PARAPHRASE


def test_a_source_s_sentence_that_took_another_s_place_is_not_quoted_again() -> None:
    assert proved_at_once(f"{LIE} {TEXT}").text == f"{BUILT} {RYE}\n\n{OWNER}"
    assert proved_at_once(f"{BUILT} {LIE}").text == BUILT


@pytest.mark.parametrize("cited", [(), ("S9",)])
def test_a_draft_that_cites_nothing_says_nothing(cited: tuple[str, ...]) -> None:
    telling = Telling()
    telling.tell(f"{BUILT} {RYE} {OWNER} A", cited=cited)
    assert (telling.text, telling.end(BUILT, cited=cited).text) == ("", "")


def test_a_sentence_of_two_passages_that_overlap_is_one() -> None:
    again = replace(MILL, chunk_id="c3", text=TEXT[28:], start_char=128)
    telling = Telling(passages=(MILL, read_as(again)))
    telling.tell(f"{PARAPHRASE} {RYE} A")
    answer = telling.end(f"{RYE} {OWNER}", cited=("S2",), by="extract")
    assert answer.text == f"{PARAPHRASE} {RYE} {OWNER}"
