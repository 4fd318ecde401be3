"""Parse the headers of a message, which assign it to a thread."""

import email.policy
import re
from email.parser import BytesHeaderParser

from corpus.loaders.formats.email_loader import header_text
from corpus.sources.mail.threads import MessageHead

# Maximum bytes of headers; later ones do not decide the thread.
MAX_HEAD_BYTES = 256 * 2**10
_IDENTIFIER = re.compile(r"<([^<>\s]{1,998})>")
# A long thread has hundreds; the first and last are enough.
_MAX_REFERENCES = 50


def read_head(
    content: bytes, *, key: str, version: str, position: int, size_bytes: int = 0
) -> MessageHead:
    """Parse the headers of a message, which its body may follow."""
    # Only lines are parsed: errors of a body parser would stop the whole listing.
    message = BytesHeaderParser(policy=email.policy.compat32).parsebytes(cut_head(content))
    referred = [header_text(message, name) for name in ("References", "In-Reply-To")]
    references = tuple(dict.fromkeys(_IDENTIFIER.findall(" ".join(referred))))
    return MessageHead(
        key,
        version,
        position,
        message_id=next(iter(_IDENTIFIER.findall(header_text(message, "Message-ID"))), ""),
        references=references[:1] + references[1:][-_MAX_REFERENCES:],
        subject=header_text(message, "Subject"),
        size_bytes=size_bytes,
    )


def cut_head(content: bytes) -> bytes:
    """Return a message up to its first empty line."""
    ends = [at for mark in (b"\r\n\r\n", b"\n\n") if (at := content.find(mark)) >= 0]
    return content[: min(ends, default=len(content))][:MAX_HEAD_BYTES] + b"\n\n"
