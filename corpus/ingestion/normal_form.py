"""Bring text into the one form that is stored and that all offsets refer to."""

import re
import struct
import sys
from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import ceil
from typing import Any

from corpus.characters import MAX_DEPTH, fold_text, is_storable, normalize, split_text
from corpus.errors import BinaryText
from corpus.loaders.base import Block, OcrBox
from corpus.loaders.formats.pdf.page import MAX_BOXES, Box

# Places are whole ten-thousandths of the page's width.
_PARTS = 10_000
# Start, length, four coordinates, height, percent.
_RUN = struct.Struct("<IHHHHHHB")
_MOST = 2**16 - 1
# A mark on a line that climbs by more than this share of its height is made of several.
_STEP = 0.5


@dataclass(frozen=True, slots=True)
class ScannedRun:
    """The part ``start:end`` of a text that OCR read from one place."""

    start: int
    end: int
    place: OcrBox


def runs_of(places: Sequence[OcrBox], piece: str, *, start: int) -> Iterator[ScannedRun]:
    """Yield where runs are in a block that was normalized, by counting letters.

    Args:
        places: Of the block's runs, in order.
        piece: The block's text as it is stored.
        start: Of the block in the document.
    """
    if not places:
        return
    letters = [at for at, character in enumerate(piece) for _ in fold_text(character)]
    first = 0
    for place in places:
        last = first + place.letter_count
        if first < last <= len(letters):
            yield ScannedRun(start + letters[first], start + letters[last - 1] + 1, place)
        first = last


def pack_runs(runs: Iterable[ScannedRun]) -> str:
    """Return runs as text, 23 characters each."""
    packed = b"".join(
        _RUN.pack(
            run.start,
            min(run.end - run.start, _MOST),
            *(min(max(number, 0), _MOST) for number in run.place[2:]),
            round(run.place.confidence * 100),
        )
        for run in runs
    )
    return b64encode(packed).decode()


def unpack_runs(packed: str) -> tuple[ScannedRun, ...]:
    """Return what was packed; the places have no count of letters any more."""
    rows = _RUN.iter_unpack(b64decode(packed))
    return tuple(
        ScannedRun(start, start + length, OcrBox(0, percent / 100, *numbers))
        for start, length, *numbers, percent in rows
    )


def find_runs(runs: Iterable[ScannedRun], start: int, end: int) -> list[ScannedRun]:
    """Return the runs that characters ``start:end`` touch."""
    return [run for run in runs if run.start < end and start < run.end]


def least_confidence(runs: Iterable[ScannedRun]) -> float | None:
    """Return how sure OCR is where it is least sure; None where there is nothing of it."""
    return min((run.place.confidence for run in runs), default=None)


def confidence_of(packed: str | None, start: int, end: int) -> float | None:
    """Return how sure OCR is of characters ``start:end``; None where it did not read them."""
    return least_confidence(find_runs(unpack_runs(packed or ""), start, end))


def boxes_of(runs: Iterable[ScannedRun], start: int, end: int, *, width: int) -> list[Box]:
    """Return where characters ``start:end`` stand on a picture of their page.

    Args:
        width: Of the picture, in pixels.
    """
    scale = width / _PARTS
    boxes: list[Box] = []
    for run in find_runs(runs, start, end):
        length = run.end - run.start
        # Letters are about equally wide.
        first = max(start - run.start, 0) / length
        last = min(end - run.start, length) / length
        boxes += _boxes(run.place, first, last, scale)
    return boxes[:MAX_BOXES]


def _boxes(place: OcrBox, first: float, last: float, scale: float) -> Iterator[Box]:
    """Boxes over a part of a line, from one share of it to another."""
    across, down = place.x2 - place.x1, place.y2 - place.y1
    lesser = min(abs(across), abs(down)) * (last - first)
    count = min(max(ceil(lesser / max(place.height * _STEP, 1)), 1), MAX_BOXES)
    is_level = abs(across) >= abs(down)
    thick = (0, place.height / 2) if is_level else (place.height / 2, 0)
    for step in range(count):
        ends = [first + (last - first) * at / count for at in (step, step + 1)]
        xs = sorted(place.x1 + across * at for at in ends)
        ys = sorted(place.y1 + down * at for at in ends)
        left, right = (xs[0] - thick[0]) * scale, (xs[1] + thick[0]) * scale
        top, bottom = (ys[0] - thick[1]) * scale, (ys[1] + thick[1]) * scale
        yield Box(round(left), round(top), max(round(right - left), 1), max(round(bottom - top), 1))


# Controls that are dropped in silence may make up this share of a text; more means binary.
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
    """A heading in a text: where it stands, its level from 1 to 6, and its words."""

    start: int
    end: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """The part ``start:end`` of a text that goes by some words: a term with its definition."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """Where the headings, labels and pages of a text are.

    Attributes:
        headings: In order.
        pages: ``(first character, page number)``, in order; empty where there are no pages. A
            page comes again where a paragraph that goes on over its end stands before others of it.
        labels: In order of start, an outer one before those inside it.
        scanned: What OCR read, in order; empty where there was text.
    """

    headings: tuple[Heading, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    labels: tuple[Label, ...] = ()
    scanned: tuple[ScannedRun, ...] = ()

    def page_at(self, place: int) -> int | None:
        """Return the page that a character stands on; None where there are no pages."""
        found = bisect_right(self.pages, (place, _NO_PAGE_IS_HIGHER))
        return self.pages[found - 1][1] if found else None

    def spans_of_page(self, number: int, *, char_count: int) -> list[tuple[int, int]]:
        """Return where the parts of a page's text begin and end; none for one without text."""
        ends = [*(start for start, _ in self.pages[1:]), char_count]
        return [
            (start, end)
            for (start, page), end in zip(self.pages, ends, strict=False)
            if page == number
        ]

    def pages_of(self, start: int, end: int) -> list[int]:
        """Return the pages that characters ``start:end`` stand on, in order."""
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

    Tabs and line breaks stay, other control characters go; lines lose trailing space, more
    than one empty line becomes one, and the whole is trimmed; of more than 30 combining marks in a
    row the rest goes. Doing it twice changes nothing.
    Typographic quotes stay: a citation is to be found in the source letter by letter.

    Raises:
        BinaryText: A NUL, an escape, a lone surrogate, or more than 1 % control characters.
    """
    _refuse_binary([text])
    return _normal_form(text)


def _refuse_binary(texts: Sequence[str]) -> None:
    controls = 0
    for piece in chain.from_iterable(map(split_text, texts)):
        found = _BINARY.search(piece)
        if found:
            raise BinaryText(f"It holds the character U+{ord(found.group()):04X}.")
        controls += len(_CONTROL.findall(piece))
    if controls > MAX_CONTROL_SHARE * sum(map(len, texts)):
        raise BinaryText(f"{controls} control characters.")


def _normal_form(text: str) -> str:
    return "".join(map(_normal_piece, split_text(text))).strip()


def _normal_piece(text: str) -> str:
    text = _CONTROL.sub("", _LINE_BREAKS.sub("\n", text))
    text = _SPACES.sub(" ", _INVISIBLE.sub("", text))
    return _GAPS.sub(BLOCK_SEPARATOR, _TRAILING.sub("", normalize("NFC", text)))


def join_blocks(blocks: Iterable[Block]) -> tuple[str, Outline]:
    """Normalize blocks and join them by one empty line.

    Returns:
        The text, and where its headings, labels, pages and scanned runs are.

    Raises:
        BinaryText: As ``normalize_text``.
    """
    blocks = list(blocks)
    # One stray control in a short block is not yet binary: the share is of the whole.
    _refuse_binary([block.text for block in blocks])
    texts: list[str] = []
    headings: list[Heading] = []
    pages: list[tuple[int, int]] = []
    labels = _Labels()
    scanned: list[ScannedRun] = []
    start = 0
    for block in blocks:
        piece = _normal_form(block.text)
        if not piece:
            continue
        labels.add([clean_line(label) for label in block.under], start, start + len(piece))
        pages += _page_starts(block, piece, start, pages[-1][1] if pages else None)
        if block.heading_level is not None:
            words = clean_line(block.heading_text or block.text)
            headings.append(Heading(start, start + len(piece), block.heading_level, words))
        scanned += runs_of(block.places, piece, start=start)
        texts.append(piece)
        start += len(piece) + len(BLOCK_SEPARATOR)
    outline = Outline(tuple(headings), tuple(pages), labels.found(), tuple(scanned))
    return BLOCK_SEPARATOR.join(texts), outline


def _page_starts(
    block: Block, piece: str, start: int, before: int | None
) -> Iterator[tuple[int, int]]:
    """Yield where pages begin in a block that was normalized.

    Args:
        piece: Its text as it is stored.
        start: Of the block in the document.
        before: The page that the text before it is on.
    """
    if block.page is not None and block.page != before:
        yield start, block.page
    for at, page in block.page_starts:
        gap = len(_normal_form(block.text[:at]))
        rest = piece[gap:]
        if rest.strip():
            yield start + gap + len(rest) - len(rest.lstrip()), page


class _Labels:
    """Joins the parts of a text that neighbouring blocks under one label take up."""

    def __init__(self) -> None:
        self._found: list[Label] = []
        self._open: list[Label] = []

    def add(self, under: Sequence[str], start: int, end: int) -> None:
        """Say under which labels, outermost first, the block ``start:end`` stands."""
        kept = 0
        for label, text in zip(self._open, under, strict=False):
            if label.text != text:
                break
            kept += 1
        self._found += self._open[kept:]
        held = [replace(label, end=end) for label in self._open[:kept]]
        self._open = held + [Label(start, end, text) for text in under[kept:]]

    def found(self) -> tuple[Label, ...]:
        labels = self._found + self._open
        return tuple(sorted(labels, key=lambda label: (label.start, -label.end)))


def clean_line(text: str) -> str:
    """Return what a file says of itself in one line: what text may not hold is left out."""
    return " ".join(_normal_form(_BINARY.sub("", text)).split())


def clean_json(value: Any, *, depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value with clean texts and keys, as deep as is stored; the rest is null."""
    if isinstance(value, str):
        return _normal_form(_BINARY.sub("", value))
    if isinstance(value, dict) and depth:
        return {clean_line(key): clean_json(v, depth=depth - 1) for key, v in value.items()}
    if isinstance(value, list) and depth:
        return [clean_json(each, depth=depth - 1) for each in value]
    return value if is_storable(value, depth=0) else None
