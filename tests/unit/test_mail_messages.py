"""A thread becomes one document whatever its messages are like."""

from pathlib import Path

import pytest

from corpus.errors import UnreadableFile
from corpus.loaders import load_file
from corpus.sources.mail.folder import MailSource
from corpus.sources.mail.mbox import Mbox
from corpus.sources.mail.messages import read_thread
from corpus.sources.mail.threads import MessageHead
from corpus.sources.source import EntryContent
from tests.support.mails import mail, write_mbox

NESTED = b"".join(
    b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (depth, depth)
    for depth in range(1_000)
)


def reading(*messages: bytes) -> EntryContent:
    heads = (MessageHead(str(place), "1", place) for place in range(len(messages)))
    return read_thread(zip(heads, messages, strict=True), version="1", left_out=0)


@pytest.mark.parametrize(
    "broken",
    [
        NESTED,
        b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\ntext\n" * 2_000,
        b"Content-Type: multipart/mixed; boundary*=a\0b''%FF\n\n--x\n",
        NESTED + b"\n" * 40_000,
    ],
    ids=["nested", "parts", "boundary", "lines"],
)
def test_a_message_that_is_made_to_be_broken_is_left_out_of_its_thread(broken: bytes) -> None:
    found = reading(mail("1@x", text="The whole one."), broken)
    assert (found.part.metadata["message_count"], found.part.metadata["left_out"]) == (1, 1)
    with pytest.raises(UnreadableFile):
        reading(broken)


@pytest.mark.parametrize(
    "date", ["", "soon", "Mon, 1 Jan 99999999999999999999 10:00:00 +0000",
             "Fri, 31 Dec 9999 23:59:59 -2359", "Mon, 1 Jan 2026 10:00:00 +99999"]
)  # fmt: skip
def test_a_date_that_is_none_is_left_out(date: str) -> None:
    content = f"From: a@x\nSubject: Lamp\nDate: {date}\n\nThe text of it.\n".encode()
    found = reading(content)
    assert "date" not in found.part.metadata
    assert found.part.created_at is None
    loaded, _ = load_file(found.part.content, filename=found.part.filename)
    assert loaded.blocks[-1].text == "The text of it."


def test_a_copy_of_a_message_is_there_once() -> None:
    content = mail("1@x", text="Said once.")
    heads = [MessageHead("a", "1", 0, "1@x"), MessageHead("b", "1", 1, "1@x")]
    found = read_thread([(head, content) for head in heads], version="1", left_out=0)
    assert found.part.content.count(b"Said once.") == 1
    assert found.part.metadata["message_count"] == 1


def test_heads_that_nobody_would_write_are_listed(tmp_path: Path) -> None:
    odd = [
        b"Message-ID: <" + b"%" * 900 + b">\nSubject: =?x-none?q?=FF?=\n\nFirst.\n",
        b"Message-ID: <\xff\xfe@x>\nReferences: \xff<>\n\nSecond.\n",
        b"Subject\n: broken\n\nThird.\n",
        b"",
    ]
    write_mbox(tmp_path / "odd.mbox", odd)
    entries = list(MailSource(Mbox("odd", tmp_path / "odd.mbox"), max_bytes=9_999).list_entries())
    assert len(entries) == 4
    assert max(len(entry.uri) for entry in entries) < 300
    assert all(entry.uri.isascii() for entry in entries)
