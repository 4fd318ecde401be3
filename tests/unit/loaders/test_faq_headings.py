import pytest

from corpus.ingestion.chunkers.scopes import find_scopes
from corpus.ingestion.normal_form import join_blocks
from corpus.loaders.blocks import Block, OcrBox
from corpus.loaders.faq_headings import (
    MAX_ANSWER_CHARS,
    MAX_LONE_ANSWER_CHARS,
    MAX_MARKED_CHARS,
    add_question_headings,
)
from corpus.loaders.labels import LINE_LEVEL

PROSE = "It goes on for a while. " * 20


def headings(*texts: str) -> list[str]:
    blocks = add_question_headings([Block(text) for text in texts])
    return [b.heading_text for b in blocks if b.heading_level == LINE_LEVEL]


def paths(*blocks: Block | str) -> dict[str, tuple[str, ...]]:
    """What each block is under, by its first word."""
    given = [Block(each) if isinstance(each, str) else each for each in blocks]
    return {block.text.split()[0]: block.labels for block in add_question_headings(given)}


@pytest.mark.parametrize(
    "question",
    [
        "Why does it stop?",
        "Q: Why does it stop?",
        "(7) Why does it stop?",
        "2.1. Why does it stop?",
        "`stop` does what?",
        "It stops.\nWhy is that?",
    ],
)
def test_a_question_that_a_paragraph_answers_is_a_heading(question: str) -> None:
    assert headings(question, "Because it must.") == [" ".join(question.split())]


@pytest.mark.parametrize(
    "line",
    [
        "- Why does it stop?",
        "It stops.",
        "Why " + "really " * 40 + "?",
        "One.\nTwo.\nThree?",
        "Q. Ritchie wrote it.",
    ],
)
def test_items_sentences_and_long_questions_are_no_headings(line: str) -> None:
    assert headings(line, "Because it must.") == []


def test_questions_in_a_row_are_a_table_of_contents() -> None:
    assert headings("Why?", "How so?", "When?") == []
    assert headings("Q1: Why?", "Q2: How so?", "Q3: Tell me more.") == []


def test_a_question_or_a_mark_above_a_heading_is_not_answered() -> None:
    blocks = add_question_headings([Block("Why?"), Block("# Next", 1, "Next"), Block("Text.")])
    assert [b.heading_level for b in blocks] == [None, 1, None]
    blocks = add_question_headings([Block("Q:"), Block("# Next", 1, "Next"), Block("A: So.")])
    assert [b.heading_level for b in blocks] == [None, 1, None]


@pytest.mark.parametrize(
    ("text", "questions", "parts"),
    [
        ("Q) It stops.\nA) It must.", ["Q) It stops."], ["Q) It stops.", "A) It must."]),
        ("Q. Why?\nA. So.", ["Q. Why?"], ["Q. Why?", "A. So."]),
        ("Q3: Why\nis that?\n   A: So.", ["Q3: Why is that?"], ["Q3: Why\nis that?", "   A: So."]),
        ("**Q:** Why? **A:** So.", ["**Q:** Why?"], ["**Q:** Why?", " **A:** So."]),
        ("2. Frage: Why?\nAntwort: So.", ["2. Frage: Why?"], ["2. Frage: Why?", "Antwort: So."]),
        (
            "Ask us.\nQ: Why?\nA1: So.\nA2: Or so.\nQ: How?\nA: Thus.",
            ["Q: Why?", "Q: How?"],
            ["Ask us.", "Q: Why?", "A1: So.\nA2: Or so.", "Q: How?", "A: Thus."],
        ),
    ],
)
def test_question_and_answer_in_one_paragraph_are_parted(
    text: str, questions: list[str], parts: list[str]
) -> None:
    blocks = add_question_headings([Block(text, page=3)])
    assert [b.heading_text for b in blocks if b.heading_level] == questions
    assert [b.text for b in blocks] == parts
    assert {b.page for b in blocks} == {3}


@pytest.mark.parametrize(
    "text", ["Q: Why?\nQ: How?", "A: So.\nB: Thus.", "In Q. 3\nA. Turing sat."]
)
def test_paragraphs_without_question_and_answer_stay_whole(text: str) -> None:
    assert add_question_headings([Block(text), Block("More.")])[0].text == text


@pytest.mark.parametrize(
    "block",
    [
        Block("Q: Why?\nA: So.", ocr_boxes=(OcrBox(8, 0.9, 0, 0, 50, 0, 10),)),
        Block("Q: Why?\nA: So.", page=1, page_starts=((8, 2),)),
        Block("Q: Why?\nA: So.", 2, "Why"),
        Block("```\nQ: Why?\nA: So.\n```"),
    ],
)
def test_headings_listings_and_what_has_positions_in_it_stay_whole(block: Block) -> None:
    assert add_question_headings([block]) == (block,)


def test_marked_questions_need_no_question_mark_where_others_are_certain() -> None:
    certain = ("Q: Why?", "So.", "Q: It stops.", "A: It must.")
    assert headings(*certain, "Q: It is red.", "Paint it.")[-1] == "Q: It is red."
    assert headings("Q: Why?", "So.", "Q: It is red.", "Paint it.") == ["Q: Why?"]


def test_what_stands_before_a_marked_answer_is_the_question() -> None:
    certain = ("1. Why?", "A: So.", "2. How?", "A: Thus.")
    assert headings(*certain, "3. It stops.", "A: It must.")[-1] == "3. It stops."
    assert headings(*certain, "```\nlog\n```", "A: It must.") == ["1. Why?", "2. How?"]
    assert headings("1. Why?", "A: So.", "Note.", "A. Turing sat.") == ["1. Why?"]


def test_a_mark_alone_is_headed_by_the_question_behind_it() -> None:
    blocks = ("Q:", "Sound is gone.", "How come?", "A:", "Turn it up.", "Louder still.")
    assert headings(*blocks) == ["Sound is gone. How come?"]
    assert [b.text for b in add_question_headings([Block(text) for text in blocks])] == list(blocks)


@pytest.mark.parametrize(
    "blocks", [("Q:", "A:", "So."), ("Q:", PROSE, "A:", "So."), ("Q:", "Text."), ("Q:",)]
)
def test_a_mark_alone_without_a_question_is_no_heading(blocks: tuple[str, ...]) -> None:
    assert headings(*blocks) == []


def test_an_answer_ends_at_the_next_question_a_rule_or_a_heading() -> None:
    found = paths("Why?", "Because.", "How?", "Thus.", "-----", "After.", "When?", "Now.")
    assert found["Why?"] == found["Because."] == ("Why?",)
    assert found["Thus."] == ("How?",)
    assert found["-----"] == found["After."] == ()
    found = paths("Why?", "Because.", Block("# Next", 1, "Next"), "After.")
    assert found["Because."] == ("Why?",)
    assert found["#"] == found["After."] == ()


def test_an_answer_ends_at_a_question_too_long_for_a_heading() -> None:
    long = "Q: " + "More of that. " * (MAX_MARKED_CHARS // 10)
    found = paths("Q: Why?", "A: Because.", "Q: How?", "Thus.", long.replace("Q:", "Q4:"), "Also.")
    assert found["Thus."] == ("Q: How?",)
    assert found["Q4:"] == found["Also."] == ()


def test_a_question_asked_in_passing_names_no_more_than_an_answer() -> None:
    answer = [f"{at} {PROSE}" for at in range(9)]
    found = paths("So what?", *answer)
    named = [text for text in answer if found[text.split()[0]]]
    assert named == answer[: MAX_LONE_ANSWER_CHARS // len(answer[0])]


@pytest.mark.parametrize("others", [("How?", "Thus."), ()])
def test_a_question_among_others_or_behind_a_mark_names_a_long_answer(
    others: tuple[str, ...],
) -> None:
    answer = [f"{at} {PROSE}" for at in range(30)]
    found = paths(*others, "Why?" if others else "Q: Why?", *answer)
    named = [text for text in answer if found[text.split()[0]]]
    assert named == answer[: MAX_ANSWER_CHARS // len(answer[0])]


def test_the_first_paragraph_of_an_answer_is_named_however_long() -> None:
    found = paths("Why?", "Because. " * 900, "After.")
    assert found["Because."] == ("Why?",)
    assert found["After."] == ()


def test_a_term_that_asks_is_not_said_twice() -> None:
    block, _ = add_question_headings(
        [Block("Why?", labels=("Why?",)), Block("So.", labels=("Why?",))]
    )
    assert block.labels == ("Why?",)


def test_a_heading_that_asks_ends_with_its_answer() -> None:
    texts = ("Why?", "Because.", "-----", "After.")
    text, outline = join_blocks(add_question_headings([Block(each) for each in texts]))
    ends = {text[: scope.end].split()[-1] for scope in find_scopes(outline, len(text))}
    assert ends == {"Because."}
    assert [heading.text for heading in outline.headings] == ["Why?"]
