"""PowerPoint files of 1997 to 2003: slide by slide, titles as headings, then notes.

The format is [MS-PPT]: records in records, each with its kind and length. A quick save appends; the
last list of offsets tells which records are current.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.flow import Flow
from corpus.loaders.formats.office97.container import opened, read_properties, read_stream

PRELOAD = ("olefile",)

_ENCRYPTED = 0xF3D1C4DF
_EDIT, _PLACES = 0x0FF5, 0x1772
_LIST, _LISTED = 0x0FF0, 0x03F3
_TEXT_KIND, _WIDE_TEXT, _NARROW_TEXT = 0x0F9F, 0x0FA0, 0x0FA8
_TEXT_BOX, _NOTES_HEAD = 0xF00D, 0x03F1
_CONTAINER = 0xF
_OF_SLIDES, _OF_NOTES = 0, 2
# Kinds of text: the title of a slide, and that of a first one.
_TITLES = frozenset((0, 6))
_OTHER = 4
# The placeholder of the slide number.
_FIELD = "*"
# Limits of quick saves and of nested groups.
_MAX_EDITS = 1_000
_MAX_DEPTH = 100
_LINE_ENDS = str.maketrans("\r\v", "\n\n")


class _Record(NamedTuple):
    """A record: its kind, its instance number, whether it is a container, and its position."""

    kind: int
    instance: int
    is_container: bool
    start: int
    end: int


class _Text(NamedTuple):
    kind: int
    words: str


class _Slide(NamedTuple):
    """A slide, or a page of notes, as the document lists it.

    Attributes:
        place: Number in the list of offsets.
        texts: Its texts in the document's outline.
    """

    place: int
    id: int
    texts: list[_Text]


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a presentation; a block's page is the number of its slide."""
    with opened(content) as container:
        token, edit = struct.unpack_from("<12xII", read_stream(container, "Current User"))
        if token == _ENCRYPTED:
            raise UnreadableFile("The file is protected by a password.")
        stream = _Stream(read_stream(container, "PowerPoint Document"))
        return office_document(_blocks(stream, edit), read_properties(container))


def _blocks(stream: "_Stream", edit: int) -> list[Block]:
    places, document = stream.places(edit)
    root = stream.record(places.get(document, -1))
    if root is None:
        raise UnreadableFile("The file is damaged: it does not say where its slides are.")
    notes: dict[int, list[_Text]] = {}
    for page in stream.listed(root, _OF_NOTES):
        record = stream.record(places.get(page.place, -1))
        for head in stream.inside(record):
            if head.kind == _NOTES_HEAD:
                notes[stream.number(head)] = list(stream.texts_of_boxes(record))
    flow = Flow()
    for number, slide in enumerate(stream.listed(root, _OF_SLIDES), start=1):
        flow.page = number
        own = stream.texts_of_boxes(stream.record(places.get(slide.place, -1)))
        texts = [*slide.texts, *(text for text in own if text not in slide.texts)]
        # The title comes first, wherever it is in the file.
        texts.sort(key=lambda text: text.kind not in _TITLES)
        for kind, words in (*texts, *((_OTHER, text.words) for text in notes.get(slide.id, ()))):
            if kind in _TITLES or words != _FIELD:
                flow.add(words, level=int(kind in _TITLES))
    return flow.blocks


class _Stream:
    """The records of a presentation."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def record(self, at: int) -> _Record | None:
        """Return the record at an offset, or None if there is none."""
        if not 0 <= at <= len(self._content) - 8:
            return None
        head, kind, size = struct.unpack_from("<HHI", self._content, at)
        end = min(at + 8 + size, len(self._content))
        return _Record(kind, head >> 4, head & 0xF == _CONTAINER, at + 8, end)

    def inside(self, outer: _Record | None) -> Iterator[_Record]:
        at = outer.start if outer else 0
        while outer and (record := self.record(at)) and record.start <= outer.end:
            yield record._replace(end=min(record.end, outer.end))
            at = record.end

    def number(self, record: _Record, *, at: int = 0) -> int:
        return int(struct.unpack_from("<I", self._content, record.start + at)[0])

    def places(self, at: int) -> tuple[dict[int, int], int]:
        """Return the offsets of records by the last list, and the number of the document."""
        places: dict[int, int] = {}
        document = 0
        for _ in range(_MAX_EDITS):
            edit = self.record(at)
            if edit is None or edit.kind != _EDIT:
                break
            document = document or self.number(edit, at=16)
            at = self.number(edit, at=8)
            offsets = self.record(self.number(edit, at=12))
            if offsets is not None and offsets.kind == _PLACES:
                start = offsets.start
                while start + 4 <= offsets.end:
                    (head,) = struct.unpack_from("<I", self._content, start)
                    count = min(head >> 20, (offsets.end - start) // 4 - 1)
                    listed = struct.unpack_from(f"<{count}I", self._content, start + 4)
                    for number, place in enumerate(listed, head & 0xFFFFF):
                        places.setdefault(number, place)
                    start += 4 + 4 * count
        return places, document

    def listed(self, document: _Record, instance: int) -> list[_Slide]:
        """Return the slides, or pages of notes, that the document lists."""
        slides: list[_Slide] = []
        kind = _OTHER
        for outer in self.inside(document):
            if (outer.kind, outer.instance) != (_LIST, instance):
                continue
            for record in self.inside(outer):
                if record.kind == _LISTED:
                    slides.append(_Slide(self.number(record), self.number(record, at=12), []))
                elif record.kind == _TEXT_KIND:
                    kind = self.number(record)
                elif (words := self._words(record)) and slides:
                    slides[-1].texts.append(_Text(kind, words))
        return slides

    def texts_of_boxes(self, outer: _Record | None, depth: int = 0) -> Iterator[_Text]:
        """Return the texts of the shapes in a record, in order."""
        for record in self.inside(outer if depth < _MAX_DEPTH else None):
            if record.kind == _TEXT_BOX:
                kind = _OTHER
                for part in self.inside(record):
                    if part.kind == _TEXT_KIND:
                        kind = self.number(part)
                    elif words := self._words(part):
                        yield _Text(kind, words)
            elif record.is_container:
                yield from self.texts_of_boxes(record, depth + 1)

    def _words(self, record: _Record) -> str:
        content = self._content[record.start : record.end]
        if record.kind == _WIDE_TEXT:
            text = content.decode("utf-16-le", "replace")
        elif record.kind == _NARROW_TEXT:
            text = content.decode("latin-1")
        else:
            text = ""
        return text.translate(_LINE_ENDS).strip()
