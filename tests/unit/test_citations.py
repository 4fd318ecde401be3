"""What of an extract may leave as an answer, and what is shown in place of one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qa.grounding.citations import (
    MAX_ABSTENTION_CONFIDENCE,
    SHORT_FROM,
    AnswerText,
    CitationVerifier,
    Piece,
    cite,
)
from qa.grounding.confidence import Calibration, sigmoid
from qa.types import Answer, Citation, Draft, Passage, Query, Quote, Statement
from tests.support.documents import COAST
from tests.support.doubles import StubModel
from tests.support.passages import passage, read_as

QUESTION = "When was the mill built?"
QUERY = Query(QUESTION, "default")
BUILT = "The mill was built in 1874."
RYE = "It does not grind rye."
OWNER = "Anna Holt owns it."
FOREIGN_TEXT = "A foreign text."

TEXT = f"{BUILT} {RYE}\n\n{OWNER}"
PASSAGE = passage(TEXT, start_char=100, title="Mill", score=0.75, similarity=0.6)
FOREIGN = replace(
    PASSAGE, chunk_id="c2", document_id="d2", text=FOREIGN_TEXT, start_char=0, end_char=15
)
MILL = read_as(PASSAGE, "1874", score=2.0, margin=SHORT_FROM)
OTHER = read_as(FOREIGN, "foreign", score=-1.0)
# As sure as these two are read.
MILL_CHANCE, OTHER_CHANCE = sigmoid(2.0), sigmoid(-1.0)
READING_ALONE = Calibration(
    {"reading": 1.0, "behind": 0.0, "ahead": 0.0}, intercept=0.0, provenance={}
)


class Fixed(StubModel):
    """A judge to which every text is as relevant."""

    def __init__(self, relevance: float = 0.0) -> None:
        self.relevance = relevance

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full(len(texts), self.relevance, dtype=np.float32)


def verifier(
    *,
    answer_from: float = 0.0,
    abstain_below: float = 0.0,
    calibration: Calibration = READING_ALONE,
) -> CitationVerifier:
    return CitationVerifier(
        Fixed(),
        calibration=calibration,
        draft_calibration=READING_ALONE,
        answer_from=answer_from,
        draft_answer_from=0.0,
        abstain_below=abstain_below,
    )


def quote(text: str, passage: Passage = MILL) -> Quote:
    start = passage.start_char + passage.text.index(text)
    return Quote(passage, start, start + len(text))


FOREIGN_QUOTE = quote(FOREIGN_TEXT, OTHER)


def extract(*quotes: Quote) -> Draft:
    return Draft(tuple(Statement(each.text, (each,)) for each in quotes), answerer="extractive")


def verify(
    *quotes: Quote,
    passages: Sequence[Passage] = (MILL, OTHER),
    answer_from: float = 0.0,
    query: Query = QUERY,
    calibration: Calibration = READING_ALONE,
) -> tuple[Answer | None, list[tuple[str, Citation]]]:
    """The answer, and what was said of it on the way."""
    said: list[tuple[str, Citation]] = []
    found = verifier(answer_from=answer_from, calibration=calibration).verify_extract(
        extract(*quotes), passages, query=query, on_text=lambda *piece: said.append(piece)
    )
    return found, said


def proved(
    *quotes: Quote, passages: Sequence[Passage] = (MILL, OTHER), query: Query = QUERY
) -> Answer:
    found, _ = verify(*quotes, passages=passages, query=query)
    assert found is not None
    return found


def abstain(
    *passages: Passage, first: Sequence[Passage] = (), abstain_below: float = 0.0
) -> Answer:
    return verifier(abstain_below=abstain_below).abstain(QUESTION, passages, first=first)


def test_a_quote_is_cited_as_its_span() -> None:
    answer = proved(quote(RYE))
    (citation,) = answer.citations
    assert answer.text == citation.quote == RYE
    assert (citation.start_char, citation.end_char) == (128, 150)
    assert (citation.support, citation.score) == ("supported", MILL.score)
    assert (answer.question, answer.kind) == (QUESTION, "answer")


def test_each_quote_is_a_paragraph_and_has_its_place_in_the_answer() -> None:
    answer = proved(quote(OWNER), FOREIGN_QUOTE)
    assert answer.text == f"{OWNER}\n\n{FOREIGN_TEXT}"
    assert [c.passage.chunk_id for c in answer.citations] == ["c1", "c2"]
    assert [answer.text[c.answer_start : c.answer_end] for c in answer.citations] == [
        OWNER, FOREIGN_TEXT,
    ]  # fmt: skip


@pytest.mark.parametrize("run", [TEXT, TEXT[:50], TEXT[28:]], ids=["all", "first", "last"])
def test_sentences_that_stand_together_are_cited_as_they_stand(run: str) -> None:
    answer = proved(quote(run))
    (citation,) = answer.citations
    assert answer.text == citation.quote == run


def test_an_answer_is_as_sure_as_its_surest_citation() -> None:
    assert proved(quote(BUILT)).confidence == MILL_CHANCE
    assert proved(FOREIGN_QUOTE).confidence == OTHER_CHANCE
    assert proved(FOREIGN_QUOTE, quote(BUILT)).confidence == MILL_CHANCE


def test_what_is_behind_the_best_found_is_less_sure() -> None:
    calibration = replace(READING_ALONE, weights={"reading": 0.0, "behind": 8.0, "ahead": 0.0})
    behind = replace(MILL, score=0.5), replace(OTHER, score=1.0)
    answer, _ = verify(quote(BUILT), passages=behind, calibration=calibration)
    assert answer is not None
    assert answer.confidence == sigmoid(-4.0)


def test_a_passage_that_was_not_read_makes_no_answer_sure() -> None:
    unread = replace(PASSAGE, chunk_id="c3")
    assert proved(quote(BUILT, unread), passages=[unread]).confidence == 0.0
    assert verify(quote(BUILT, unread), passages=[unread], answer_from=0.01) == (None, [])


def test_an_extract_is_said_from_a_confidence_on() -> None:
    given, said = verify(quote(BUILT), answer_from=MILL_CHANCE)
    assert given is not None
    assert (given.text, [text for text, _ in said]) == (BUILT, [BUILT])
    assert verify(quote(BUILT), answer_from=MILL_CHANCE + 1e-9) == (None, [])


def test_a_draft_that_points_at_nothing_is_no_answer() -> None:
    assert verify() == (None, [])


def test_the_pieces_that_are_said_make_the_answer() -> None:
    answer, said = verify(FOREIGN_QUOTE, quote(BUILT), quote(OWNER), answer_from=MILL_CHANCE)
    assert answer is not None
    assert "".join(text for text, _ in said) == answer.text
    assert tuple(citation for _, citation in said) == answer.citations


def test_beside_an_answer_the_passages_are_shown_that_it_does_not_cite() -> None:
    assert [close.passage for close in proved(quote(BUILT)).closest] == [OTHER]
    assert [close.passage for close in proved(FOREIGN_QUOTE).closest] == [MILL]
    assert proved(quote(BUILT), FOREIGN_QUOTE).closest == ()


def test_answer_without_a_claim_shows_the_closest_passages_with_chances() -> None:
    unsure = abstain(OTHER, MILL, replace(PASSAGE, chunk_id="unread"))
    assert (unsure.kind, unsure.text, unsure.citations) == ("unsure", "", ())
    assert [(close.passage, close.score) for close in unsure.closest] == [
        (MILL, MILL_CHANCE),
        (OTHER, OTHER_CHANCE),
    ]


def test_what_a_draft_pointed_at_is_shown_first_once_however_similar() -> None:
    beside = read_as(replace(PASSAGE, chunk_id="c3"), "Anna", score=-5.0)
    unsure = abstain(MILL, OTHER, first=[beside, OTHER])
    assert [close.passage for close in unsure.closest] == [OTHER, beside, MILL]
    assert abstain(MILL, first=[OTHER], abstain_below=1.0).kind == "unsure"


def test_of_a_close_passage_the_sentences_that_were_read_are_shown() -> None:
    def shown(passage: Passage) -> str:
        (close,) = abstain(passage).closest
        offset = passage.start_char
        assert close.quote == passage.text[close.start_char - offset : close.end_char - offset]
        return close.quote

    assert shown(MILL) == BUILT
    assert shown(read_as(PASSAGE, "1874. It")) == TEXT[:50]
    assert shown(read_as(PASSAGE, "Anna")) == OWNER
    assert shown(read_as(PASSAGE, "")) == TEXT


def test_abstention_without_a_similar_passage_shows_what_comes_closest() -> None:
    unsure = abstain(replace(OTHER, similarity=0.1), MILL, abstain_below=0.6)
    assert unsure.kind == "unsure"
    abstained = abstain(replace(OTHER, similarity=0.1), MILL, abstain_below=0.6 + 1e-9)
    assert (abstained.kind, abstained.closest) == ("abstained", unsure.closest)


def test_without_passages_there_is_nothing_to_show() -> None:
    answer = abstain(abstain_below=0.5)
    assert (answer.kind, answer.confidence, answer.closest) == ("abstained", 0.0, ())


@pytest.mark.parametrize("abstain_below", [0.0, 1.0], ids=["unsure", "abstained"])
def test_what_is_not_answered_is_under_one_half(abstain_below: float) -> None:
    assert MILL_CHANCE > 0.5 > MAX_ABSTENTION_CONFIDENCE
    assert abstain(MILL, abstain_below=abstain_below).confidence == MAX_ABSTENTION_CONFIDENCE
    assert abstain(OTHER, abstain_below=abstain_below).confidence == OTHER_CHANCE


def test_a_draft_is_as_sure_as_the_best_passage_that_it_cites() -> None:
    unread = replace(PASSAGE, chunk_id="c3")
    assert verifier().estimate_draft([OTHER, MILL, unread]) == MILL_CHANCE
    assert verifier().estimate_draft([OTHER]) == OTHER_CHANCE
    assert verifier().estimate_draft([unread]) == verifier().estimate_draft([]) == 0.0


def test_where_passages_do_not_disagree_the_likeliest_stays_the_answer() -> None:
    assert verifier().compare_statements(QUESTION, [MILL, OTHER]) == [MILL, OTHER]


def test_relevance_is_the_judge_s() -> None:
    judging = replace(verifier(), judge=Fixed(-3.0))
    assert judging.relevance(QUESTION, [BUILT, RYE]) == [-3.0, -3.0]
    assert judging.relevance(QUESTION, []) == []


def short_of(answer: Answer) -> str | None:
    return None if answer.short is None else answer.text[slice(*answer.short)]


def test_the_words_that_answer_are_pointed_at_in_the_answer() -> None:
    assert short_of(proved(quote(BUILT))) == "1874"
    assert short_of(proved(quote(OWNER), quote(BUILT))) == "1874"
    assert short_of(proved(quote(TEXT))) == "1874"
    last = read_as(PASSAGE, "Anna Holt", score=2.0, margin=SHORT_FROM)
    assert short_of(proved(quote(TEXT[28:], last), passages=[last])) == "Anna Holt"


def test_where_several_things_are_asked_for_no_words_are_pointed_at() -> None:
    assert proved(quote(BUILT), query=replace(QUERY, wants_list=True)).short is None


def marked(text: str, marked: str) -> str | None:
    whole = replace(PASSAGE, text=text, end_char=100 + len(text))
    read = read_as(whole, marked, score=2.0, margin=SHORT_FROM)
    return short_of(proved(quote(text, read), passages=[read]))


@pytest.mark.parametrize(
    "words", ["1. **Rye", "**Rye", "Rye.**", "* Rye", "- Rye", "| Rye", "Rye |"]
)
def test_words_with_marks_at_their_edges_are_not_pointed_at(words: str) -> None:
    assert marked(f"{words} is ground there all year long.", words) is None


@pytest.mark.parametrize(
    ("text", "words", "short"),
    [
        ("Sign <https://code.example.com/cla>.", "https://code.example.com/cla>", None),
        ("Sign <https://code.example.com/cla>.", "code.example", None),
        ("Sign https://code.example.com/cla, then send it.", "example.com/cla,", None),
        ("Read https://x.example/Mill_(old) first.", "/Mill_(", "https://x.example/Mill_(old)"),
        ("Write to anna.holt@mill.example.", "holt", "anna.holt@mill.example"),
        ("The mill (of 1874) is old.", "(of 1874", "of 1874"),
        ("The mill of 1874, which is old.", "1874,", "1874"),
        ("Call open(path) in it.", "open(path)", "open(path)"),
        ("It is kept < 5 years.", "< 5 years", "< 5 years"),
        ("As www.mill.example says, in 1874.", "www.mill.example says", "www.mill.example says"),
    ],
)
def test_addresses_are_pointed_at_whole_without_brackets(
    text: str, words: str, short: str | None
) -> None:
    assert marked(text, words) == (short or "https://code.example.com/cla")


@pytest.mark.parametrize(
    ("text", "words", "short"),
    [
        ("Anna Holt and Per Ode own it together.", "Anna Holt", "Anna Holt and Per Ode"),
        ("It takes 3 days and 4 hours to dry.", "3 days", "3 days and 4 hours"),
        ("It is of flour, water and a little salt.", "flour, water",
         "flour, water and a little salt"),
        ("It costs 5 crowns and is paid monthly.", "5 crowns", "5 crowns"),
        ("Anna Holt and the cook of the old inn own it.", "Anna Holt", "Anna Holt"),
        ("It costs 5 crowns and Anna pays it.", "5 crowns", "5 crowns"),
    ],
)  # fmt: skip
def test_what_and_adds_to_the_words_is_pointed_at_too(text: str, words: str, short: str) -> None:
    assert marked(text, words) == short


def test_words_of_two_items_are_not_pointed_at() -> None:
    assert marked("Parts:\n- a wheel\n- a mill", "wheel\n- a mill") is None


@pytest.mark.parametrize("stop", ["", "."])
def test_a_whole_sentence_is_not_pointed_at_unless_it_names_one_thing(stop: str) -> None:
    assert (
        marked("It is old. The mill was built in 1874.", f"The mill was built in 1874{stop}")
        is None
    )
    assert (
        marked("Who owns it? Anna Holt does.", f"Anna Holt does{stop}") == f"Anna Holt does{stop}"
    )


def test_words_of_another_sentence_are_not_pointed_at() -> None:
    assert proved(quote(OWNER)).short is None
    across = read_as(PASSAGE, "1874. It", score=2.0, margin=SHORT_FROM)
    assert proved(quote(BUILT, across), passages=[across]).short is None
    assert short_of(proved(quote(TEXT, across), passages=[across])) == "1874. It"


def test_words_that_the_reader_is_not_sure_of_are_not_pointed_at() -> None:
    unsure = read_as(PASSAGE, "1874", score=2.0, margin=SHORT_FROM - 0.01)
    assert proved(quote(BUILT, unsure), passages=[unsure]).short is None


def test_words_of_a_place_that_is_less_likely_are_not_pointed_at() -> None:
    unsure = read_as(PASSAGE, "1874", score=3.0, margin=SHORT_FROM - 0.01)
    dam = "A dam was built in 1902."
    next_best = replace(PASSAGE, chunk_id="c9", text=dam, start_char=500, end_char=524)
    sure = read_as(next_best, "1902", score=2.0, margin=SHORT_FROM)
    answer = proved(quote(BUILT, unsure), quote(dam, sure), passages=[unsure, sure])
    assert len(answer.citations) == 2
    assert answer.short is None


def test_where_the_reader_marked_nothing_nothing_is_pointed_at() -> None:
    nothing = read_as(PASSAGE, "", score=2.0)
    assert proved(quote(TEXT, nothing), passages=[nothing]).short is None


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
    assert text.cites_all([FIRST, Quote(COAST, 121, 129)])
    assert not text.cites_all([FIRST, THIRD])
    assert not text.cites_all([Quote(COAST, 100, 111)])
    assert text.cites_all([])


def test_nothing_is_said_before_it_is_sure_enough_and_then_all_of_it() -> None:
    hearing = Hearing()
    text = AnswerText(hearing, answer_from=0.5)
    text.add([sentence("One.")], 0.4)
    assert (hearing.text, text.is_started) == ("", False)
    text.add([sentence("Two.", FIRST, SECOND)], 0.5)
    assert text.is_started
    assert [piece for piece, _ in hearing.said] == ["One.", " Two.", ""]
    text.add([sentence("Three.")], 0.1)
    assert hearing.text == text.text == "One. Two. Three."
    assert text.confidence == 0.5


def test_what_was_not_said_can_be_forgotten_and_what_was_said_cannot() -> None:
    hearing = Hearing()
    text = AnswerText(hearing, answer_from=0.5)
    text.add([item("one"), item("two")], 0.4)
    text.reset()
    text.add([item("three")], 0.5)
    assert text.text == hearing.text == "three"
    assert text.confidence == 0.5
    assert len(text.citations) == 1
    text = grown(sentence("One."))
    text.reset()
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
    assert text.is_started == bool(hearing.said)
    assert all(
        text.text[c.answer_start : c.answer_end] in {"One.", "two", "Three:\nfour"}
        for c in text.citations
    )
