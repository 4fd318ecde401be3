"""Group the messages of a folder into threads, by references, else by subject."""

import email.policy
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import BytesHeaderParser

from corpus.loaders.formats.email_loader import header_text

# Maximum bytes of headers; later ones do not decide the thread.
MAX_HEAD_BYTES = 256 * 2**10
_IDENTIFIER = re.compile(r"<([^<>\s]{1,998})>")
# A long thread has hundreds; the first and last are enough.
_MAX_REFERENCES = 50
# Prefixes of replies and forwarded messages in a subject.
_PREFIX = re.compile(
    r"^\s*(?:(?:re|fwd?|aw|wg|sv|vs|antw|tr|rv|odp|ref|enc)\s*(?:\[\d+\])?\s*:\s*)+", re.I
)
# Maximum messages of a document: the loader has limits too, with four parts a message.
MAX_MESSAGES = 100


@dataclass(frozen=True, slots=True)
class MessageHead:
    """The headers of a listed message.

    Attributes:
        key: Identifier in its folder.
        version: Changes with the content.
        position: Position in its folder, oldest first.
        message_id: May be empty.
        references: Message-IDs that it answers, first of the thread first.
        size_bytes: 0 if unknown.
    """

    key: str
    version: str
    position: int
    message_id: str = ""
    references: tuple[str, ...] = ()
    subject: str = ""
    size_bytes: int = 0


def read_head(
    content: bytes, *, key: str, version: str, position: int, size_bytes: int = 0
) -> MessageHead:
    """Parse the headers of a message, which its body may follow."""
    ends = [at for mark in (b"\r\n\r\n", b"\n\n") if (at := content.find(mark)) >= 0]
    head = content[: min(ends, default=len(content))][:MAX_HEAD_BYTES] + b"\n\n"
    # Only lines are parsed: errors of a body parser would stop the whole listing.
    message = BytesHeaderParser(policy=email.policy.compat32).parsebytes(head)
    fields = [header_text(message, name) for name in ("References", "In-Reply-To")]
    references = tuple(dict.fromkeys(_IDENTIFIER.findall(" ".join(fields))))
    return MessageHead(
        key,
        version,
        position,
        message_id=next(iter(_IDENTIFIER.findall(header_text(message, "Message-ID"))), ""),
        references=references[:1] + references[1:][-_MAX_REFERENCES:],
        subject=header_text(message, "Subject"),
        size_bytes=size_bytes,
    )


class _Groups:
    """Disjoint sets of names (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def find(self, name: str) -> str:
        root = name
        while (above := self._parents.setdefault(root, root)) != root:
            root = above
        while self._parents[name] != root:
            self._parents[name], name = root, self._parents[name]
        return root

    def join(self, one: str, other: str) -> None:
        self._parents[self.find(one)] = self.find(other)


def find_threads(heads: Iterable[MessageHead]) -> list[list[MessageHead]]:
    """Return threads in folder order, cut at the maximum length."""
    ordered = sorted(heads, key=lambda head: head.position)
    groups = _Groups()
    for head in ordered:
        for name in (head.message_id, *head.references):
            if name:
                groups.join(_node(head), name)
    # Replies without references belong to the first earlier message of their subject.
    first: dict[str, MessageHead] = {}
    for head in ordered:
        subject = bare_subject(head.subject)
        is_reply = _PREFIX.match(head.subject) is not None
        if is_reply and not head.references and subject in first:
            groups.join(_node(head), _node(first[subject]))
        if subject:
            first.setdefault(subject, head)
    threads: dict[str, list[MessageHead]] = {}
    for head in ordered:
        threads.setdefault(groups.find(_node(head)), []).append(head)
    return [
        thread[start : start + MAX_MESSAGES]
        for thread in threads.values()
        for start in range(0, len(thread), MAX_MESSAGES)
    ]


def _node(head: MessageHead) -> str:
    # An identifier contains no space.
    return f"message {head.key}"


def bare_subject(subject: str) -> str:
    """Return a subject in lower case, without reply prefixes."""
    return " ".join(_PREFIX.sub("", subject).lower().split())
