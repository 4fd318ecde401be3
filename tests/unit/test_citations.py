"""What may leave as an answer, and what may not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from qa.proof.citations import MOST_SURE_ABSTENTION, Prover
from qa.proof.confidence import Calibration
from qa.proof.support import keeps_facts
from qa.types import Answer, Draft, Passage
from tests.doubles import BLIND, StubModel, no_states

QUESTION = "When was the mill built?"

TEXT = "The mill was built in 1874. It does not grind rye. Anna Holt owns it."
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
    relevance=5.0,
)
OTHER = replace(PASSAGE, chunk_id="c2", document_id="d2", text="A foreign text.", start_char=0)


def word_overlap(query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """A judge that needs no model: 10 times the share of the query's words that a text has."""
    words = set(query.lower().strip(".?").split())
    found = [len(words & set(text.lower().strip(".?").split())) / len(words) for text in texts]
    return np.array([10 * share - 5 for share in found], dtype=np.float32)


def no_match(query: str, text: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    return np.zeros((len(spans), 1), np.float32)


CALIBRATION = Calibration(
    relevance=0.333, weakest_match=1.0, answerability=1.0, intercept=-0.957, head=BLIND,
    provenance={},
)  # fmt: skip


class Overlap(StubModel):
    score = staticmethod(word_overlap)
    read_question = staticmethod(no_states)
    match_tokens = staticmethod(no_match)

    def query_token_spans(self, query: str) -> list[tuple[int, int]]:
        return []


def prover(abstain_below: float) -> Prover:
    return Prover(Overlap(), Overlap(), CALIBRATION, abstain_below)


def proved(text: str, cited: tuple[str, ...] = ("S1",), *, abstain_below: float = 0.0) -> Answer:
    draft = Draft(text, cited, confidence=1.0, answerer="test")
    return prover(abstain_below).prove(draft, [PASSAGE, OTHER], question=QUESTION)


def test_a_verbatim_sentence_is_cited_as_its_span() -> None:
    answer = proved("It does not grind rye.")
    (citation,) = answer.citations
    assert citation.quote == "It does not grind rye."
    assert (citation.start_char, citation.end_char) == (128, 150)
    assert citation.support == "supported"


def test_each_sentence_has_its_citation_and_place_in_the_answer() -> None:
    answer = proved("The mill was built in 1874. Anna Holt owns it.")
    assert [answer.text[c.answer_start : c.answer_end] for c in answer.citations] == [
        "The mill was built in 1874.",
        "Anna Holt owns it.",
    ]


def test_a_paraphrase_is_cited_with_the_source_sentence() -> None:
    answer = proved("the mill was built, in 1874.")
    assert answer.citations[0].quote == "The mill was built in 1874."
    assert answer.text == "the mill was built, in 1874."


@pytest.mark.parametrize(
    "falsified",
    [
        "The mill was built in 1875.",
        "It does grind rye.",
        "The mill was never built in 1874.",
        "Some day Berta Holt owns it.",
        "Elephants fly to the moon.",
    ],
)
def test_an_unsupported_sentence_is_not_said(falsified: str) -> None:
    answer = proved(f"{falsified} Anna Holt owns it.")
    assert answer.text == "Anna Holt owns it."
    assert proved(falsified).abstained


def test_a_label_that_was_not_given_is_dropped() -> None:
    assert proved("Anna Holt owns it.", ("S9", "S0", "foo")).abstained
    assert not proved("Anna Holt owns it.", ("S9", "S1")).abstained


def test_a_passage_that_is_not_cited_proves_nothing() -> None:
    assert proved("A foreign text.", ("S1",)).abstained


def test_an_unsure_answer_is_an_abstention_of_low_confidence() -> None:
    answer = proved("Anna Holt owns it.", abstain_below=0.9999)
    assert answer.abstained
    assert answer.citations == ()
    assert answer.confidence < 0.5


def test_an_abstention_from_a_sure_answer_is_under_one_half_too() -> None:
    sure = proved("The mill was built in 1874.")
    held_back = proved(sure.text, abstain_below=1.0)
    assert sure.confidence > 0.5 > MOST_SURE_ABSTENTION
    assert (held_back.abstained, held_back.confidence) == (True, MOST_SURE_ABSTENTION)


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


def heard(text: str, *, abstain_below: float = 0.0) -> tuple[Answer, list[tuple[str, str]]]:
    """The answer, and what was said of it on the way with its quotes."""
    said: list[tuple[str, str]] = []
    answer = prover(abstain_below).prove(
        Draft(text, ("S1",), confidence=1.0, answerer="test"),
        [PASSAGE, OTHER],
        question=QUESTION,
        say=lambda piece, citation: said.append((piece, citation.quote)),
    )
    return answer, said


def test_the_pieces_that_are_said_make_the_answer() -> None:
    answer, said = heard("Anna Holt owns it. The mill was built in 1874.")
    assert "".join(piece for piece, _ in said) == answer.text
    assert [quote for _, quote in said] == [citation.quote for citation in answer.citations]


def test_nothing_is_said_before_the_answer_is_sure() -> None:
    sure = heard("The mill was built in 1874.")[0].confidence
    unsure = heard("Anna Holt owns it.")[0].confidence
    assert unsure < sure
    answer, said = heard("Anna Holt owns it. The mill was built in 1874.", abstain_below=sure)
    assert len(said) == len(answer.citations) == 2
    answer, said = heard("Anna Holt owns it.", abstain_below=sure)
    assert (answer.text, answer.confidence, answer.citations, said) == ("", unsure, (), [])
