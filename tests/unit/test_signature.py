"""What a model is asked, and what is read of its reply, whatever it writes."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.answerers.signature import (
    GUARD,
    MAX_IDS,
    MAX_SOURCES,
    MAX_STATEMENTS,
    AnswerFromPassages,
    PointedStatement,
    answer_schema,
    find_mistake,
    is_cut_off,
    keep_guard,
    number_passages,
    read_statements,
    read_unfinished,
    read_verdict,
)
from qa.types import Quote
from tests.support.documents import COAST, FIRST_SENTENCE

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
LIST = f"Parts:\n\n- a lamp\n  - of brass\n\n{TABLE}\n\n```\nls\n\nls -l\n```"
OTHER = replace(
    COAST, chunk_id="c2", title="", heading_path=(), text=LIST, start_char=7, end_char=7 + len(LIST)
)
NUMBERED = number_passages([COAST, OTHER])
TALL = "It is tall."


def row(text: object, *sources: object) -> dict[str, Any]:
    return {"sources": list(sources), "text": text}


def sources_of(*rows: object) -> list[list[str]]:
    """The ids of what each statement that is read points at."""
    found = read_statements(rows, NUMBERED)
    return [[_id_of(quote) for quote in each.quotes] for each in found]


def _id_of(quote: Quote) -> str:
    return next(key for key, other in NUMBERED.quotes.items() if other == quote)


def texts_of(*rows: object) -> list[str]:
    return [each.text for each in read_statements(rows, NUMBERED)]


def test_signature_has_the_typed_fields() -> None:
    inputs = {name: field.annotation for name, field in AnswerFromPassages.input_fields.items()}
    outputs = {name: field.annotation for name, field in AnswerFromPassages.output_fields.items()}
    assert inputs == {"passages": str, "question": str}
    assert outputs == {"verdict": str, "statements": list[PointedStatement]}
    assert list(outputs) == ["verdict", "statements"]


@pytest.mark.parametrize(
    "rule", ["passages alone", "ids", "own words", GUARD, "give no statements", "verdict"]
)
def test_instruction_states_the_rule(rule: str) -> None:
    assert rule in " ".join(AnswerFromPassages.instructions.split())


def test_guard_stays_whatever_the_rules() -> None:
    assert keep_guard(AnswerFromPassages) is AnswerFromPassages
    other = keep_guard(AnswerFromPassages.with_instructions("Answer in verse."))
    assert other.instructions == f"Answer in verse.\n{GUARD}"
    assert keep_guard(other) is other
    assert other.fields.keys() == AnswerFromPassages.fields.keys()


def test_each_segment_has_an_id_and_stands_on_a_line() -> None:
    first, second = NUMBERED.texts
    assert first.splitlines()[:2] == ["S1 (Coast > Towers)", f"S1.1 {FIRST_SENTENCE}"]
    assert second == (
        "S2\nS2.1 Parts:\nS2.2 - a lamp\nS2.3   - of brass\nS2.4 | a | b |\nS2.5 | 1 | 2 |\n"
        "S2.6 ```\nls\n\nls -l\n```"
    )


def test_an_id_stands_for_its_span_of_the_document() -> None:
    quote = NUMBERED.quotes["S1.1"]
    assert (quote.text, quote.start_char, quote.end_char) == (
        FIRST_SENTENCE, 100, 100 + len(FIRST_SENTENCE),
    )  # fmt: skip
    assert NUMBERED.quotes["S2.3"].text == "- of brass"
    assert NUMBERED.quotes["S2.3"].start_char == 7 + LIST.index("- of")
    assert NUMBERED.ids == (*(f"S1.{n}" for n in range(1, 6)), *(f"S2.{n}" for n in range(1, 7)))


def test_passages_are_given_while_there_is_room_and_the_first_one_always() -> None:
    first, second = map(len, NUMBERED.texts)
    assert number_passages([COAST, OTHER], max_tokens=(first + second) // 4 + 1) == NUMBERED
    cut = number_passages([COAST, OTHER], max_tokens=(first + second) // 4 - 1)
    assert cut == NUMBERED.first(1) == number_passages([COAST, OTHER], max_tokens=1)
    assert NUMBERED.first(2) == NUMBERED
    assert number_passages([]).texts == ()


def test_there_are_no_more_ids_than_a_schema_takes() -> None:
    many = replace(COAST, text="Rye. " * (MAX_IDS + 9))
    alone = number_passages([many, OTHER])
    assert (len(alone.ids), len(alone.texts)) == (MAX_IDS, 1)
    assert len(number_passages([OTHER, many]).texts) == 1


def test_schema_is_closed_bounded_and_allows_the_given_ids_only() -> None:
    fields = answer_schema(NUMBERED.ids)["json_schema"]["schema"]["properties"]
    statement = fields["statements"]["items"]["properties"]
    assert statement["sources"]["items"]["enum"] == list(NUMBERED.ids)
    assert list(statement) == ["sources", "text"]
    assert fields["verdict"]["enum"] == ["yes", "no", ""]
    schema = answer_schema(NUMBERED.ids)["json_schema"]["schema"]
    assert schema["required"] == list(AnswerFromPassages.output_fields)
    assert schema["additionalProperties"] is False
    statements = schema["properties"]["statements"]
    assert statements["maxItems"] == MAX_STATEMENTS
    assert statements["items"]["properties"]["sources"]["maxItems"] == MAX_SOURCES
    json.dumps(schema)


@pytest.mark.parametrize(
    ("sources", "kept"),
    [
        (["S1.1", "S2.3"], ["S1.1", "S2.3"]),
        (["S2.3", "S1.1", "S2.3"], ["S2.3", "S1.1"]),
        (["S1.1", "S9.1", "S1.99"], ["S1.1"]),
        (["[S1.2]", "(s1.1)"], ["S1.2", "S1.1"]),
        (["1.2", "S01.01"], ["S1.2", "S1.1"]),
        (["S1.2-S1.4"], ["S1.2", "S1.3", "S1.4"]),
        (["S1.2\u20134"], ["S1.2", "S1.3", "S1.4"]),
        (["S1.4 to S1.99"], ["S1.4", "S1.5"]),
        ("S1.1, S1.2", ["S1.1", "S1.2"]),
        ("S1.1", ["S1.1"]),
        ([None, {"id": "S1.1"}, True, ["S1.2"]], ["S1.1", "S1.2"]),
        (["S1", "the passage"], []),
        (None, []),
        ({}, []),
    ],
)
def test_only_known_ids_are_kept(sources: object, kept: list[str]) -> None:
    assert sources_of({"sources": sources, "text": TALL}) == [kept]


def test_statements_are_read_in_order_and_no_more_than_were_asked_for() -> None:
    rows = [row(f"It is {n}.", "S1.1") for n in range(MAX_STATEMENTS + 1)]
    assert texts_of(*rows) == [f"It is {n}." for n in range(MAX_STATEMENTS)]
    assert texts_of(PointedStatement(sources=["S1.1"], text=TALL)) == [TALL]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        None,
        [],
        330,
        "NOT_FOUND",
        "Not found.",
        "N/A",
        "null",
        "{answer}",
        "Unknown",
        "I don't know.",
        "I don\u2019t know the answer to that",
        "I cannot answer this question from what is given",
        "Sorry, I could not find it.",
        "The context does not mention who painted it.",
        "Unfortunately, the provided context doesn't contain this information.",
        "The given documents do not say when it was built.",
        "The passages do not specify a price",
        "The documents do not mention it.",
        "The answer is not in the context.",
        "The information is not given in the passages.",
        "No answer found in the context",
        "No information available.",
        "There is not enough information in the context to answer.",
    ],
)
def test_a_statement_that_there_is_no_answer_is_none(text: object) -> None:
    assert texts_of(row(text, "S1.1"), row(TALL, "S1.1")) == [TALL]


@pytest.mark.parametrize(
    "text",
    [
        "We do not provide refunds.",
        "No information is shared with third parties.",
        "The context is cleared. The cache does not hold it any more.",
        "Nothing was found in the wreck.",
        "Unknown pleasures is an album.",
        "The answer is 42.",
        "It is stored in Simple Storage Service (S3).",
        "See section [2.1] and (S1).",
    ],
)
def test_a_statement_that_sounds_like_none_is_kept(text: str) -> None:
    assert texts_of(row(text, "S1.1")) == [text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It is tall [S1.1]. It is old (S1.2, S1.3).", "It is tall. It is old."),
        ("It is tall [ S1.1 - 1.3 ].", "It is tall."),
        ("It  is\ntall.", TALL),
        ("[S1.1] It is tall.", TALL),
    ],
)
def test_ids_in_the_text_are_left_out(text: str, said: str) -> None:
    assert texts_of(row(text, "S1.1")) == [said]


@pytest.mark.parametrize("statements", [None, "It is tall.", {}, [1, "It is tall.", None], [[]]])
def test_what_is_no_list_of_statements_is_empty(statements: object) -> None:
    assert read_statements(statements, NUMBERED) == ()
    assert find_mistake(statements, NUMBERED) == ""


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ("yes", "yes"), ("No.", "no"), ('"YES"', "yes"), ("", ""), (None, ""), ("maybe", ""),
        (True, ""), (["no"], ""),
    ],
)  # fmt: skip
def test_a_verdict_is_yes_or_no_or_none(value: object, verdict: str) -> None:
    assert read_verdict(value) == verdict


def test_an_unknown_id_and_a_lack_of_sources_are_mistakes() -> None:
    mistake = find_mistake([row(TALL, "S1.1", "S9.1")], NUMBERED)
    assert mistake == "there are no segments S9.1"
    assert "has no sources" in find_mistake([row(TALL, "S1.1"), row("It is old.")], NUMBERED)


@pytest.mark.parametrize("rows", [[row(TALL, "S1.1")], [], [row("")], [row("NOT_FOUND", "S9.1")]])
def test_a_sound_reply_is_no_mistake(rows: list[object]) -> None:
    assert find_mistake(rows, NUMBERED) == ""


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)
ROWS = st.lists(st.fixed_dictionaries({"sources": ANYTHING, "text": ANYTHING}) | ANYTHING)


@given(ROWS | ANYTHING)
def test_any_output_is_read(statements: object) -> None:
    found = read_statements(statements, NUMBERED)
    assert len(found) <= MAX_STATEMENTS
    for each in found:
        assert each.text == " ".join(each.text.split()) != ""
        ids = [_id_of(quote) for quote in each.quotes]
        assert len(set(ids)) == len(ids)
    assert isinstance(find_mistake(statements, NUMBERED), str)
    assert read_verdict(statements) in {"yes", "no", ""}


TEXTS = st.lists(
    st.sampled_from([
        "It is tall.", " ", "[S1.1]", "[sic]", "[S1", "\n", '"', "\\", "{", "}", "]", "\u00e9",
        "\U0001f5fc", "Not found.", "Sorry, ", "the context does not say so",
    ]),
    max_size=8,
).map("".join)  # fmt: skip


@given(st.lists(TEXTS, max_size=4), st.sampled_from(["yes", "no", ""]), st.booleans())
def test_what_is_finished_of_a_reply_is_how_the_whole_one_begins(
    texts: list[str], verdict: str, is_ascii: bool
) -> None:
    rows = [row(text, "S1.1") for text in texts]
    reply = json.dumps({"verdict": verdict, "statements": rows}, ensure_ascii=is_ascii)
    whole = read_statements(rows, NUMBERED)
    before = 0
    for cut in range(len(reply) + 1):
        told, finished = read_unfinished(f"```json\n{reply[:cut]}")
        found = read_statements(finished, NUMBERED)
        assert found == whole[: len(found)]
        assert before <= len(found)
        if found:
            assert read_verdict(told) == verdict
        before = len(found)


def test_a_statement_is_finished_once_the_next_has_begun() -> None:
    reply = '{"verdict": "yes", "statements": [{"sources": ["S1.1"], "text": "It is tall."}'
    assert read_unfinished(reply) == ("yes", [])
    assert read_unfinished(f'{reply}, {{"sou') == ("yes", [row(TALL, "S1.1")])


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "It is tall.",
        "[1, 2",
        '{"verdict": "y',
        '{"verdict": yes',
        '{"statements": [{"sources": ["S1.1"], "text": "It is tall."}, {"sources": ["',
        '{"verdict": "", "statements": "It is tall. It is',
        '<think>{it}</think>{"verdict": "", "statements": [{"sources": ["S1.1"], "text": "It"}, {',
    ],
)
def test_of_a_reply_of_which_not_all_is_certain_nothing_is_read(reply: str) -> None:
    assert read_unfinished(reply)[1] == []


@pytest.mark.parametrize(
    ("reply", "is_cut"),
    [
        ('{"verdict": "", "statements": [{"sources": ["S1.1"], "text": "It is t', True),
        ('```json\n{"verdict": "', True),
        ('{"verdict": "", "statements": []}', False),
        ('```json\n{"verdict": "", "statements": []}\n```', False),
        ('{"statements": []} I hope that helps.', False),
        ("It is tall.", False),
    ],
)
def test_a_reply_that_was_cut_off_is_told(reply: str, is_cut: bool) -> None:
    assert is_cut_off(reply) is is_cut
