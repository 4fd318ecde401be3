"""The signature's helpers: labels in, clean answers out, whatever a model writes."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qa.answerers.signature import (
    GUARD,
    MAX_CITATIONS,
    AnswerFromContext,
    answer_schema,
    clean_prediction,
    find_mistake,
    is_cut_off,
    keep_first,
    keep_guard,
    label_passages,
    labelled_text,
    labels_of,
    read_unfinished,
)

LABELS = ("S1", "S2", "S3")


def prediction(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"answer": "It is 330 metres tall.", **fields})


def test_signature_has_the_typed_fields() -> None:
    inputs = {name: field.annotation for name, field in AnswerFromContext.input_fields.items()}
    outputs = {name: field.annotation for name, field in AnswerFromContext.output_fields.items()}
    assert inputs == {"question": str, "context": list[str]}
    assert outputs == {"answer": str, "citations": list[str]}


@pytest.mark.parametrize("rule", ["context alone", "cite", "own words", GUARD, "empty answer"])
def test_instruction_states_the_rule(rule: str) -> None:
    assert rule in " ".join(AnswerFromContext.instructions.split())


def test_guard_stays_whatever_the_rules() -> None:
    assert keep_guard(AnswerFromContext) is AnswerFromContext
    other = keep_guard(AnswerFromContext.with_instructions("Answer in verse."))
    assert other.instructions == f"Answer in verse.\n{GUARD}"
    assert keep_guard(other) is other
    assert other.fields.keys() == AnswerFromContext.fields.keys()


def test_labels_count_from_one() -> None:
    assert label_passages(["a", "b\nS7: c"]) == ["S1: a", "S2: b\nS7: c"]


def test_label_is_read_back_from_the_beginning_only() -> None:
    assert labels_of(["S1: a", "S2: b\nS7: c", "no label"]) == ("S1", "S2")


@pytest.mark.parametrize("text", ["plain", "S9: a label of its own", "", "two\nlines"])
def test_label_comes_off_again(text: str) -> None:
    assert labelled_text(label_passages([text])[0]) == text


def test_text_without_a_label_stays() -> None:
    assert labelled_text("no label") == "no label"


def test_schema_allows_the_given_labels_only() -> None:
    fields = answer_schema(LABELS)["json_schema"]["schema"]["properties"]
    assert fields["citations"]["items"]["enum"] == list(LABELS)
    assert fields["citations"]["maxItems"] == len(LABELS)


def test_schema_is_closed_and_has_the_signature_s_fields() -> None:
    schema = answer_schema(LABELS)["json_schema"]["schema"]
    assert schema["required"] == list(AnswerFromContext.output_fields)
    assert schema["additionalProperties"] is False
    json.dumps(schema)


def test_schema_bounds_the_citations_of_many_passages() -> None:
    schema = answer_schema([f"S{n}" for n in range(1, 51)])["json_schema"]["schema"]
    assert schema["properties"]["citations"]["maxItems"] == MAX_CITATIONS


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [
        (["S1", "S3"], ("S1", "S3")),
        (["S3", "S1", "S3"], ("S3", "S1")),
        (["S1", "S9", "S0"], ("S1",)),
        (["[S2]", "(s1)"], ("S2", "S1")),
        ([1, "2", 3.0], ("S1", "S2", "S3")),
        ("S1, S2", ("S1", "S2")),
        ("S1", ("S1",)),
        (["S2: Amazon S3 stores objects."], ("S2",)),
        (["S01"], ("S1",)),
        ([{"label": "S1"}, None, True, ["S2"]], ("S2",)),
        (["page 2", "passage"], ()),
        (None, ()),
        ({"S1": 1}, ("S1",)),
    ],
)
def test_only_known_labels_are_kept(given_value: object, kept: tuple[str, ...]) -> None:
    assert clean_prediction(prediction(citations=given_value), LABELS)[1] == kept


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "  \n",
        None,
        [],
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
        "The answer is not in the context.",
        "The information is not given in the passages.",
        "No answer found in the context",
        "No information available.",
        "There is not enough information in the context to answer.",
    ],
)
def test_non_answer_becomes_empty(answer: object) -> None:
    said = prediction(answer=answer, citations=["S1"])
    assert clean_prediction(said, LABELS) == ("", ())


@pytest.mark.parametrize(
    "answer",
    [
        "We do not provide refunds.",
        "No information is shared with third parties.",
        "The documents do not contain personal data.",
        "The context is cleared. The cache does not hold it any more.",
        "Nothing was found in the wreck.",
        "Unknown pleasures is an album.",
        "The answer is 42.",
        "It is stored in Simple Storage Service (S3).",
    ],
)
def test_answer_that_sounds_like_none_is_kept(answer: str) -> None:
    assert clean_prediction(prediction(answer=answer), LABELS)[0] == answer


@pytest.mark.parametrize(
    ("answer", "text", "cited"),
    [
        ("It is tall [S1]. It is old [S2, S3].", "It is tall. It is old.", ("S1", "S2", "S3")),
        ("S2: It is tall.", "It is tall.", ("S2",)),
        ("It is tall [S9].", "It is tall [S9].", ()),
        (["It is tall.", "It is old."], "It is tall. It is old.", ()),
        (330, "330", ()),
    ],
)
def test_marks_in_the_answer_become_citations(
    answer: object, text: str, cited: tuple[str, ...]
) -> None:
    assert clean_prediction(prediction(answer=answer), LABELS)[:2] == (text, cited)


def test_marks_cite_only_where_nothing_else_does() -> None:
    said = prediction(answer="It is tall [S2]. It is old [S9].", citations=["S1"])
    assert clean_prediction(said, LABELS)[:2] == ("It is tall. It is old [S9].", ("S1",))


def test_prediction_without_fields_is_an_empty_answer() -> None:
    assert clean_prediction(object(), LABELS) == ("", ())


def test_unknown_label_is_a_mistake_that_names_it() -> None:
    mistake = find_mistake(prediction(citations=["S1", "S9"]), LABELS)
    assert mistake == "S9 cited, but the labels are S1, S2, S3"


def test_answer_without_citations_is_a_mistake() -> None:
    assert "cites no passage" in find_mistake(prediction(citations=[]), LABELS)


@pytest.mark.parametrize(
    "sound",
    [
        prediction(citations=["S1"]),
        prediction(answer="It is tall [S2].", citations=[]),
        prediction(answer="", citations=[]),
        prediction(answer="NOT_FOUND", citations=["S1"]),
    ],
)
def test_sound_prediction_is_no_mistake(sound: SimpleNamespace) -> None:
    assert find_mistake(sound, LABELS) == ""


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(ANYTHING, ANYTHING)
def test_any_output_is_cleaned(answer: object, citations: object) -> None:
    said = SimpleNamespace(answer=answer, citations=citations)
    text, cited = clean_prediction(said, LABELS)
    assert text == text.strip()
    assert set(cited) <= set(LABELS)
    assert len(set(cited)) == len(cited)
    assert isinstance(find_mistake(said, LABELS), str)


TEXTS = st.lists(
    st.sampled_from([
        "It is tall.", " ", "[S1]", "[S9]", "[sic]", "[S", "S1: ", "\n", '"', "\\", "{", "\u00e9",
        "\U0001f5fc", "Not found.", "Sorry, ", "the context does not say so",
    ]),
    max_size=8,
).map("".join)  # fmt: skip


@given(TEXTS, st.booleans())
@example(answer="[S1]S1: It is tall.", is_ascii=False)
@example(answer="S1: S2: It is tall.", is_ascii=False)
def test_what_stands_of_a_reply_is_the_beginning_of_what_it_will_say(
    answer: str, is_ascii: bool
) -> None:
    reply = json.dumps({"citations": ["S2"], "answer": answer}, ensure_ascii=is_ascii)
    said, _ = clean_prediction(prediction(answer=answer, citations=["S2"]), LABELS)
    for cut in range(len(reply) + 1):
        text, labels = read_unfinished(f"```json\n{reply[:cut]}", LABELS)
        # A refusal is known for one at its end.
        assert said.startswith(text) or not said
        assert labels == (("S2",) if text else ())


def test_a_reply_is_read_as_soon_as_what_it_cites_stands() -> None:
    assert read_unfinished('{"citations": ["S1"], "answer": "It is t', LABELS) == (
        "It is t",
        ("S1",),
    )


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "It is tall.",
        "[1, 2",
        '{"citations": ["S1"',
        '{"citations": ["S1"], "answer": ["It is tall."',
        '{"citations": [], "answer": "It is tall [S1]. It',
        '{"citations": ["S1", "S9"], "answer": "It is tall. It',
        '{"answer": "It is tall. It is old.", "citations": ["S1"]',
        '{"citations": ["S1"], "answer": "NOT_FOUND"',
        '<think>{it}</think>{"citations": ["S1"], "answer": "It is tall. It',
    ],
)
def test_of_a_reply_of_which_not_all_is_certain_nothing_is_read(reply: str) -> None:
    assert read_unfinished(reply, LABELS) == ("", ())


@pytest.mark.parametrize(
    ("reply", "is_cut"),
    [
        ('{"citations": ["S1"], "answer": "It is t', True),
        ('```json\n{"citations": ["S1"', True),
        ('{"citations": ["S1"], "answer": "It is tall."}', False),
        ('```json\n{"citations": ["S1"], "answer": "It is tall."}\n```', False),
        ('{"answer": "It is tall."} I hope that helps.', False),
        ("It is tall.", False),
    ],
)
def test_a_reply_that_was_cut_off_is_told(reply: str, is_cut: bool) -> None:
    assert is_cut_off(reply) is is_cut


@pytest.mark.parametrize("piece", ["the context does not ", "[S1", " ", "S1,", "no information "])
def test_a_long_reply_is_read_quickly(piece: str) -> None:
    reply = f'{{"citations": ["S1"], "answer": "{piece * 20_000}'
    started = time.process_time()
    read_unfinished(reply, LABELS)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("piece", ["the context does not ", "[S1", " ", "S1,", "no information "])
def test_long_output_is_cleaned_quickly(piece: str) -> None:
    started = time.process_time()
    clean_prediction(prediction(answer=piece * 20_000, citations=[piece * 20_000]), LABELS)
    assert time.process_time() - started < 2


def test_the_first_texts_are_kept_up_to_a_length() -> None:
    context = ["S1: abcd", "S2: efgh", "S3: "]
    assert keep_first(context, most_tokens=4) == context[:2]
    assert keep_first(context, most_tokens=5) == context
    assert keep_first(context, most_tokens=1) == context[:1]
