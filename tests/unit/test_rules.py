"""What a rule may say, and how a file of rules is read."""

from pathlib import Path
from typing import Any

import pytest

from corpus.errors import InvalidInput
from corpus.rules.conditions import like_pattern, validate_rule
from corpus.rules.rule_file import MAX_RULE_FILE_BYTES, MAX_RULES, read_rules

INVOICES = {"name": "invoices", "path": "invoices/*", "tags": ["invoice"]}


def test_a_rule_is_spelled_like_texts_and_tags() -> None:
    settled = validate_rule(
        {
            "name": " Of  the cafe\u0301 ",
            "title": "cafe\u0301, , menu of  the day",
            "words": ["payment due", "payment  due"],
            "tags": "Food,food",
        }
    )
    assert settled == {
        "name": "Of the café",
        "path": "",
        "title": ["café", "menu of the day"],
        "words": ["payment due"],
        "sender": "",
        "tags": ["food"],
        "collection": "",
    }


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"name": " "}, "name", id="no-name"),
        pytest.param({"path": ""}, "path", id="no-condition"),
        pytest.param({"tags": []}, "tags", id="no-act"),
        pytest.param({"tag": "a"}, "tag", id="unknown-field"),
        pytest.param({"path": 3}, "path", id="no-text"),
        pytest.param({"words": {"a": 1}}, "words", id="no-list"),
        pytest.param({"words": [1]}, "words", id="no-list-of-texts"),
        pytest.param({"words": ["a\0"]}, "words", id="not-storable"),
        pytest.param({"words": [str(n) for n in range(21)]}, "words", id="many-phrases"),
        pytest.param({"words": ["a" * 201]}, "words", id="long-phrase"),
        pytest.param({"tags": ["a" * 65]}, "tags", id="long-tag"),
        pytest.param({"path": "a*" * 11}, "path", id="many-stars"),
        pytest.param({"sender": "a" * 501}, "sender", id="long-pattern"),
        pytest.param({"name": "a" * 101}, "name", id="long-name"),
        pytest.param({"collection": "no name"}, "collection", id="no-collection-s-name"),
    ],
)
def test_what_is_no_rule_names_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validate_rule({**INVOICES, **change})
    assert caught.value.field == field


def test_a_pattern_has_two_signs_and_no_others() -> None:
    assert like_pattern(r"50%_[a]\?/**.pdf") == r"50\%\_[a]\\_/%.pdf"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules.yaml", "rules:\n- name: invoices\n  path: invoices/*\n  tags: invoice\n"),
        ("rules.yml", "- {name: invoices, path: invoices/*, tags: [invoice]}\n"),
        ("rules.toml", '[[rules]]\nname = "invoices"\npath = "invoices/*"\ntags = ["Invoice"]\n'),
        ("rules.json", '[{"name": "invoices", "path": "invoices/*", "tags": ["invoice"]}]'),
    ],
)
def test_rules_are_read_of_three_kinds_of_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_rules(tmp_path / name) == [validate_rule(INVOICES)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.ini", "", "must end in .yaml, .toml or .json"),
        ("a.yaml", "- name: a\n  - b", "line 2"),
        ("a.toml", "rules = 1 1", "line 1"),
        ("a.json", "[\n{]", "line 2"),
        ("a.json", "3", "must be a list of rules"),
        ("a.json", '{"rules": [], "more": 1}', "must be a list of rules"),
        ("a.json", "[[]]", "rule 1 must be a table"),
        ("a.yaml", "- {name: a, path: b, tags: c}\n- {name: d}", "rule 2 ('d'): path: Enter"),
        ("a.yaml", "- {path: b, tags: c}", "rule 1: name: Enter a name for the rule"),
        ("a.yaml", "- &a {name: a, path: b, tags: c}\n- *a", "two rules have the name 'a'"),
        pytest.param("a.json", "[" + "3," * MAX_RULES + "3]", "at most 100", id="many"),
        pytest.param("a.json", " " * (MAX_RULE_FILE_BYTES + 1), "than 1,048,576 bytes", id="large"),
        pytest.param("a.json", "[" * 100_000, "recursion", id="deep"),
        ("none.json", None, "No such file"),
    ],
)
def test_a_wrong_file_is_told_with_the_place(
    tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=name) as caught:
        read_rules(tmp_path / name)
    assert said in str(caught.value)
