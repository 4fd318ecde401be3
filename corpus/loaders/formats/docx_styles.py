"""The style sheet and numbering of a Word file."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zipfile import ZipFile

from corpus.loaders.archives import read_xml
from corpus.loaders.limits import bounded_number

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

_LANGUAGE = f"{W}docDefaults/{W}rPrDefault/{W}rPr/{W}lang"
_HEADING_NAME = re.compile(r"heading\s*([1-9])$", re.I)
# Word's outline levels are 0 to 8 for headings, 9 for body text; ours 1 to 9, and 0.
_OUTLINE_BODY = 9
_BODY_LEVEL = 0
# Limits a chain of styles based on each other, which may loop.
_MAX_CHAIN = 20
# Word's lists have nine levels, from 0.
_MAX_DEPTH = 8
# A level's number in the pattern of a list mark: "%1.%2".
_PLACE = re.compile(r"%([1-9])")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Style:
    """A paragraph style; unset values come from the style it is based on."""

    level: int = 0
    is_title: bool = False
    numbering: "Element | None" = None


class Styles:
    """The paragraph styles of a document by their ids.

    Attributes:
        language: Default language of text; may be empty.
    """

    def __init__(self, archive: ZipFile) -> None:
        root = read_xml(archive, "word/styles.xml")
        language = None if root is None else root.find(_LANGUAGE)
        self.language = "" if language is None else language.get(W + "val", "")
        styles = () if root is None else root.iter(W + "style")
        self._elements = {style.get(W + "styleId", ""): style for style in styles}
        self._known = {"": Style()}

    def of(self, paragraph: "Element") -> tuple[int, bool, tuple[str, int] | None]:
        """Return heading level, title flag and list position of a paragraph.

        Returns:
            The heading level, 0 for body text; whether it is the document's title; its list and the
            depth in it, or None.
        """
        own = paragraph.find(W + "pPr")
        if own is None:
            return _BODY_LEVEL, False, None
        style = self._style(_value(own.find(W + "pStyle")))
        outline, numbering = own.find(W + "outlineLvl"), own.find(W + "numPr")
        level = style.level if outline is None else _level(outline)
        numbering = style.numbering if numbering is None else numbering
        number = "" if numbering is None else _value(numbering.find(W + "numId"))
        if numbering is None or number in ("", "0"):
            return level, style.is_title, None
        ilvl = _value(numbering.find(W + "ilvl"))
        return level, style.is_title, (number, bounded_number(ilvl, default=0, maximum=_MAX_DEPTH))

    def _style(self, name: str) -> Style:
        """Return a style with what it takes from the styles it is based on."""
        if name in self._known:
            return self._known[name]
        level: int | None = None
        is_title = False
        numbering: Element | None = None
        base = name
        for _ in range(_MAX_CHAIN):
            element = self._elements.get(base)
            if element is None:
                break
            style_name = _value(element.find(W + "name")).lower()
            outline = element.find(f"{W}pPr/{W}outlineLvl")
            heading = _HEADING_NAME.search(style_name)
            if level is None and outline is not None:
                level = _level(outline)
            elif level is None and heading:
                level = int(heading[1])
            elif level is None and style_name == "title":
                level = 1
            is_title |= style_name == "title"
            if numbering is None:
                numbering = element.find(f"{W}pPr/{W}numPr")
            base = _value(element.find(W + "basedOn"))
        self._known[name] = Style(_BODY_LEVEL if level is None else level, is_title, numbering)
        return self._known[name]


class Numbering:
    """Counts list items as Word does, and returns their printed marks."""

    def __init__(self, archive: ZipFile) -> None:
        root = read_xml(archive, "word/numbering.xml")
        self._levels: dict[tuple[str, int], Element] = {}
        self._counts: Counter[tuple[str, int]] = Counter()
        if root is None:
            return
        abstract = {item.get(W + "abstractNumId"): item for item in root.iter(W + "abstractNum")}
        for number in root.iter(W + "num"):
            kind = abstract.get(_value(number.find(W + "abstractNumId")))
            for level in () if kind is None else kind.iter(W + "lvl"):
                depth = bounded_number(level.get(W + "ilvl"), default=0, maximum=_MAX_DEPTH)
                self._levels[number.get(W + "numId", ""), depth] = level

    def mark(self, number: str, depth: int) -> str:
        """Return ``-`` for a bullet, else the printed number: ``2.``, ``2.1``, ``b)``."""
        # An item resets the lists below it.
        for place in [place for place in self._counts if place[0] == number and place[1] > depth]:
            del self._counts[place]
        self._counts[number, depth] += 1
        level = self._levels.get((number, depth))
        if level is None or _value(level.find(W + "numFmt")) in ("bullet", "none", ""):
            return "-"

        def count_at(place: re.Match[str]) -> str:
            at = number, int(place[1]) - 1
            count = max(self._counts[at], 1)
            kind = _value(self._levels[at].find(W + "numFmt")) if at in self._levels else ""
            is_letter = kind.endswith("Letter") and count <= len(_LETTERS)
            return _LETTERS[count - 1] if is_letter else str(count)

        return _PLACE.sub(count_at, _value(level.find(W + "lvlText")) or f"%{depth + 1}.")


def _level(outline: "Element") -> int:
    """Return 1 to 9 for a heading, 0 for body text."""
    level = bounded_number(_value(outline), default=_OUTLINE_BODY, maximum=_OUTLINE_BODY)
    return level + 1 if level < _OUTLINE_BODY else _BODY_LEVEL


def _value(element: "Element | None") -> str:
    return "" if element is None else element.get(W + "val", "")
