"""Questions that are made of several, and the one answer to them."""

from dataclasses import replace

import pytest

from corpus.sentences import sentence_spans
from qa.grounding.parts import GAP, join_answers
from qa.intent import MAX_PARTS, split_question
from qa.types import CLOSEST_COUNT, Answer, ClosePassage
from tests.support.documents import (
    COAST,
    FIRST_SENTENCE,
    LAST_SENTENCE,
    LIGHTHOUSE,
    OTHERWISE_ANSWER,
    SHORT_ANSWER,
    UNSURE_ANSWER,
    of_day,
)
from tests.support.passages import read_as

SPLIT = {
    "What is the default port and how can it be changed?": (
        "What is the default port?",
        "How can the default port be changed?",
    ),
    "Who built the lighthouse? And when was it painted?": (
        "Who built the lighthouse?",
        "When was the lighthouse painted?",
    ),
    "Which signal reloads the server, and which one stops it?": (
        "Which signal reloads the server?",
        "Which one stops the server?",
    ),
    "We run it at home. What's the port and what's the name of the host?": (
        "We run it at home. What's the port?",
        "We run it at home. what's the name of the host?",
    ),
    "Who keeps the lamp and who paints the tower and is the door locked?": (
        "Who keeps the lamp?",
        "who paints the tower?",
        "is the door locked?",
    ),
    "Which port does it listen on and how do I change it?": (
        "Which port does it listen on?",
        "how do I change the port?",
    ),
    "What does it do and how do I install it?": ("What does it do?", "how do I install it?"),
    "Which of them is newer and who made it?": ("Which of them is newer?", "who made it?"),
    "How do I start it and how do I stop it?": ("How do I start it?", "how do I stop it?"),
    "Can I use it offline and is it free?": ("Can I use it offline?", "is it free?"),
}
WHOLE = [
    "How do I back up and restore a database?",
    "What is the tool that reads a file and does the rest?",
    "When and where was it built?",
    "What are the differences between sed and awk?",
    "Is it so?",
    "Name the port and say how it is changed.",
    "What is the port? Thank you.",
    "Is A so? Is B so? Is C so? Is D so?",
    "",
]

SENTENCES = sentence_spans(LIGHTHOUSE)[:3]


@pytest.mark.parametrize("question", SPLIT)
def test_a_question_of_several_is_taken_apart_and_each_stands_on_its_own(question: str) -> None:
    assert split_question(question) == SPLIT[question]
    assert len(SPLIT[question]) <= MAX_PARTS


@pytest.mark.parametrize("question", WHOLE)
def test_one_question_stays_whole(question: str) -> None:
    assert split_question(question) == ()


def test_each_part_is_cited_where_it_stands_in_the_answer() -> None:
    surer = replace(SHORT_ANSWER, confidence=0.9)
    (citation,) = surer.citations
    elsewhere = replace(citation, passage=replace(citation.passage, document_id="other"))
    less = replace(OTHERWISE_ANSWER, citations=(elsewhere,), confidence=0.6)
    joined = join_answers("Both?", [surer, less])
    assert joined.text == f"{surer.text}{GAP}{less.text}"
    assert [joined.text[c.answer_start : c.answer_end] for c in joined.citations] == [
        citation.quote for citation in (*surer.citations, *less.citations)
    ]
    assert (joined.question, joined.kind, joined.confidence) == ("Both?", "answer", 0.6)
    assert (joined.short, joined.unanswered) == (None, ())
    assert joined.disagreement == less.disagreement


def test_a_part_without_an_answer_is_named() -> None:
    unsure = replace(UNSURE_ANSWER, question="And when?")
    joined = join_answers("Both?", [unsure, SHORT_ANSWER])
    assert (joined.text, joined.unanswered) == (SHORT_ANSWER.text, ("And when?",))
    assert (joined.short, joined.confidence) == (SHORT_ANSWER.short, SHORT_ANSWER.confidence)
    assert joined.closest == ()


def test_a_part_within_the_quote_of_another_is_answered() -> None:
    # A comparison names its sides.
    sides = [replace(UNSURE_ANSWER, question=name) for name in ("the Lighthouse", "a lamp")]
    assert join_answers("Compare them", [*sides, SHORT_ANSWER]).unanswered == ("a lamp",)


def test_beside_an_answer_what_no_part_of_it_cites_is_shown() -> None:
    cited, other = UNSURE_ANSWER.closest
    other = replace(other, passage=replace(other.passage, chunk_id="other"))
    first = replace(SHORT_ANSWER, closest=(other,))
    joined = join_answers("Both?", [first, replace(UNSURE_ANSWER, closest=(cited,))])
    assert joined.closest == (other,)


def test_disagreement_with_several_parts_is_told_once_and_newest_first() -> None:
    (close,) = OTHERWISE_ANSWER.disagreement
    older, newer = of_day(close, "2019"), of_day(replace(close, start_char=102), "2024")
    first = replace(SHORT_ANSWER, disagreement=(older,))
    second = replace(SHORT_ANSWER, disagreement=(newer, older))
    assert join_answers("Both?", [first, second]).disagreement == (newer, older)


def test_where_no_part_has_an_answer_the_closest_of_all_are_shown_once() -> None:
    surer = tuple(replace(close, score=0.4) for close in UNSURE_ANSWER.closest[:1])
    many = [
        replace(close, passage=replace(close.passage, chunk_id=f"c{n}"), score=n / 100)
        for n in range(CLOSEST_COUNT + 2)
        for close in surer
    ]
    first = replace(UNSURE_ANSWER, closest=tuple(many), confidence=0.2)
    second = replace(UNSURE_ANSWER, closest=surer, confidence=0.4, is_unsure=False)
    joined = join_answers("Both?", [first, second])
    assert (joined.question, joined.kind, joined.confidence) == ("Both?", "unsure", 0.4)
    scores = [close.score for close in joined.closest]
    assert scores == [0.4, *(n / 100 for n in range(6, 2, -1))]
    again = join_answers("Both?", [second, second])
    assert (again.kind, again.closest) == ("abstained", surer)


def test_each_part_has_its_best_among_the_closest() -> None:
    (close,) = UNSURE_ANSWER.closest[:1]

    def near(score: float) -> ClosePassage:
        return replace(close, passage=replace(close.passage, chunk_id=f"{score}"), score=score)

    first = replace(UNSURE_ANSWER, closest=tuple(near(0.4 - n / 100) for n in range(CLOSEST_COUNT)))
    second = replace(UNSURE_ANSWER, closest=(near(0.1), near(0.09)))
    scores = [each.score for each in join_answers("Both?", [first, second]).closest]
    assert scores == [*(each.score for each in first.closest[:-1]), 0.1]


def test_what_was_said_to_one_part_is_not_said_again_to_another() -> None:
    (whole,) = SHORT_ANSWER.citations
    passage = whole.passage

    def quoting(first: str, last: str) -> Answer:
        start = passage.text.index(first)
        end = passage.text.index(last) + len(last)
        moved = replace(
            whole,
            quote=passage.text[start:end],
            start_char=passage.start_char + start,
            end_char=passage.start_char + end,
        )
        return replace(SHORT_ANSWER, text=moved.quote, citations=(moved,))

    first, second, third = (passage.text[start:end] for start, end in SENTENCES)
    begin, middle = quoting(first, second), quoting(second, third)
    assert join_answers("Both?", [begin, middle]).text == f"{first} {second}{GAP}{third}"
    assert join_answers("Both?", [middle, begin]).text == f"{second} {third}{GAP}{first}"
    again = join_answers("Both?", [begin, quoting(second, second)])
    assert (again.text, again.unanswered) == (begin.text, ())
    for answer in (join_answers("Both?", [begin, middle]), again):
        for citation in answer.citations:
            at = slice(citation.start_char - 100, citation.end_char - 100)
            assert passage.text[at] == citation.quote
            assert answer.text[citation.answer_start : citation.answer_end] == citation.quote


@pytest.mark.parametrize(
    ("first", "gap"), [(FIRST_SENTENCE, " "), (FIRST_SENTENCE.removesuffix("."), "\n\n")]
)
def test_quotes_of_one_part_follow_in_one_paragraph_where_a_sentence_ends(
    first: str, gap: str
) -> None:
    (whole,) = SHORT_ANSWER.citations
    quotes = [
        replace(whole, quote=quote, start_char=start, end_char=start + len(quote))
        for quote in (first, LAST_SENTENCE)
        for start in [whole.passage.start_char + whole.passage.text.index(quote)]
    ]
    joined = join_answers("Both?", [replace(SHORT_ANSWER, citations=tuple(quotes))])
    assert joined.text == f"{first}{gap}{LAST_SENTENCE}"
    assert [joined.text[c.answer_start : c.answer_end] for c in joined.citations] == [
        first,
        LAST_SENTENCE,
    ]


@pytest.mark.parametrize(("marked", "is_said"), [(0, False), (1, True), (None, True)])
def test_of_a_quote_whose_marked_words_were_said_nothing_else_is(
    marked: int | None, is_said: bool
) -> None:
    first, second, _ = (COAST.text[start:end] for start, end in SENTENCES)
    read = COAST if marked is None else read_as(COAST, (first, second)[marked][:20])
    (end,) = (COAST.start_char + span[1] for span in SENTENCES[1:2])
    (said,) = SHORT_ANSWER.citations
    both = replace(said, passage=read, quote=f"{first} {second}", end_char=end)
    joined = join_answers("Both?", [SHORT_ANSWER, replace(SHORT_ANSWER, citations=(both,))])
    assert joined.text == (f"{first}{GAP}{second}" if is_said else first)
    assert joined.unanswered == ()


def test_an_answer_to_no_part_needs_no_closest_passage() -> None:
    empty = Answer("q", "", 0.0)
    assert join_answers("Both?", [empty, empty]) == replace(empty, question="Both?")
