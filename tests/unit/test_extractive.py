"""The extractive answerer: what it quotes of a passage, and what stands with it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.answerers.extractive import (
    LIST_WORDS,
    NEEDED_WORDS,
    SECOND_WITHIN,
    ExtractiveAnswerer,
    find_excerpt,
    find_needs,
)
from qa.grounding.confidence import SCORE_WEIGHT
from qa.segments import Kind, split_segments
from qa.types import Draft, Passage, Query
from tests.support.passages import passage, read_as

RYE = passage("Rye is baked here. Bread is dark.")
OATS = replace(RYE, chunk_id="c2", text="Oats are baked here.\n\nPorridge is pale.")
# The same text further down in the document, and in another one.
BELOW = replace(OATS, start_char=33, end_char=73)
ELSEWHERE = replace(OATS, document_id="d2")
QUERY = Query("What is baked?", "default")


def answer(*passages: Passage, max_words: int = 4, query: Query = QUERY) -> Draft:
    return ExtractiveAnswerer(max_words=max_words).answer(query, passages)


def said(draft: Draft) -> list[str]:
    return [statement.text for statement in draft.statements]


def cited(draft: Draft) -> list[str]:
    """The chunks that the draft quotes, each once."""
    quotes = [quote for statement in draft.statements for quote in statement.quotes]
    return list(dict.fromkeys(quote.passage.chunk_id for quote in quotes))


def test_each_statement_is_its_quote_word_for_word() -> None:
    moved = replace(RYE, start_char=200, end_char=233)
    draft = answer(read_as(moved, "dark"))
    (statement,) = draft.statements
    (quote,) = statement.quotes
    assert draft.answerer == "extractive"
    assert statement.text == quote.text == "Bread is dark."
    assert (quote.start_char, quote.end_char) == (219, 233)


def test_the_passage_that_reads_best_is_quoted_around_what_was_read() -> None:
    found = answer(read_as(RYE, "dark", score=1.0), read_as(OATS, "Oats", score=2.0))
    assert (said(found), cited(found)) == (["Oats are baked here."], ["c2"])
    found = answer(read_as(RYE, "dark", score=3.0), read_as(OATS, "Oats", score=2.0))
    assert (said(found), cited(found)) == (["Bread is dark."], ["c1"])


@pytest.mark.parametrize(
    ("behind", "is_said"), [(0.0, True), (SECOND_WITHIN - 0.1, True), (SECOND_WITHIN, False)]
)
def test_second_place_of_the_document_that_reads_as_well_is_quoted(
    behind: float, is_said: bool
) -> None:
    found = answer(read_as(RYE, "dark", score=5.0), read_as(BELOW, "pale", score=5.0 - behind))
    assert said(found) == ["Bread is dark.", "Porridge is pale."][: 1 + is_said]
    assert cited(found) == ["c1", "c2"][: 1 + is_said]


def test_a_second_place_that_disagrees_is_not_quoted_as_an_answer() -> None:
    near = replace(read_as(RYE, "dark", score=5.0), disagrees_with=(BELOW.chunk_id,))
    assert cited(answer(near, read_as(BELOW, "pale", score=5.0))) == ["c1"]


def test_what_a_document_says_twice_is_said_once() -> None:
    again = replace(BELOW, text=f"Oats are baked here. {RYE.text}")
    found = answer(read_as(RYE, "dark", score=2.0), read_as(again, "dark", score=1.9))
    assert (said(found), cited(found)) == (["Bread is dark."], ["c1"])


LISTED = "There are two:\n\n- Rye is dark.\n- Oats are pale."
LIST = replace(RYE, text=LISTED, end_char=len(LISTED))


def test_an_item_is_said_behind_what_leads_to_it_each_word_for_word() -> None:
    assert said(answer(read_as(LIST, "pale"))) == ["There are two:", "- Oats are pale."]
    assert said(answer(read_as(LIST, "dark"))) == ["There are two:\n\n- Rye is dark."]


def test_a_step_is_said_behind_those_before_it() -> None:
    text = "To bake:\n1. Knead it.\n2. Wait.\n3. Bake it."
    steps = read_as(replace(LIST, text=text, end_char=len(text)), "Bake it")
    assert said(answer(steps)) == [text]


STEPS = "To bake:\n1. Knead it. Be slow.\n2. Wait.\n3. Bake it. Eat it."
HOW = replace(QUERY, text="How do I bake it?")


@pytest.mark.parametrize("words", ["Knead", "Wait", "Eat"])
def test_asked_how_all_steps_of_the_list_are_said(words: str) -> None:
    text = f"{STEPS}\n\nIt keeps long."
    steps = read_as(replace(LIST, text=text, end_char=len(text)), words)
    assert said(answer(steps, query=HOW)) == [STEPS]
    assert said(answer(steps)) != [STEPS] or words == "Eat"


def test_asked_how_as_many_whole_steps_are_said_as_are_few_words() -> None:
    text = STEPS.replace("Eat", "Eat " * LIST_WORDS)
    steps = read_as(replace(LIST, text=text, end_char=len(text)), "Knead")
    assert said(answer(steps, query=HOW)) == [text.partition("\n3.")[0]]


def test_asked_how_an_item_without_a_number_is_said_alone() -> None:
    assert said(answer(read_as(LIST, "dark"), query=HOW)) == ["There are two:\n\n- Rye is dark."]


def test_what_leads_to_an_item_is_left_out_where_it_is_long() -> None:
    text = LISTED.replace("two", "two " * 40)
    assert said(answer(read_as(replace(LIST, text=text), "pale"))) == ["- Oats are pale."]


def test_where_several_things_are_asked_for_a_list_is_said_whole() -> None:
    several = replace(QUERY, wants_list=True)
    assert said(answer(read_as(LIST, "pale"), query=several)) == [LISTED]


def test_how_well_a_place_was_found_counts_for_the_second_one_too() -> None:
    first = replace(RYE, score=(SECOND_WITHIN + 0.1) / SCORE_WEIGHT)
    assert cited(answer(read_as(first, "dark"), read_as(BELOW, "pale"))) == ["c1"]


def test_a_second_place_has_half_the_words() -> None:
    near = read_as(RYE, "Rye", score=1.0)
    found = answer(near, read_as(BELOW, "Oats"), max_words=8)
    assert said(found) == [RYE.text, "Oats are baked here."]
    assert said(answer(near, read_as(BELOW, "Oats"), max_words=14)) == [RYE.text, BELOW.text]


@pytest.mark.parametrize("other", [ELSEWHERE, OATS], ids=["another document", "the same place"])
def test_one_passage_is_quoted_where_no_other_place_of_its_document_is(
    other: Passage,
) -> None:
    found = answer(read_as(RYE, "Rye", score=2.0), read_as(other, "Oats", score=1.9))
    assert (said(found), cited(found)) == (["Rye is baked here."], ["c1"])


def test_next_place_is_quoted_where_the_likeliest_other_passage_is_none() -> None:
    found = answer(
        read_as(RYE, "Rye", score=2.0),
        read_as(ELSEWHERE, "Oats", score=1.9),
        read_as(replace(BELOW, chunk_id="c3"), "pale", score=1.8),
    )
    assert cited(found) == ["c1", "c3"]


def test_what_was_not_read_is_not_quoted() -> None:
    assert answer() == Draft((), "extractive")
    assert answer(RYE) == answer()
    assert cited(answer(RYE, read_as(OATS, "Oats", score=-9.0))) == ["c2"]


def test_a_quote_that_both_places_need_is_said_once() -> None:
    first = read_as(replace(LIST, text=f"{LISTED}\n- Spelt is nutty.", end_char=70), "pale")
    again = read_as(replace(first, chunk_id="c3"), "nutty", score=-0.5)
    assert said(answer(first, again, max_words=8)) == [
        "There are two:", "- Oats are pale.", "- Spelt is nutty.",
    ]  # fmt: skip


def test_there_is_nothing_to_load() -> None:
    answerer = ExtractiveAnswerer(max_words=4)
    answerer.load()
    assert (answerer.is_loaded, answerer.reads_neighbors) == (True, False)


PLAIN = "The mill is of oak. The wheel is of iron. Rye is ground there. Anna Holt owns all."
ITEMS = "There are three:\n- The wheel is of iron.\n- The mill is of oak. Worms eat oak.\n- Rye."
ROWS = "| part | of |\n|---|---|\n| wheel | iron |\n| mill | oak |\n| sail | linen |\n"
HEADINGS = "# Mill\nThe mill is of oak.\n\n## Wheel\nThe wheel is of iron. Rye is ground."
# Of these, any text is made that has headings, items, rows and what needs its neighbours.
PIECES = [
    "Rye is ground. ", "It is dark. ", "What is it? ", "These are:", "e.g. ", "word ", " ", "?",
    "- oak\n", "2) iron\n", "\n3. ", "| --- |\n", "| a | b |\n", "\n\n", "\n",
    "# Mill\n", "\n## Wheel\n", "\u3002",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def excerpt(text: str, answer: str, *, max_words: int = 99) -> str:
    at = text.index(answer)
    start, end = find_excerpt(text, (at, at + len(answer)), max_words=max_words)
    return text[start:end]


def test_all_sentences_that_the_answer_touches_are_said_however_long() -> None:
    assert excerpt(PLAIN, "iron", max_words=5) == "The wheel is of iron."
    said = excerpt(PLAIN, "iron. Rye", max_words=1)
    assert said == "The wheel is of iron. Rye is ground there."


@pytest.mark.parametrize(
    ("max_words", "last"), [(8, "iron."), (9, "there."), (12, "there."), (13, "all.")]
)
def test_what_is_behind_is_said_as_long_as_there_is_room(max_words: int, last: str) -> None:
    said = excerpt(PLAIN, "iron", max_words=max_words)
    assert said.startswith("The wheel")
    assert said.endswith(last)


def test_what_is_in_front_is_said_after_what_is_behind() -> None:
    assert excerpt(PLAIN, "iron", max_words=17).startswith("The wheel")
    assert excerpt(PLAIN, "iron", max_words=18) == PLAIN
    assert excerpt(PLAIN, "Anna", max_words=8) == "Rye is ground there. Anna Holt owns all."


@pytest.mark.parametrize("leaning", ["It grinds rye.", "However, rye is dear.", "If not, wait."])
def test_what_leans_on_the_sentence_before_it_has_that_too(leaning: str) -> None:
    text = f"Rye is rare. The mill is of oak. {leaning}"
    assert excerpt(text, leaning, max_words=3) == f"The mill is of oak. {leaning}"


def test_a_word_that_only_begins_like_one_that_leans_stands_alone() -> None:
    text = "The mill is of oak. Italy has others."
    assert excerpt(text, "Italy", max_words=3) == "Italy has others."


@pytest.mark.parametrize("leading", ["Who owns it?", "Owners are:"])
def test_what_leads_on_to_the_sentence_behind_it_has_that_too(leading: str) -> None:
    text = f"The mill is of oak. {leading}\n\nAnna Holt does.\n\nRye is ground."
    assert excerpt(text, leading, max_words=3) == f"{leading}\n\nAnna Holt does."


@pytest.mark.parametrize(("words", "is_said"), [(NEEDED_WORDS, True), (NEEDED_WORDS + 1, False)])
def test_what_is_needed_is_left_out_where_it_is_too_long(words: int, is_said: bool) -> None:
    needed = " ".join(["word"] * words) + "."
    for text in (f"{needed} It grinds rye.", f"Is rye ground? {needed}"):
        assert (excerpt(text, "rye", max_words=3) == text) is is_said


@pytest.mark.parametrize("alone", ["It grinds rye.", "Is it so?"])
def test_what_has_no_neighbour_to_need_stands_alone(alone: str) -> None:
    assert excerpt(alone, alone, max_words=1) == alone


def test_an_item_is_said_whole_without_its_neighbours() -> None:
    assert excerpt(ITEMS, "mill") == "- The mill is of oak. Worms eat oak."
    said = excerpt(ITEMS, "Worms")
    assert said.endswith("Worms eat oak.")
    assert "wheel" not in said


def test_what_leads_to_a_list_and_its_first_item_go_together() -> None:
    assert excerpt(ITEMS, "iron") == "There are three:\n- The wheel is of iron."
    assert excerpt(ITEMS, "three") == ITEMS


@pytest.mark.parametrize("rows", [ROWS, ROWS.replace(" ", "")], ids=["padded", "tight"])
@pytest.mark.parametrize(("answer", "number"), [("oak", 3), ("linen", 4)])
def test_a_row_is_said_without_its_neighbours(rows: str, answer: str, number: int) -> None:
    assert excerpt(rows, answer) == rows.splitlines()[number]


@pytest.mark.parametrize("rows", [ROWS, ROWS.replace(" ", "")], ids=["padded", "tight"])
def test_the_first_row_goes_with_its_header(rows: str) -> None:
    assert excerpt(rows, "iron").splitlines() == rows.splitlines()[:3]


def test_no_row_of_a_table_before_it_is_said_with_a_table() -> None:
    text = f"{ROWS}\nOf the house:\n\n{ROWS.replace('iron', 'slate')}"
    said = excerpt(text, "slate")
    assert said.startswith("Of the house:")
    assert said.endswith("| wheel | slate |")


@pytest.mark.parametrize(
    ("list_", "first_words"), [(ITEMS, 13), (ROWS, 15), (f"These are:\n\n{ROWS}", 17)]
)
def test_nothing_ends_in_what_leads_to_that_for_which_there_is_no_room(
    list_: str, first_words: int
) -> None:
    first = "The mill is dear."
    text = f"{first}\n\n{list_}"
    for words in range(4, first_words):
        assert excerpt(text, "dear", max_words=words) == first
    assert "iron" in excerpt(text, "dear", max_words=first_words)


@pytest.mark.parametrize("answer", ["part", "---"])
def test_a_header_goes_with_its_rows(answer: str) -> None:
    assert excerpt(ROWS, answer).splitlines() == ROWS.splitlines()
    assert excerpt(ROWS, answer, max_words=15).splitlines() == ROWS.splitlines()[:3]


def needs(text: str, said: str, *, max_words: int = 99) -> list[str]:
    at = text.index(said)
    found = find_needs(text, (at, at + len(said)), max_words=max_words)
    return [text[start:end] for start, end in found]


NESTED = "To move:\n1. Stop it.\n   - Lock the wheel.\n   - Tell Anna.\n2. Lift it.\n3. Go."


@pytest.mark.parametrize(
    ("text", "said", "needed"),
    [
        (ITEMS, "- Rye.", ["There are three:"]),
        (ROWS, "| mill | oak |", ["| part | of |"]),
        (NESTED, "- Tell Anna.", ["To move:", "1. Stop it."]),
        (NESTED, "2. Lift it.\n3. Go.", ["To move:", "1. Stop it."]),
    ],
)
def test_an_item_row_or_step_needs_what_leads_to_it(
    text: str, said: str, needed: list[str]
) -> None:
    assert needs(text, said) == needed


def test_a_step_needs_those_before_it_as_long_as_there_is_room() -> None:
    steps = ["To move:", "1. Stop it.", "2. Lift it."]
    assert needs(NESTED, "3. Go.") == steps
    assert needs(NESTED, "3. Go.", max_words=10) == steps
    assert needs(NESTED, "3. Go.", max_words=9) == ["To move:"]


def test_what_is_needed_goes_from_the_outside_in_where_there_is_no_room() -> None:
    assert needs(NESTED, "- Tell Anna.", max_words=8) == ["To move:", "1. Stop it."]
    assert needs(NESTED, "- Tell Anna.", max_words=7) == ["1. Stop it."]
    assert needs(NESTED, "- Tell Anna.", max_words=5) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ITEMS, "There are three:\n- The wheel is of iron."),
        (ITEMS, "Worms eat oak."),
        (ITEMS.replace(":", "."), "- Rye."),
        ("- oak\n- iron", "- iron"),
        ("| wheel | iron |\n| mill | oak |", "| mill | oak |"),
        (ROWS, "| part | of |"),
        (PLAIN, "Rye is ground there."),
        (PLAIN, "is ground"),
        ("# Mill", "# Mill"),
    ],
)
def test_what_has_what_leads_to_it_or_nothing_that_does_needs_none(text: str, said: str) -> None:
    assert needs(text, said) == []


def whole(text: str, answer: str, *, list_words: int = 99) -> str:
    at = text.index(answer)
    span = find_excerpt(text, (at, at + len(answer)), max_words=3, list_words=list_words)
    return text[slice(*span)]


@pytest.mark.parametrize("answer", ["three", "iron", "mill", "Worms", "Rye", "oak.\n- Rye"])
def test_a_list_is_said_whole_with_what_leads_to_it(answer: str) -> None:
    assert whole(f"Oak is old. {ITEMS}\n\nAnna owns it.", answer) == ITEMS


@pytest.mark.parametrize("answer", ["part", "iron", "linen"])
def test_a_table_is_said_whole(answer: str) -> None:
    assert whole(f"Oak is old.\n\n{ROWS}\nAnna owns it.", answer) == ROWS.strip()
    named = f"The parts are:\n\n{ROWS}".strip()
    assert whole(f"Oak is old. {named}\n\nAnna owns it.", answer) == named


def test_the_paragraph_before_a_list_leads_to_it() -> None:
    text = "Anna Holt owns it.\n\nThere are two parts. Both are old.\n\n1. Wheel.\n2. Mill."
    assert whole(text, "Mill") == whole(text, "two") == text[text.index("There") :]
    assert whole(text, "Anna") == "Anna Holt owns it."
    assert whole(text.partition("\n\n")[2], "Wheel") == text[text.index("There") :]


def test_without_a_list_near_or_short_enough_all_is_as_before() -> None:
    words = len(ITEMS.split())
    assert whole(ITEMS, "mill", list_words=words) == ITEMS
    assert whole(ITEMS, "mill", list_words=words - 1) == "- The mill is of oak."
    assert whole(PLAIN, "Anna") == "Anna Holt owns all."
    assert whole(f"{ITEMS}\n\n{PLAIN}", "Anna") == "Anna Holt owns all."


def test_a_mark_that_its_item_does_not_follow_is_not_said() -> None:
    text = "1. The mill is of oak.\n2."
    for answer in ("oak", "2."):
        assert excerpt(text, answer) == "1. The mill is of oak."


DOCUMENTS = sorted(Path("data/documents").glob("*.md"))
SECTION = re.compile(r"(?m)^(?=#)")
ENDS_IN_MARK = re.compile(r"(?:\A|\n)\s*(?:[-*+\u2022]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s*\Z")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_excerpts_of_the_samples_end_in_no_mark_and_have_what_leads_there(
    path: Path,
) -> None:
    for text in filter(str.strip, SECTION.split(path.read_text(encoding="utf-8"))):
        for answer in split_segments(text):
            for list_words in (0, LIST_WORDS):
                span = find_excerpt(text, answer.span, max_words=65, list_words=list_words)
                said = text[slice(*span)]
                assert not ENDS_IN_MARK.search(said)
                if re.match(r"[-|]|\d+\. ", said) and not find_needs(text, span, max_words=999):
                    before = text[: span[0]].rstrip()
                    assert said.startswith("|") or not before.endswith(":")


SHEET = "Room: Dunlin; Beds: 6\n\nRoom: Gannet; Beds: 2; Note: quiet\n\nRoom: Heron; Beds: 8"


def test_a_row_of_a_sheet_is_quoted_without_its_neighbors() -> None:
    assert excerpt(SHEET, "Gannet") == "Room: Gannet; Beds: 2; Note: quiet"
    assert whole(SHEET, "Gannet") == SHEET


def test_the_end_of_a_list_before_the_answer_is_not_quoted() -> None:
    text = f"{STEPS}\nIt is hot.\n\nRye keeps long. Oats do not."
    assert excerpt(text, "Rye", max_words=20) == "Rye keeps long. Oats do not."
    assert excerpt(text, "hot", max_words=20).startswith("3. Bake it.")


def test_the_header_of_a_mail_is_quoted_only_where_it_answers() -> None:
    header = "From: Dr. Anna Holt <anna@mill.example>\nTo: All\nDate: Mon, 2 Nov 2026 10:00:00"
    mail = f"{header}\n\nIt is shut on Monday. Rye is ground on Friday."
    assert excerpt(mail, "Monday") == excerpt(mail, "Friday") == mail.partition("\n\n")[2]
    assert excerpt(mail, "2 Nov", max_words=1) == header


def test_a_paragraph_behind_a_list_is_no_item() -> None:
    text = "- The mill is of oak.\n\nRye is ground. Wheat is too."
    assert excerpt(text, "Rye") == text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("oak", "The mill is of oak."),
        ("iron", "The wheel is of iron. Rye is ground."),
        ("Mill", "The mill is of oak."),
        ("Wheel", "The wheel is of iron. Rye is ground."),
    ],
)
def test_a_heading_is_neither_said_nor_crossed(answer: str, said: str) -> None:
    assert excerpt(HEADINGS, answer) == said


@pytest.mark.parametrize("text", ["", "\n\n", "# The mill is of oak.", "# Mill\n\n## Oak\n"])
def test_a_text_without_statements_is_said_as_it_stands(text: str) -> None:
    assert excerpt(text, "") == text


def test_without_a_part_that_answers_the_beginning_is_said() -> None:
    assert excerpt(PLAIN, "", max_words=5) == "The mill is of oak."


@given(text=TEXTS, data=st.data(), max_words=st.integers(1, 30), list_words=st.integers(0, 9))
def test_an_excerpt_is_a_run_of_segments_around_the_answer(
    text: str, data: st.DataObject, max_words: int, list_words: int
) -> None:
    at = data.draw(st.integers(0, len(text)), label="start")
    to = data.draw(st.integers(at, len(text)), label="end")
    start, end = find_excerpt(text, (at, to), max_words=max_words, list_words=list_words)
    segments = split_segments(text)
    headings = [each for each in segments if each.kind is Kind.HEADING]
    if len(headings) == len(segments):
        assert (start, end) == (0, len(text))
        return
    said = [each for each in segments if start <= each.start and each.end <= end]
    touched = [
        each
        for each in segments
        if each.end > at and each.start < to and each.kind is not Kind.HEADING
    ]
    behind = min((each.start for each in headings if each.start > at), default=len(text))

    assert said
    assert (start, end) == (said[0].start, said[-1].end)
    assert len({each.section for each in said}) == 1
    assert not any(each.kind is Kind.HEADING for each in said)
    assert {each.span for each in touched if each.end <= behind} <= {each.span for each in said}
    # The row above a table's rule comes with it, whatever its length.
    has_header = bool(touched) and touched[0].kind is Kind.RULE
    if len(said) > max(1, len(touched)) + has_header:
        assert len(text[start:end].split()) <= max(max_words + NEEDED_WORDS, list_words)


@given(text=TEXTS, data=st.data(), max_words=st.integers(1, 30))
def test_what_is_needed_stands_in_order_before_the_excerpt(
    text: str, data: st.DataObject, max_words: int
) -> None:
    segments = split_segments(text)
    if not segments:
        return
    said = data.draw(st.sampled_from(segments))
    needs = find_needs(text, said.span, max_words=max_words)
    assert needs == sorted(set(needs))
    assert set(needs) <= {each.span for each in segments if each.end <= said.start}
    words = sum(len(text[start:end].split()) for start, end in [*needs, said.span])
    assert words <= max(max_words, len(text[slice(*said.span)].split()))
