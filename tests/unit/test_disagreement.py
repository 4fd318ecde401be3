"""Which passages say otherwise than the one that is quoted."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpus.sentences import sentence_spans
from qa.grounding.confidence import ALONE_AHEAD
from qa.grounding.disagreement import (
    describe_disagreement,
    find_disagreement,
    mark_disagreeing,
    prefer_newest,
)
from qa.types import Citation, ClosePassage, Evidence, Passage
from tests.support import passages
from tests.support.passages import read_as

ANSWER_FROM = 0.5


def passage(text: str, answer: str, *, number: int = 1, document: str = "") -> Passage:
    keys = {"chunk_id": f"c{number}", "document_id": document or f"d{number}"}
    return read_as(passages.passage(text, start_char=100, **keys), answer)


def cite(quoted: Passage) -> Citation:
    text = quoted.text
    return Citation(quoted, text, 100, 100 + len(text), 0, len(text), 0.9, "supported")


def disagreeing(
    question: str, quoted: Passage, others: Sequence[Passage], *, chance: float = 0.9
) -> tuple[ClosePassage, ...]:
    marked = mark_disagreeing(
        question, [quoted, *others], estimate=lambda _: chance, answer_from=ANSWER_FROM
    )
    chances = {each.chunk_id: chance for each in marked}
    return find_disagreement([cite(marked[0])], marked, chances)


def says_otherwise(question: str, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether the two texts, each with its marked words, disagree, the same either way."""
    first, second = passage(*one), passage(*other, number=2)
    found = bool(disagreeing(question, first, [second]))
    assert found == bool(disagreeing(question, second, [first]))
    return found


BUILT = "When was the mill built?"
MILL = ("The mill was built in 1874 by monks.", "1874")

OTHERWISE = {
    "year": (BUILT, MILL, ("The mill was built in 1881 by monks.", "1881")),
    "month": (
        "When does the law apply?",
        ("The law applies from 1 August 2024.", "1 August 2024"),
        ("The law applies from 1 Feb 2024.", "1 Feb 2024"),
    ),
    "amount in other words": (
        "How much is the deposit?",
        ("A deposit of 500 euros is due before the keys are handed over.", "500 euros"),
        ("Guests pay a deposit of 300 euros when they book.", "300 euros"),
    ),
    "number in words": (
        "How many gates are there?",
        ("This guide recommends four gates.", "four"),
        ("This guide recommends six gates.", "six"),
    ),
    "version": (
        "Which version does the service need?",
        ("The service needs version 3.11.2 or later.", "3.11.2"),
        ("The service needs version 3.11.4 or later.", "3.11.4"),
    ),
    "near version": (
        "Which version does the service need?",
        ("The service needs version 1.0 or later.", "1.0"),
        ("The service needs version 1.4 or later.", "1.4"),
    ),
    "negation": (
        "Are dogs allowed in the garden?",
        ("Dogs are allowed in the garden.", "Dogs are allowed"),
        ("Dogs are not allowed in the garden.", "Dogs are not allowed"),
    ),
    "opposite": (
        "Is the framework voluntary?",
        ("The framework is voluntary for all firms.", "voluntary"),
        ("The framework is mandatory for all firms.", "mandatory"),
    ),
    "name": (
        "Who introduced the term?",
        ("The term was introduced by Lewis and colleagues.", "Lewis and colleagues"),
        ("The term was introduced by Karpukhin and colleagues.", "Karpukhin and colleagues"),
    ),
    "name that begins a sentence": (
        "Who bought the mill?",
        ("Holt bought the mill from the monks.", "Holt"),
        ("Quill bought the mill from the monks.", "Quill"),
    ),
    "name in other words": (
        "Who designed the lighthouse?",
        ("The lighthouse was designed by Orsolya Quill.", "Orsolya Quill"),
        ("The engineer Tamas Berg designed the lighthouse.", "Tamas Berg"),
    ),
    "day of the week": (
        "When is the model retrained?",
        ("The model is retrained every Monday.", "every Monday"),
        ("The model is retrained every Friday.", "every Friday"),
    ),
    "period": (
        "How often is the test done?",
        ("The test is done once per quarter.", "once per quarter"),
        ("The test is done once per week.", "once per week"),
    ),
    "dates of what the question names, in other words": (
        "When was Anna Holt born?",
        ("Anna Holt, born in Bavoke on 1 May 1874, milled rye.", "1 May 1874"),
        ("The baker Quill married Anna Holt (* 10 May 1874).", "10 May 1874"),
    ),
    "quantities of what it names": (
        "How tall was Anna Holt?",
        ("With 180 cm Anna Holt was the tallest miller of Bavoke.", "180 cm"),
        ("The register of Lindow gives Anna Holt 175 cm.", "175 cm"),
    ),
    "counts of what it names": (
        "How many mills does Bavoke have?",
        ("Holt says that Bavoke runs on twelve mills.", "twelve"),
        ("Of the towns in Quill's list Bavoke has nine.", "nine"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERWISE)
def test_another_value_of_the_same_matter_is_shown(case: str) -> None:
    assert says_otherwise(*OTHERWISE[case])


AGREEING = {
    "in other words": (BUILT, MILL, ("Built in 1874, the mill has two wheels.", "1874")),
    "in words": (
        "How many gates are there?",
        ("This guide recommends 25 gates.", "25"),
        ("This guide recommends twenty-five gates.", "twenty-five gates"),
    ),
    "scaled": (
        "How many live there?",
        ("The town has 1,500,000 inhabitants.", "1,500,000"),
        ("The town has 1.5 million inhabitants.", "1.5 million"),
    ),
    "rounded": (
        "How many live there?",
        ("The town has 1,048,211 inhabitants, says the register.", "1,048,211"),
        ("A register of its inhabitants shows that the town has 1 million.", "1 million"),
    ),
    "less of the date": (
        BUILT, ("The mill was built on 3 May 1874 by monks.", "3 May 1874"), MILL
    ),
    "another unit": (
        "How long does it take?",
        ("The firing takes 3 hours in the kiln.", "3 hours"),
        ("The firing takes 180 minutes in the kiln.", "180 minutes"),
    ),
    "a length of time and a count": (
        "How long are the logs kept?",
        ("The guide keeps the logs for 90 days.", "90 days"),
        ("The guide keeps the logs of the last three versions.", "the last three versions"),
    ),
    "first name left out": (
        "Who designed the lighthouse?",
        ("The lighthouse was designed by Orsolya Quill.", "Orsolya Quill"),
        ("The lighthouse was designed by Quill.", "Quill"),
    ),
    "first letters": (
        "Who runs the register?",
        ("The register is run by the World Health Organization.", "World Health Organization"),
        ("The register is run by WHO.", "WHO"),
    ),
    "a synonym": (
        "How big is the mill?",
        ("The mill is large and of oak.", "large"),
        ("The mill is big and of oak.", "big"),
    ),
    "both people in one sentence": (
        "Who won the final?",
        ("Anna Holt beat Berta Quill in the final.", "Anna Holt"),
        ("The final was played by Berta Quill, who met Holt.", "Berta Quill"),
    ),
    "another matter": (
        BUILT, MILL, ("In 1912 Anna Holt had new wheels put in.", "1912")
    ),
    "another name beside it": (
        "When was it built?",
        ("The mill of Bavoke was built in 1874.", "1874"),
        ("The mill of Lindow was built in 1881.", "1881"),
    ),
    "another row of a table": (
        "How long may it be down?",
        ("With 99.5 percent it may be down 3 hours.", "3 hours"),
        ("With 99.9 percent it may be down 2 hours.", "2 hours"),
    ),
    "another row of a marked table": (
        "How long may Bavoke be down?",
        ("Bavoke:\n\n| 99.5 percent | 3 hours |", "3 hours"),
        ("Bavoke:\n\n| 99.9 percent | 2 hours |", "2 hours"),
    ),
    "not what the question names": (
        "How heavy is the KX-200?",
        ("# KX-200\nThe pump weighs 5 kg.", "5 kg"),
        ("# KX-300\nThe pump weighs 6 kg.", "6 kg"),
    ),
    "a number and a name": (
        BUILT, MILL, ("The mill was built in Bavoke by monks.", "Bavoke")
    ),
    "a year and a day of what it names": (
        "When was Anna Holt born?",
        ("Anna Holt, born in Bavoke in 1874, milled rye.", "1874"),
        ("The baker Quill married Anna Holt (* 10 May 1875).", "10 May 1875"),
    ),
    "quantities of another of that name": (
        "How tall was Anna Holt?",
        ("With 180 cm Anna Holt was the tallest miller of Bavoke.", "180 cm"),
        ("The register of Lindow gives Bert Holt 175 cm.", "175 cm"),
    ),
    "quantities of what it does not name": (
        "How long is a shift?",
        ("Holt's millers work for 12 hours.", "12 hours"),
        ("At Quill's the bakers go home after 8 hours.", "8 hours"),
    ),
    "part of the name": (
        "Who designed the lighthouse?",
        ("The lighthouse was designed by Orsolya Quill.", "Orsolya Quill"),
        ("Known for bridges, the engineer Quill designed a lighthouse too.", "engineer Quill"),
    ),
    "the other one beside it": (
        "Who designed the lighthouse?",
        ("The lighthouse was designed by Tamas Berg.", "Tamas Berg"),
        ("With Berg a young Orsolya Quill designed the lighthouse.", "Orsolya Quill"),
    ),
    "a longer description": (
        "Who designed the lighthouse?",
        ("The lighthouse was designed by Berg.", "Berg"),
        ("Some say that the lighthouse was designed by the old and feared Anna Maria Quill.",
         "the old and feared Anna Maria Quill"),
    ),
    "a long description": (
        "What is said of Holt?",
        ("The mill was run by the strict and feared Anna Maria Holt of Bavoke.",
         "the strict and feared Anna Maria Holt of Bavoke"),
        ("By then the mill was said to be run by Quill.", "Quill"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", AGREEING)
def test_the_same_value_and_another_matter_are_no_disagreement(case: str) -> None:
    assert not says_otherwise(*AGREEING[case])


OTHER = ("The mill was built in 1881 by monks.", "1881")


def test_what_is_shown_is_the_sentence_with_its_chance() -> None:
    lead = "It stands at the river. "
    other = passage(lead + OTHER[0], OTHER[1], number=2)
    (found,) = disagreeing(BUILT, passage(*MILL), [other], chance=0.7)
    assert (found.passage.chunk_id, found.quote, found.score) == ("c2", OTHER[0], 0.7)
    assert found.start_char == 100 + len(lead)


def test_all_that_say_otherwise_are_shown_in_their_order() -> None:
    others = [passage(*OTHER, number=n) for n in (2, 3)] + [passage(*MILL, number=4)]
    found = disagreeing(BUILT, passage(*MILL), others)
    assert [each.passage.chunk_id for each in found] == ["c2", "c3"]


def test_what_says_otherwise_comes_newest_first_and_undated_last() -> None:
    dates = {2: "", 3: "2019-05-01", 4: "2024", 5: "2019-05-01"}
    others = [
        replace(passage(*OTHER, number=number), document_date=date)
        for number, date in dates.items()
    ]
    found = disagreeing(BUILT, passage(*MILL), others)
    assert [each.passage.chunk_id for each in found] == ["c4", "c3", "c5", "c2"]


def test_what_is_of_the_same_document_unsure_or_unread_is_not_heard() -> None:
    other = passage(*OTHER, number=2, document="d1")
    assert disagreeing(BUILT, passage(*MILL), [other]) == ()
    other = passage(*OTHER, number=2)
    assert disagreeing(BUILT, passage(*MILL), [other], chance=ANSWER_FROM)
    assert disagreeing(BUILT, passage(*MILL), [other], chance=ANSWER_FROM - 0.01) == ()
    unread = replace(passage(*OTHER, number=2), reading=None)
    unmarked = read_as(passage(*OTHER, number=3), "")
    selected = replace(passage(*OTHER, number=4), is_selected=True)
    assert disagreeing(BUILT, passage(*MILL), [unread, unmarked, selected]) == ()


def test_what_answers_must_be_among_what_is_quoted() -> None:
    text = f"{MILL[0]} It is of oak."
    other = passage(*OTHER, number=2)
    quoted = replace(passage(text, MILL[1]), disagrees_with=("c2",))
    at = 100 + text.index("It is")
    beside = replace(cite(quoted), quote="It is of oak.", start_char=at, end_char=100 + len(text))
    chances = {"c1": 0.9, "c2": 0.9}
    assert find_disagreement([cite(quoted)], [quoted, other], chances)
    assert not find_disagreement([beside], [quoted, other], chances)


# Of these, texts with numbers, dates, names, negations and breaks are made.
PIECES = [
    "Anna Holt ", "not ", "never ", "1874 ", "5 kg ", "May 1 ", "the mill ", "was built. ",
    "voluntary ", "WHO ", "once per week ", "\n\n", "# A\n", "- ", "3.5 million ", "\u3002",
    ", ", "only ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map("".join)


@given(st.data(), TEXTS, TEXTS)
def test_a_passage_never_disagrees_with_a_copy_of_itself(
    data: st.DataObject, text: str, question: str
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    again = data.draw(st.sampled_from([text, text.upper(), f"{text}\n\nOther words."]))
    # In capitals a sentence may begin where none did: behind "built." there is "NOT", not "not".
    assume(again != text.upper() or sentence_spans(again) == sentence_spans(text))
    copy = passage(again, text[start:end] if again != text.upper() else again[start:end], number=2)
    assert disagreeing(question, passage(text, text[start:end]), [copy]) == ()


# What each says, by its last number.
SAID = {1: "1874", 2: "1881", 3: "1890", 4: "1874"}


def dated(number: int, date: str, *, score: float) -> Passage:
    text = f"The mill was built in {SAID[number]} by monks."
    found = passage(text, SAID[number], number=number)
    return replace(found, score=score, document_date=date)


def estimate(evidence: Evidence) -> float:
    """Sure of all that is as near as the best one."""
    return 0.9 if evidence.behind > -0.2 else 0.1


def mark(*passages: Passage, chance: Callable[[Evidence], float] = estimate) -> list[Passage]:
    return mark_disagreeing(BUILT, passages, estimate=chance, answer_from=ANSWER_FROM)


def ordered(*dates: str) -> list[str]:
    """The chunks of passages of these days, each with less of a score than the one before."""
    scores = (1.0 - 0.3 * place for place in range(len(dates)))
    numbered = enumerate(zip(dates, scores, strict=True), start=1)
    passages = [dated(number, date, score=score) for number, (date, score) in numbered]
    found = prefer_newest(mark(*passages))
    assert [each.score for each in found] == sorted((p.score for p in found), reverse=True)
    assert [each.is_newest for each in found].count(True) <= 1
    return [each.chunk_id for each in found]


@pytest.mark.parametrize(
    ("dates", "first"),
    {
        "newer": (("2019-05-01", "2024-05-01"), "c2"),
        "older": (("2024-05-01", "2019-05-01"), "c1"),
        "newest of three": (("2019", "2021", "2024"), "c3"),
        "one day": (("2024-05-01", "2024-05-01"), "c1"),
        "none known": (("", ""), "c1"),
        "one known": (("", "2024-05-01"), "c1"),
        "the other one known": (("2024-05-01", ""), "c1"),
        "a day of that year": (("2024", "2024-05-01"), "c1"),
        "a later month": (("2024-03-31", "2024-05"), "c2"),
        "newer, but the same": (("2019", "", "", "2024"), "c1"),
        "newest, and the same again": (("2019", "2021", "", "2024"), "c4"),
        "the same again, but before": (("2019", "2024", "", "2021"), "c2"),
        "nothing found": ((), None),
    }.values(),
)  # fmt: skip
def test_the_newest_that_says_otherwise_comes_first(
    dates: tuple[str, ...], first: str | None
) -> None:
    found = ordered(*dates)
    assert (found[0] if found else None) == first
    assert sorted(found) == [f"c{number}" for number in range(1, len(dates) + 1)]


OLDER, NEWER = dated(1, "2019", score=1.0), dated(2, "2024", score=0.3)


def test_it_has_the_score_of_the_one_that_it_comes_before() -> None:
    first, second = prefer_newest(mark(OLDER, NEWER))
    assert first == replace(NEWER, score=1.0, is_newest=True, disagrees_with=("c1",))
    assert second == replace(OLDER, disagrees_with=("c2",))


def test_two_that_disagree_are_no_rivals_but_both_must_be_sure() -> None:
    def by_lead(evidence: Evidence) -> float:
        return 0.9 if evidence.ahead >= ALONE_AHEAD else 0.1

    assert [each.disagrees_with for each in mark(OLDER, NEWER, chance=by_lead)] == [
        ("c2",),
        ("c1",),
    ]
    assert NEWER.reading is not None
    doubtful = replace(NEWER, reading=replace(NEWER.reading, score=-5.0))
    passages = [OLDER, doubtful]
    assert mark(*passages, chance=lambda each: 0.9 if each.reading > -1 else 0.1) == passages


def test_nothing_moves_where_nothing_is_marked_or_read() -> None:
    for likeliest in (read_as(OLDER, ""), replace(OLDER, reading=None)):
        passages = [likeliest, NEWER]
        assert prefer_newest(mark(*passages)) == passages


def test_the_lead_tells_the_days_of_what_is_quoted() -> None:
    assert describe_disagreement([""]) == "Your documents disagree:"
    told = describe_disagreement(["2024-05-01", "", "2023", "2024-05-01"])
    assert told == "Your documents disagree (the answer is of 2024-05-01 and 2023):"


def test_messages_of_a_thread_that_correct_each_other_disagree() -> None:
    def message(text: str, answer: str, name: str, *, number: int) -> Passage:
        path = ("Work day", name, "Further down")[: number + 1]
        read = passage(text, answer, number=number, document="d1")
        mail = replace(read, heading_path=path, metadata={"from": "Tom"})
        return replace(mail, document_date=mail.message_day)

    question = "When is the work day?"
    first = message("The work day is on 10 October.", "10 October", "Tom, 2026-09-07", number=1)
    second = message("The work day is on 17 October.", "17 October", "Ida, 2026-09-08", number=2)
    marked = mark_disagreeing(
        question, [first, second], estimate=lambda _: 0.9, answer_from=ANSWER_FROM
    )
    assert (first.document_date, second.document_date) == ("2026-09-07", "2026-09-08")
    assert prefer_newest(marked)[0].chunk_id == second.chunk_id
    for same in (replace(second, heading_path=first.heading_path), replace(second, metadata={})):
        assert not disagreeing(question, replace(first, metadata=same.metadata), [same])
