"""Which messages belong together."""

from typing import Any

import pytest

from corpus.sources.mail.threads import (
    MAX_MESSAGES,
    MessageHead,
    bare_subject,
    find_threads,
    read_head,
)


def threads(*said: dict[str, Any]) -> list[str]:
    """The threads of messages that are called a, b, c in the order of their folder."""
    heads = [
        MessageHead(chr(ord("a") + place), "1", place, **each) for place, each in enumerate(said)
    ]
    return ["".join(head.key for head in thread) for thread in find_threads(heads)]


def test_answers_are_with_what_they_refer_to() -> None:
    assert threads(
        {"message_id": "1", "subject": "Lamp"},
        {"message_id": "2", "subject": "Bread"},
        {"message_id": "3", "references": ("1",), "subject": "Re: Lamp"},
        {"message_id": "4", "references": ("1", "3"), "subject": "quite another"},
    ) == ["acd", "b"]


def test_answers_are_together_behind_what_is_gone_or_comes_later() -> None:
    gone = ("gone",)
    assert threads(
        {"message_id": "2", "references": gone}, {"message_id": "3", "references": gone}
    ) == ["ab"]
    assert threads({"message_id": "2", "references": ("1",)}, {"message_id": "1"}) == ["ab"]


def test_a_reply_that_refers_to_nothing_is_told_by_its_subject() -> None:
    assert threads(
        {"message_id": "1", "subject": "Lamp oil"},
        {"message_id": "2", "subject": "AW: Re[2]: lamp  oil"},
        {"subject": "Fwd: Lamp oil"},
    ) == ["abc"]


def test_messages_of_one_subject_that_answer_nothing_stay_apart() -> None:
    report = {"subject": "Weekly report"}
    assert threads(report, report, {"subject": ""}, {"subject": "Re: "}) == ["a", "b", "c", "d"]
    assert threads({"subject": "Re: Lamp"}, {"subject": "Lamp"}) == ["a", "b"]


def test_circles_and_long_chains_end() -> None:
    assert threads(
        {"message_id": "1", "references": ("2",)}, {"message_id": "2", "references": ("1", "2")}
    ) == ["ab"]
    chain = [
        MessageHead(f"{place:05}", "1", place, str(place), (str(place - 1),))
        for place in range(5_000)
    ]
    found = find_threads(chain)
    assert [len(thread) for thread in found] == [MAX_MESSAGES] * (5_000 // MAX_MESSAGES)


@pytest.mark.parametrize(
    ("subject", "bare"),
    [("Re: Fwd: AW : Lamp", "lamp"), ("Regarding: Lamp", "regarding: lamp"), ("Re:", "")],
)
def test_marks_of_replies_are_taken_off(subject: str, bare: str) -> None:
    assert bare_subject(subject) == bare


def test_a_head_is_read_however_it_is_written() -> None:
    content = (
        b"Subject: =?utf-8?q?L=C3=A4mpchen?=\r\nMESSAGE-ID:\r\n <1@x>\r\n"
        b"References: <a@x>\r\n\t<b@x> nonsense\r\nIn-Reply-To: Your mail <c@x>\r\n\r\n"
        b"References: <not@me>\r\n"
    )
    head = read_head(content, key="k", version="1", position=0)
    assert (head.subject, head.message_id) == ("Lämpchen", "1@x")
    assert head.references == ("a@x", "b@x", "c@x")
    many = b"References: " + b" ".join(b"<%d@x>" % each for each in range(500))
    references = read_head(many, key="k", version="1", position=0).references
    assert (len(references), references[0], references[-1]) == (51, "0@x", "499@x")
