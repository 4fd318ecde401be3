"""Normalize text; all offsets refer to the normalized form."""

import re
import struct
import sys
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from math import ceil
from typing import Any

from corpus.characters import MAX_DEPTH, fold_text, is_storable, normalize, split_text
from corpus.errors import BinaryText
from corpus.loaders.blocks import Block, OcrBox
from corpus.loaders.formats.pdf.rendering import MAX_BOXES, Box

# Coordinates are in ten-thousandths of the page's width.
_PARTS = 10_000
# Start, length, four coordinates, height, percent.
_RUN = struct.Struct("<IHHHHHHB")
_MAX = 2**16 - 1
# A highlight of a line that rises by more than this share of its height consists of several boxes.
_STEP = 0.5


@dataclass(frozen=True, slots=True)
class ScannedRun:
    """The part ``start:end`` of a text that OCR read from one box."""

    start: int
    end: int
    box: OcrBox


def runs_of(boxes: Sequence[OcrBox], piece: str, *, start: int) -> Iterator[ScannedRun]:
    """Yield the runs of a normalized block, by counting letters.

    Args:
        boxes: Boxes of the block's runs, in order.
        piece: The normalized text of the block.
        start: Start of the block in the document.
    """
    if not boxes:
        return
    letters = [at for at, character in enumerate(piece) for _ in fold_text(character)]
    first = 0
    for box in boxes:
        last = first + box.letter_count
        if first < last <= len(letters):
            yield ScannedRun(start + letters[first], start + letters[last - 1] + 1, box)
        first = last


def pack_runs(runs: Iterable[ScannedRun]) -> str:
    """Encode runs as text, 23 characters each."""
    packed = b"".join(
        _RUN.pack(
            run.start,
            min(run.end - run.start, _MAX),
            *(min(max(number, 0), _MAX) for number in run.box[2:]),
            round(run.box.confidence * 100),
        )
        for run in runs
    )
    return b64encode(packed).decode()


def unpack_runs(packed: str) -> tuple[ScannedRun, ...]:
    """Decode packed runs; the boxes have no letter counts."""
    rows = _RUN.iter_unpack(b64decode(packed))
    return tuple(
        ScannedRun(start, start + length, OcrBox(0, percent / 100, *numbers))
        for start, length, *numbers, percent in rows
    )


def find_runs(runs: Iterable[ScannedRun], start: int, end: int) -> list[ScannedRun]:
    """Return the runs that characters ``start:end`` touch."""
    return [run for run in runs if run.start < end and start < run.end]


def least_confidence(runs: Iterable[ScannedRun]) -> float | None:
    """Return the lowest confidence of OCR; None without runs."""
    return min((run.box.confidence for run in runs), default=None)


def confidence_of(packed: str | None, start: int, end: int) -> float | None:
    """Return the lowest confidence of OCR in ``start:end``; None if OCR did not read it."""
    return least_confidence(find_runs(unpack_runs(packed or ""), start, end))


def boxes_of(runs: Iterable[ScannedRun], start: int, end: int, *, width: int) -> list[Box]:
    """Return the boxes of characters ``start:end`` on a picture of their page.

    Args:
        width: Width of the picture in pixels.
    """
    scale = width / _PARTS
    boxes: list[Box] = []
    for run in find_runs(runs, start, end):
        length = run.end - run.start
        # Assumes letters of equal width.
        box = run.box
        first = max(start - run.start, 0) / length
        last = min(end - run.start, length) / length
        across, down = box.x2 - box.x1, box.y2 - box.y1
        lesser = min(abs(across), abs(down)) * (last - first)
        count = min(max(ceil(lesser / max(box.height * _STEP, 1)), 1), MAX_BOXES)
        is_level = abs(across) >= abs(down)
        thick = (0, box.height / 2) if is_level else (box.height / 2, 0)
        for step in range(count):
            ends = [first + (last - first) * at / count for at in (step, step + 1)]
            xs = sorted(box.x1 + across * at for at in ends)
            ys = sorted(box.y1 + down * at for at in ends)
            left, right = (xs[0] - thick[0]) * scale, (xs[1] + thick[0]) * scale
            top, bottom = (ys[0] - thick[1]) * scale, (ys[1] + thick[1]) * scale
            size = max(round(right - left), 1), max(round(bottom - top), 1)
            boxes.append(Box(round(left), round(top), *size))
    return boxes[:MAX_BOXES]


# A text with a larger share of control characters is binary; fewer are dropped.
MAX_CONTROL_SHARE = 0.01
_NO_PAGE_IS_HIGHER = sys.maxsize
BLOCK_SEPARATOR = "\n\n"

_BINARY = re.compile(r"[\x00\x1b\ud800-\udfff\ufffe\uffff]")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_LINE_BREAKS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_INVISIBLE = re.compile(r"[\ufeff\u00ad]")
_TRAILING = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading at ``start:end`` of a text, with its level from 1 to 6 and its words."""

    start: int
    end: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """The part ``start:end`` of a text that a label names, such as a term with its definition."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings, labels, pages and scanned runs of a text.

    Attributes:
        headings: In order.
        pages: ``(first character, page number)``, in order; empty without pages. A page number
            repeats if a paragraph that ends on the next page precedes others of this page.
        labels: In order of start, outer before inner ones.
        scanned: Runs that OCR read, in order.
    """

    headings: tuple[Heading, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    labels: tuple[Label, ...] = ()
    scanned: tuple[ScannedRun, ...] = ()

    def page_at(self, position: int) -> int | None:
        """Return the page of a character; None without pages."""
        index = bisect_right(self.pages, (position, _NO_PAGE_IS_HIGHER))
        return self.pages[index - 1][1] if index else None

    def spans_of_page(self, number: int, *, char_count: int) -> list[tuple[int, int]]:
        """Return the spans of a page's text; none for a page without text."""
        ends = [*(start for start, _ in self.pages[1:]), char_count]
        return [
            (start, end)
            for (start, page), end in zip(self.pages, ends, strict=False)
            if page == number
        ]

    def pages_of(self, start: int, end: int) -> list[int]:
        """Return the pages of characters ``start:end``, in order."""
        further = [page for first, page in self.pages if start < first < end]
        return sorted({page for page in (self.page_at(start), *further) if page is not None})

    def to_json(self) -> dict[str, Any]:
        headings = [[h.start, h.end, h.level, h.text] for h in self.headings]
        labels = [[label.start, label.end, label.text] for label in self.labels]
        pages = [list(page) for page in self.pages]
        scanned = pack_runs(self.scanned)
        return {
            "headings": headings,
            "pages": pages,
            **({"labels": labels} if labels else {}),
            **({"scanned": scanned} if scanned else {}),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Outline":
        return cls(
            headings=tuple(Heading(*row) for row in stored.get("headings", [])),
            pages=tuple((start, page) for start, page in stored.get("pages", [])),
            labels=tuple(Label(*row) for row in stored.get("labels", [])),
            scanned=unpack_runs(stored.get("scanned", "")),
        )


def normalize_text(text: str) -> str:
    """Return ``text`` in Unicode form NFC, with plain spaces and line breaks.

    Tabs and line breaks stay, other control characters are removed. Lines lose trailing space,
    several empty lines become one, the whole is trimmed, and combining marks after the 30th in a
    row are removed. The function is idempotent. Typographic quotes stay, so that a citation can be
    found in the source letter by letter.

    Raises:
        BinaryText: A NUL, an escape, a lone surrogate, or more than 1 % control characters.
    """
    _reject_binary([text])
    return _normal_form(text)


def _reject_binary(texts: Sequence[str]) -> None:
    controls = 0
    for piece in chain.from_iterable(map(split_text, texts)):
        if match := _BINARY.search(piece):
            raise BinaryText(f"The text contains the character U+{ord(match.group()):04X}.")
        controls += len(_CONTROL.findall(piece))
    if controls > MAX_CONTROL_SHARE * sum(map(len, texts)):
        raise BinaryText(f"The text contains {controls} control characters.")


def _normal_form(text: str) -> str:
    pieces = []
    for part in split_text(text):
        piece = _CONTROL.sub("", _LINE_BREAKS.sub("\n", part))
        piece = _SPACES.sub(" ", _INVISIBLE.sub("", piece))
        piece = _TRAILING.sub("", normalize("NFC", piece))
        pieces.append(_GAPS.sub(BLOCK_SEPARATOR, piece))
    return "".join(pieces).strip()


def join_blocks(blocks: Iterable[Block]) -> tuple[str, Outline]:
    """Normalize blocks and join them by one empty line.

    Returns:
        The text and its outline.

    Raises:
        BinaryText: As ``normalize_text``.
    """
    blocks = list(blocks)
    # The share of control characters is that of the whole text, not of a short block.
    _reject_binary([block.text for block in blocks])
    texts: list[str] = []
    headings: list[Heading] = []
    pages: list[tuple[int, int]] = []
    closed: list[Label] = []
    labels: list[Label] = []
    scanned: list[ScannedRun] = []
    start = 0
    for block in blocks:
        piece = _normal_form(block.text)
        if not piece:
            continue
        end = start + len(piece)
        # Neighboring blocks under the same label, the outermost first, are one span.
        names = [clean_line(label) for label in block.labels]
        pairs = zip(labels, names, strict=False)
        depth = len(list(takewhile(lambda pair: pair[0].text == pair[1], pairs)))
        closed += labels[depth:]
        labels = [replace(label, end=end) for label in labels[:depth]]
        labels += [Label(start, end, name) for name in names[depth:]]
        if block.page is not None and (not pages or block.page != pages[-1][1]):
            pages.append((start, block.page))
        for at, page in block.page_starts:
            gap = len(_normal_form(block.text[:at]))
            rest = piece[gap:]
            if rest.strip():
                pages.append((start + gap + len(rest) - len(rest.lstrip()), page))
        if block.heading_level is not None:
            words = clean_line(block.heading_text or block.text)
            headings.append(Heading(start, end, block.heading_level, words))
        scanned += runs_of(block.ocr_boxes, piece, start=start)
        texts.append(piece)
        start = end + len(BLOCK_SEPARATOR)
    spans = sorted(closed + labels, key=lambda label: (label.start, -label.end))
    outline = Outline(tuple(headings), tuple(pages), tuple(spans), tuple(scanned))
    return BLOCK_SEPARATOR.join(texts), outline


def clean_line(text: str) -> str:
    """Return a text as one normalized line, without characters that cannot be stored."""
    return " ".join(_normal_form(_BINARY.sub("", text)).split())


def clean_json(value: Any, *, depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value with normalized texts and keys; what is too deep becomes null."""
    if isinstance(value, str):
        return _normal_form(_BINARY.sub("", value))
    if isinstance(value, dict) and depth:
        return {clean_line(key): clean_json(v, depth=depth - 1) for key, v in value.items()}
    if isinstance(value, list) and depth:
        return [clean_json(each, depth=depth - 1) for each in value]
    return value if is_storable(value, depth=0) else None
