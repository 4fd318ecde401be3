"""What may leave as an answer, and what may not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from qa.proof.citations import MOST_SURE_ABSTENTION, SHORT_FROM, Prover
from qa.proof.confidence import Calibration
from qa.proof.support import keeps_facts
from qa.sigmoid import sigmoid
from qa.types import CLOSEST_COUNT, Answer, Draft, DraftedSentence, Passage
from tests.doubles import StubModel, read_as

QUESTION = "When was the mill built?"
BUILT = "The mill was built in 1874."

TEXT = "The mill was built in 1874. It does not grind rye.\n\nAnna Holt owns it."
PASSAGE = Passage(
    chunk_id="c1",
    document_id="d1",
    content_sha256="0" * 64,
    title="Mill",
    source_uri="",
    heading_path=(),
    page=None,
    text=TEXT,
    start_char=100,
    end_char=100 + len(TEXT),
    score=0.75,
)
FOREIGN = replace(PASSAGE, chunk_id="c2", document_id="d2", text="A foreign text.", start_char=0)
MILL = read_as(PASSAGE, "1874", score=2.0, margin=SHORT_FROM)
OTHER = read_as(FOREIGN, "foreign", score=-1.0)
# As sure as these two are read.
MILL_CHANCE, OTHER_CHANCE = sigmoid(2.0), sigmoid(-1.0)
READING_ALONE = Calibration({"reading": 1.0, "behind": 0.0}, intercept=0.0, provenance={})


class Overlap(StubModel):
    """A judge that needs no model: 10 times the share of the query's words that a text has."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        words = set(query.lower().strip(".?").split())
        found = [len(words & set(text.lower().strip(".?").split())) / len(words) for text in texts]
        return np.array([10 * share - 5 for share in found], dtype=np.float32)


def prover(*, answer_from: float = 0.0, abstain_below: float = 0.0) -> Prover:
    return Prover(Overlap(), READING_ALONE, answer_from=answer_from, abstain_below=abstain_below)


def proved(
    text: str,
    cited: tuple[str, ...] = ("S1",),
    *,
    passages: Sequence[Passage] = (MILL, OTHER),
    answer_from: float = 0.0,
    abstain_below: float = 0.0,
) -> Answer:
    draft = Draft(text, cited, answerer="test")
    proving = prover(answer_from=answer_from, abstain_below=abstain_below)
    return proving.prove(draft, passages, question=QUESTION)


def test_a_verbatim_sentence_is_cited_as_its_span() -> None:
    answer = proved("It does not grind rye.")
    (citation,) = answer.citations
    assert citation.quote == "It does not grind rye."
    assert (citation.start_char, citation.end_char) == (128, 150)
    assert (citation.support, citation.score) == ("supported", MILL.score)


@pytest.mark.parametrize(
    ("marked", "table"), [("http", 0), ("443", 0), ("smtp", 1), ("imap", 1), ("", 0), (None, 0)]
)
def test_what_a_passage_says_twice_is_quoted_before_what_it_answers(
    marked: str | None, table: int
) -> None:
    header = "| Name | Port |"
    web = f"{header}\n| http | 80 |\n| https | 443 |"
    mail = f"{header}\n| smtp | 25 |\n| imap | 143 |"
    tables = replace(PASSAGE, text=f"{web}\n\n{mail}\n\n{header}", start_char=0)
    read = tables if marked is None else read_as(tables, marked)
    (citation,) = proved(header, passages=[read]).citations
    assert (citation.quote, citation.start_char) == (header, (0, len(web) + 2)[table])


def test_each_sentence_has_its_citation_and_place_in_the_answer() -> None:
    answer = proved("The mill was built in 1874. Anna Holt owns it.")
    assert [answer.text[c.answer_start : c.answer_end] for c in answer.citations] == [
        "The mill was built in 1874.",
        "Anna Holt owns it.",
    ]


@pytest.mark.parametrize("run", [TEXT, TEXT[:50], TEXT[28:]], ids=["all", "first", "last"])
def test_sentences_that_stand_together_in_the_source_are_one_citation_as_they_stand(
    run: str,
) -> None:
    answer = proved(run)
    (citation,) = answer.citations
    assert answer.text == citation.quote == run
    assert (citation.start_char, citation.end_char) == (
        100 + TEXT.index(run), 100 + TEXT.index(run) + len(run)
    )  # fmt: skip


def test_a_run_does_not_go_on_into_another_passage() -> None:
    answer = proved("Anna Holt owns it. A foreign text.", ("S1", "S2"))
    assert [c.passage.chunk_id for c in answer.citations] == ["c1", "c2"]
    assert answer.text == "Anna Holt owns it. A foreign text."


def test_quotes_that_a_draft_sets_apart_are_said_apart() -> None:
    answer = proved("Anna Holt owns it.\n\nA foreign text.", ("S1", "S2"))
    assert answer.text == "Anna Holt owns it.\n\nA foreign text."
    assert [answer.text[c.answer_start : c.answer_end] for c in answer.citations] == [
        c.quote for c in answer.citations
    ]


def test_a_paraphrase_is_cited_with_the_source_sentence() -> None:
    answer = proved("the mill was built, in 1874.")
    assert answer.citations[0].quote == "The mill was built in 1874."
    assert answer.text == "the mill was built, in 1874."


FALSIFIED = {
    "The mill was built in 1875.": "The mill was built in 1874.",
    "It does grind rye.": "The mill was built in 1874. It does not grind rye.",
    "The mill was never built in 1874.": "The mill was built in 1874.",
}


@pytest.mark.parametrize(("falsified", "meant"), FALSIFIED.items())
def test_an_unproved_sentence_is_replaced_by_the_source_s_about_the_same_matter(
    falsified: str, meant: str
) -> None:
    answer = proved(f"{falsified} Anna Holt owns it.")
    assert answer.text == f"{meant} Anna Holt owns it."
    assert [citation.quote for citation in answer.citations] == [meant, "Anna Holt owns it."]
    assert {(c.support, c.score) for c in answer.citations} == {("supported", MILL.score)}
    assert proved(falsified).text == meant


@pytest.mark.parametrize("strange", ["Some day Berta Holt owns it.", "Elephants fly to the moon."])
def test_an_unproved_sentence_about_another_matter_is_not_said(strange: str) -> None:
    assert proved(f"{strange} Anna Holt owns it.").text == "Anna Holt owns it."
    assert proved(strange).abstained


def test_what_replaces_a_sentence_is_said_once() -> None:
    twice = "The mill was built in 1875. The mill was never built in 1874."
    assert proved(twice).text == "The mill was built in 1874."
    assert proved(f"{twice} The mill was built in 1874.").text == "The mill was built in 1874."


def of(text: str) -> Passage:
    return read_as(replace(PASSAGE, text=text, end_char=100 + len(text)), score=2.0)


def test_an_item_of_a_list_replaces_a_sentence_from_its_beginning_on() -> None:
    tiers = (
        "1. **Low.** It costs little. A review takes place every year.\n2. **High.** It is dear."
    )
    answer = proved("A review takes place every month.", passages=[of(tiers)])
    assert answer.text == "1. **Low.** It costs little. A review takes place every year."


def test_a_heading_replaces_nothing() -> None:
    text = "# The mill was built in 1875 or so\n\nThe mill was built in May."
    answer = proved("The mill was built in 1875.", passages=[of(text)])
    assert answer.text == "The mill was built in May."


def test_what_became_of_each_sentence_of_a_draft_is_told() -> None:
    draft = (
        f"{BUILT} In 1874 the mill was built. It does grind rye. It does never grind rye."
        " Elephants fly to the moon."
    )
    assert [(each.outcome, each.reason) for each in proved(draft).drafted] == [
        ("quoted", ""),
        ("restated", ""),
        ("replaced", "what it leaves out of the source bears on the rest"),
        ("repeated", "not in the source: never"),
        ("dropped", "no sentence of what it cites is about it"),
    ]
    (uncited,) = proved(BUILT, ()).drafted
    assert uncited == DraftedSentence(BUILT, "dropped", "it cites no passage that was given")


def test_of_an_answer_that_is_held_back_it_is_told_too() -> None:
    assert proved(BUILT, answer_from=1.0).drafted == (DraftedSentence(BUILT, "quoted"),)


def test_nothing_of_a_passage_that_is_not_cited_replaces_a_sentence() -> None:
    assert proved("The mill was built in 1875.", ("S2",)).abstained
    assert proved("The mill was built in 1875.", ()).abstained


def test_a_label_that_was_not_given_is_dropped() -> None:
    assert proved("Anna Holt owns it.", ("S9", "S0", "foo")).abstained
    assert not proved("Anna Holt owns it.", ("S9", "S1")).abstained


def test_a_passage_that_is_not_cited_proves_nothing() -> None:
    assert proved("A foreign text.", ("S1",)).abstained


def test_an_answer_is_as_sure_as_its_surest_citation() -> None:
    assert proved(BUILT).confidence == MILL_CHANCE
    assert proved("A foreign text.", ("S1", "S2")).confidence == OTHER_CHANCE
    assert proved(f"A foreign text. {BUILT}", ("S1", "S2")).confidence == MILL_CHANCE


def test_what_is_behind_the_best_found_is_less_sure() -> None:
    calibration = replace(READING_ALONE, weights={"reading": 0.0, "behind": 8.0})
    behind = replace(MILL, score=0.5), replace(OTHER, score=1.0)
    draft = Draft(BUILT, ("S1",), answerer="test")
    answer = replace(prover(), calibration=calibration).prove(draft, behind, question=QUESTION)
    assert answer.confidence == sigmoid(-4.0)


def test_a_passage_that_was_not_read_makes_no_answer_sure() -> None:
    unread = replace(PASSAGE, chunk_id="c3")
    assert proved(BUILT, passages=[unread]).confidence == 0.0
    assert proved(BUILT, passages=[unread], answer_from=0.01).kind == "abstained"
    beside = proved(BUILT, passages=[unread, OTHER], answer_from=0.01)
    assert [close.passage for close in beside.closest] == [OTHER]


def test_an_answer_is_given_from_a_confidence_on() -> None:
    given = proved(BUILT, answer_from=MILL_CHANCE)
    assert (given.kind, given.text, given.closest) == ("answer", BUILT, ())
    held_back = proved(BUILT, answer_from=MILL_CHANCE + 1e-9)
    assert (held_back.kind, held_back.text, held_back.citations) == ("unsure", "", ())


def test_a_sentence_beside_what_answers_must_be_about_the_matter() -> None:
    assert proved("Anna Holt owns it.").confidence == 0.0
    assert proved(f"Anna Holt owns it. {BUILT}").confidence == MILL_CHANCE


def test_where_it_is_unsure_the_closest_passages_are_shown_with_their_chances() -> None:
    unsure = proved("A foreign text.", ("S2",), answer_from=0.9)
    assert [(close.passage, close.score) for close in unsure.closest] == [
        (MILL, MILL_CHANCE),
        (OTHER, OTHER_CHANCE),
    ]
    assert proved("", (), answer_from=0.9).closest == unsure.closest


def test_of_a_close_passage_the_sentences_that_were_read_are_shown() -> None:
    def shown(passage: Passage) -> str:
        (close,) = proved("", (), passages=[passage]).closest
        offset = passage.start_char
        assert close.quote == passage.text[close.start_char - offset : close.end_char - offset]
        return close.quote

    assert shown(MILL) == "The mill was built in 1874."
    assert shown(read_as(PASSAGE, "1874. It")) == TEXT[:50]
    assert shown(read_as(PASSAGE, "Anna")) == "Anna Holt owns it."
    assert shown(read_as(PASSAGE, "")) == TEXT


def test_few_passages_are_shown_the_likeliest_first() -> None:
    many = [
        replace(read_as(PASSAGE, score=score), chunk_id=f"c{score}")
        for score in (3, 1, 7, 5, 2, 6, 4)
    ]
    unsure = proved("", (), passages=many)
    assert [close.passage.chunk_id for close in unsure.closest] == [
        f"c{score}" for score in range(7, 7 - CLOSEST_COUNT, -1)
    ]


def test_under_a_confidence_it_abstains_and_still_shows_what_comes_closest() -> None:
    unsure = proved("", (), answer_from=1.0, abstain_below=MILL_CHANCE)
    assert unsure.kind == "unsure"
    abstained = proved("", (), answer_from=1.0, abstain_below=MILL_CHANCE + 1e-9)
    assert (abstained.kind, abstained.text, abstained.citations) == ("abstained", "", ())
    assert abstained.closest == unsure.closest


def test_without_passages_there_is_nothing_to_show() -> None:
    answer = proved("Anna Holt owns it.", passages=[])
    assert (answer.kind, answer.confidence) == ("abstained", 0.0)


@pytest.mark.parametrize("abstain_below", [0.0, 1.0], ids=["unsure", "abstained"])
def test_what_is_not_answered_is_under_one_half(abstain_below: float) -> None:
    sure = proved("Anna Holt owns it.", answer_from=1.0, abstain_below=abstain_below)
    assert MILL_CHANCE > 0.5 > MOST_SURE_ABSTENTION
    assert (sure.abstained, sure.confidence) == (True, MOST_SURE_ABSTENTION)
    unsure = proved("A foreign text.", passages=[OTHER], answer_from=1.0)
    assert (unsure.abstained, unsure.confidence) == (True, OTHER_CHANCE)


def short_of(answer: Answer) -> str | None:
    return None if answer.short is None else answer.text[slice(*answer.short)]


def test_the_words_that_answer_are_pointed_at_in_the_answer() -> None:
    assert short_of(proved("The mill was built in 1874.")) == "1874"
    assert short_of(proved("Anna Holt owns it. The mill was built in 1874.")) == "1874"
    assert short_of(proved(TEXT)) == "1874"
    last = read_as(PASSAGE, "Anna Holt", score=2.0, margin=SHORT_FROM)
    assert short_of(proved("It does not grind rye.\n\nAnna Holt owns it.", passages=[last])) == (
        "Anna Holt"
    )


def test_where_several_things_are_asked_for_no_words_are_pointed_at() -> None:
    draft = Draft(BUILT, ("S1",), answerer="test")
    for question, short in ((QUESTION, "1874"), ("What are the years of the mills?", None)):
        assert short_of(prover().prove(draft, [MILL, OTHER], question=question)) == short


def marked(text: str, marked: str) -> str | None:
    passage = replace(PASSAGE, text=text, end_char=100 + len(text))
    read = read_as(passage, marked, score=2.0, margin=SHORT_FROM)
    return short_of(proved(text, passages=[read]))


@pytest.mark.parametrize(
    "words", ["1. **Rye", "**Rye", "Rye.**", "* Rye", "- Rye", "| Rye", "Rye |"]
)
def test_words_with_marks_at_their_edges_are_not_pointed_at(words: str) -> None:
    assert marked(f"{words} is ground there all year long.", words) is None


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
    assert proved("Anna Holt owns it.").short is None
    across = read_as(PASSAGE, "1874. It", score=2.0, margin=SHORT_FROM)
    assert proved("The mill was built in 1874.", passages=[across]).short is None
    assert short_of(proved(TEXT, passages=[across])) == "1874. It"


def test_words_that_the_reader_is_not_sure_of_are_not_pointed_at() -> None:
    unsure = read_as(PASSAGE, "1874", score=2.0, margin=SHORT_FROM - 0.01)
    assert proved("The mill was built in 1874.", passages=[unsure]).short is None


def test_words_of_a_place_that_is_less_likely_are_not_pointed_at() -> None:
    unsure = read_as(PASSAGE, "1874", score=3.0, margin=SHORT_FROM - 0.01)
    next_best = replace(PASSAGE, chunk_id="c9", text="A dam was built in 1902.", start_char=500)
    sure = read_as(replace(next_best, end_char=524), "1902", score=2.0, margin=SHORT_FROM)
    text = "The mill was built in 1874.\n\nA dam was built in 1902."
    answer = proved(text, ("S1", "S2"), passages=[unsure, sure])
    assert len(answer.citations) == 2
    assert answer.short is None


def test_where_the_reader_marked_nothing_nothing_is_pointed_at() -> None:
    assert proved(TEXT, passages=[read_as(PASSAGE, "", score=2.0)]).short is None


@pytest.mark.parametrize(
    "paraphrase", ["the mill was built, in 1874.", "In 1874 the mill was built."]
)
def test_nothing_is_pointed_at_in_other_words(paraphrase: str) -> None:
    answer = proved(paraphrase)
    assert answer.text == paraphrase
    assert answer.short is None


def test_what_is_not_answered_has_no_short_answer() -> None:
    assert proved("The mill was built in 1874.", answer_from=1.0).short is None


@pytest.mark.parametrize(
    ("claim", "source", "kept"),
    [
        ("It grew by 5 percent.", "It grew by 5 percent in May.", True),
        ("It grew by 6 percent.", "It grew by 5 percent in May.", False),
        ("It isn't open.", "It is not open.", True),
        ("It is open.", "It is not open.", False),
        ("It isn\u2019t open.", "It is not open.", True),
        ("It is open.", "It isn\u2019t open.", False),
        ("He met Anna in Oslo.", "In Oslo he met Anna.", True),
        ("He met Anna in Bergen.", "In Oslo he met Anna.", False),
    ],
)
def test_facts_must_be_kept(claim: str, source: str, kept: bool) -> None:
    assert keeps_facts(claim, source) is kept


def heard(text: str, *, answer_from: float = 0.0) -> tuple[Answer, list[tuple[str, str]]]:
    """The answer, and what was said of it on the way with its quotes."""
    said: list[tuple[str, str]] = []
    answer = prover(answer_from=answer_from).prove(
        Draft(text, ("S1", "S2"), answerer="test"),
        [MILL, OTHER],
        question=QUESTION,
        say=lambda piece, citation: said.append((piece, citation.quote)),
    )
    return answer, said


@pytest.mark.parametrize("answer_from", [0.0, MILL_CHANCE])
@pytest.mark.parametrize(
    "text", [TEXT, "A foreign text. Anna Holt owns it. The mill was built in 1875."]
)
def test_the_pieces_that_are_said_make_the_answer(text: str, answer_from: float) -> None:
    answer, said = heard(text, answer_from=answer_from)
    assert answer.text
    assert "".join(piece for piece, _ in said) == answer.text
    assert [quote for _, quote in said] == [citation.quote for citation in answer.citations]


def test_nothing_is_said_of_what_is_not_sure_enough() -> None:
    answer, said = heard("A foreign text.", answer_from=MILL_CHANCE)
    assert (answer.text, answer.citations, said) == ("", (), [])


def test_nothing_is_said_before_the_answer_is_sure_and_then_it_is_at_once() -> None:
    """The judge is asked for a paraphrase: what is said by then is seen there."""
    said: list[str] = []

    class Watching(Overlap):
        def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
            seen.append(list(said))
            return super().score(query, texts)

    for first, told in (("A foreign text.", []), (BUILT, [BUILT])):
        seen: list[list[str]] = []
        said.clear()
        replace(prover(answer_from=MILL_CHANCE), judge=Watching()).prove(
            Draft(f"{first} the mill was built, in 1874.", ("S1", "S2"), "test"),
            [MILL, OTHER],
            question=QUESTION,
            say=lambda piece, citation: said.append(piece),
        )
        assert seen[0] == told
        assert "".join(said) == f"{first} the mill was built, in 1874."
