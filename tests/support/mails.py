"""Messages for tests."""

import os
from email.message import EmailMessage
from pathlib import Path

from tests.support.documents import BAKERY, LIGHTHOUSE

FIRST, ANSWER, OTHER = "lamp-1@example.org", "lamp-2@example.org", "bread@example.org"


def mail(
    message_id: str = "",
    subject: str = "Lamp oil",
    text: str = LIGHTHOUSE,
    *,
    answers: str = "",
    day: int = 1,
    files: dict[str, bytes] | None = None,
) -> bytes:
    """A message as it is stored."""
    message = EmailMessage()
    message["From"] = "Orsolya Quill <orsolya@example.org>"
    message["To"] = "Anna <anna@example.org>"
    message["Date"] = f"Mon, {day:02} Nov 2026 10:00:00 +0100"
    message["Subject"] = subject
    if message_id:
        message["Message-ID"] = f"<{message_id}>"
    if answers:
        message["References"] = f"<{answers}>"
    message.set_content(text)
    for name, content in (files or {}).items():
        message.add_attachment(
            content, maintype="application", subtype="octet-stream", filename=name
        )
    return message.as_bytes()


def three_mails() -> list[bytes]:
    """A question with its answer, which carries two files, and another message."""
    files = {"bakery.txt": BAKERY.encode(), "noise.bin": bytes(range(256)) * 4}
    return [
        mail(FIRST),
        mail(
            ANSWER,
            "Re: Lamp oil",
            "From nine miles on it is seen.",
            answers=FIRST,
            day=2,
            files=files,
        ),
        mail(OTHER, "Bread", "The ferry brings no flour this week.", day=3),
    ]


def write_mbox(path: Path, mails: list[bytes]) -> None:
    """Write an mbox that nobody has touched for a while."""
    quoted = (each.replace(b"\nFrom ", b"\n>From ") for each in mails)
    path.write_bytes(
        b"".join(b"From quill Mon Nov  2 10:00:00 2026\n" + each + b"\n" for each in quoted)
    )
    os.utime(path, (1_700_000_000, 1_700_000_000))
