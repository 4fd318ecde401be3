"""Which messages of a folder belong together: by what they refer to, else by their subject."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# What mail programs put before the subject of a reply or of what is passed on.
_PREFIX = re.compile(
    r"^\s*(?:(?:re|fwd?|aw|wg|sv|vs|antw|tr|rv|odp|ref|enc)\s*(?:\[\d+\])?\s*:\s*)+", re.I
)
# A document of more would not be read by anybody, nor by a loader: four parts a message.
MAX_MESSAGES = 100


@dataclass(frozen=True, slots=True)
class MessageHead:
    """What a listing tells of a message.

    Attributes:
        key: Its address.
        version: Another one where its content would be another.
        place: Where it is in its folder, from the oldest on.
        message_id: Empty where it has none.
        references: Identifiers of messages that it answers, the first of the thread first.
        size_bytes: 0 where that is not known.
    """

    key: str
    version: str
    position: int
    message_id: str = ""
    references: tuple[str, ...] = ()
    subject: str = ""
    size_bytes: int = 0


class _Groups:
    """Sets that grow together: union-find over any names."""

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
    """Return threads, each in the order of its folder, cut where they are too long."""
    ordered = sorted(heads, key=lambda head: head.position)
    groups = _Groups()
    for head in ordered:
        for name in (head.message_id, *head.references):
            if name:
                groups.join(_node(head), name)
    _join_subjects(ordered, groups)
    threads: dict[str, list[MessageHead]] = {}
    for head in ordered:
        threads.setdefault(groups.find(_node(head)), []).append(head)
    return [piece for thread in threads.values() for piece in _cut(thread)]


def _node(head: MessageHead) -> str:
    # No identifier has a space in it.
    return f"message {head.key}"


def _join_subjects(ordered: Sequence[MessageHead], groups: _Groups) -> None:
    """Join replies that do not say to what with the first message before of their subject."""
    first: dict[str, MessageHead] = {}
    for head in ordered:
        subject = bare_subject(head.subject)
        is_reply = _PREFIX.match(head.subject) is not None
        if is_reply and not head.references and subject in first:
            groups.join(_node(head), _node(first[subject]))
        if subject:
            first.setdefault(subject, head)


def bare_subject(subject: str) -> str:
    """Return a subject without marks of a reply, in small letters."""
    return " ".join(_PREFIX.sub("", subject).lower().split())


def _cut(thread: list[MessageHead]) -> list[list[MessageHead]]:
    return [thread[start : start + MAX_MESSAGES] for start in range(0, len(thread), MAX_MESSAGES)]
