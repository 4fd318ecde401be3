"""The files in an archive or a mailbox, which are documents of their own."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpus.errors import SourceUnavailable, TooLarge, UnreadableFile
from corpus.loaders import LoaderLimits
from corpus.loaders.registry import PLAIN
from corpus.loaders.sandbox import run_in_child
from corpus.loaders.unpack import MAX_MEMBERS, Member, unused_name
from corpus.sources.mail.folder import MailSource
from corpus.sources.mail.mbox import Mbox

MAILBOX_ENDING = ".mbox"
ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", MAILBOX_ENDING)
# How office files and e-books begin, which are zip archives too.
_DOCUMENT_MARKS = (b"[Content_Types].xml", b"mimetypeapplication/")
_HEAD_BYTES = 2_000
# Members that one call of the sandbox returns.
BATCH_BYTES = 16 * 2**20
NESTED = "An archive within an archive is not opened. Unpack it and add its files."


def is_packed(name: str, content: bytes = b"") -> bool:
    """Return whether a file of this name and content holds files that are documents."""
    is_document = any(mark in content[:_HEAD_BYTES] for mark in _DOCUMENT_MARKS)
    return name.lower().endswith(ENDINGS) and not is_document


class PackedFiles:
    """The files of an archive, or the threads and attachments of a mailbox.

    Attributes:
        members: In their order; what cannot be read says why.

    Raises:
        UnreadableFile: It is no archive or mailbox, or damaged from its beginning.
    """

    def __init__(self, content: bytes, *, name: str, max_bytes: int) -> None:
        self._content = content
        self._limits = LoaderLimits(max_file_bytes=max_bytes)
        self._batch: dict[str, bytes | str] = {}
        if name.lower().endswith(MAILBOX_ENDING):
            self._content = b""
            self.members = list(self._read_mailbox(content, max_bytes))
            return
        (listed,) = self._run("list_archive", {})
        self.members = [Member(*each) for each in listed]

    def read(self, name: str) -> bytes:
        """Return the content of a member.

        Raises:
            FileNotFoundError: There is none of this name.
            UnreadableFile: It is damaged, or refused.
        """
        at = next((i for i, member in enumerate(self.members) if member.name == name), None)
        if at is None:
            raise FileNotFoundError(name)
        if self.members[at].refusal:
            raise UnreadableFile(self.members[at].refusal)
        batch = self._batch
        if name not in batch:
            # Read with those that follow: a packed tar is unpacked from its beginning.
            names, left = [name], BATCH_BYTES - self.members[at].size_bytes
            for member in self.members[at + 1 :]:
                left -= member.size_bytes
                if left < 0:
                    break
                names.append(member.name)
            _, *lines = self._run("read_archive", {"names": names})
            batch = {}
            for each, part, reason in lines:
                batch[each] = reason if part is None else base64.b64decode(part)
            self._batch = batch
        content = batch.get(name, "It is damaged in the archive.")
        if isinstance(content, str):
            raise UnreadableFile(content)
        return content

    def _run(self, act: str, arguments: dict[str, Any]) -> list[Any]:
        return run_in_child(
            act, self._content, media_type=PLAIN, limits=self._limits, arguments=arguments
        )

    def _read_mailbox(self, content: bytes, max_bytes: int) -> Iterator[Member]:
        """Yield the threads, and the attachments in a folder of each thread's name."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "upload.mbox"
            path.write_bytes(content)
            # A mailbox that changed just now would count as still being written.
            os.utime(path, (0, 0))
            source = MailSource(Mbox("upload", path), max_bytes=max_bytes)
            seen: set[str] = set()
            try:
                entries = list(source.list_entries())
            except SourceUnavailable as error:
                raise UnreadableFile("The file is not an mbox.") from error
            for entry in entries:
                try:
                    thread = source.read(entry.uri)
                except (UnreadableFile, TooLarge) as error:
                    name = unused_name(f"{entry.uri.rpartition('#')[2]}.eml", seen)
                    yield Member(name, 0, str(error))
                    continue
                stem = (thread.part.title or "Mail").replace("/", "_")
                files = [(f"{stem}.eml", thread.part.content)]
                for each in thread.attached_files.values():
                    attached = each.filename.replace("/", "_") or "attachment"
                    files.append((f"{stem}/{attached}", each.content))
                for wanted, part in files:
                    if len(seen) == MAX_MEMBERS:
                        yield Member("", 0, _TOO_MANY)
                        return
                    name = unused_name(wanted, seen)
                    self._batch[name] = part
                    yield Member(name, len(part))


_TOO_MANY = (
    f"The rest of the mailbox is left out: {MAX_MEMBERS:,} threads and attachments are allowed."
    " Add it as a source."
)
