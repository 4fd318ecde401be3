"""Rich Text: paragraphs with their style levels, items, tables and footnotes.

Groups, control words and text come one after another; each group has its own settings, and may
be something else than text: fonts, styles, pictures.
"""

import datetime as dt
import re
from dataclasses import dataclass, replace
from typing import Any

from corpus.errors import UnreadableFile
from corpus.loaders.blocks import Block, LoadedDocument, office_document
from corpus.loaders.formats.flow import Flow
from corpus.loaders.formats.office97.container import charset_of, join_surrogates

_TOKEN = re.compile(
    r"\\(?:([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|'([0-9a-fA-F]{2})|([^a-zA-Z]))|([{}])|[\r\n]+"
    r"|([^\\{}\r\n]+)"
)
_TEXT, _SKIPPED, _MARK, _NOTE, _FONTS, _STYLES = "text skipped mark note fonts styles".split()
# Groups by their first word; other groups that begin with "\*" contain no text.
_ROLES = {
    "fonttbl": _FONTS, "stylesheet": _STYLES, "listtext": _MARK, "pntext": _MARK,
    "footnote": _NOTE, "annotation": _NOTE, "shptxt": _TEXT, "shpinst": _TEXT,
    "title": "title", "author": "author", "subject": "subject", "keywords": "keywords",
    "creatim": "created", "revtim": "modified",
    **dict.fromkeys(
        "colortbl datafield fldinst footer footerf footerl footerr ftncn ftnsep ftnsepc aftncn "
        "aftnsep aftnsepc generator header headerf headerl headerr listtable listoverridetable "
        "nonshppict object pict revtbl rsidtbl tc themedata txe xe background atnid atnauthor "
        "atnref atndate filetbl company operator manager category doccomm comment hlinkbase "
        "printim buptim private sp".split(), _SKIPPED,
    ),
}  # fmt: skip
_PROPERTIES = frozenset(("title", "author", "subject", "keywords"))
_MOMENTS = frozenset(("created", "modified"))
_CHARACTERS = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ",
    "qmspace": " ", "nestcell": " ", "nestrow": "\n",
}  # fmt: skip
_SYMBOLS = {"~": " ", "_": "-", "\\": "\\", "{": "{", "}": "}"}
# Ends of paragraphs and of parts of tables.
_ENDS = frozenset(("par", "sect", "page", "column", "cell", "row"))
_SETTINGS = frozenset("pard plain ansicpg f uc v intbl s outlinelevel".split())
_HEADING = re.compile(r"heading (\d)", re.I)
_NO_OUTLINE = 9
# Windows' code pages by the numbers that fonts have for them.
_CODEPAGES = {
    77: 10000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258,
    177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250,
}  # fmt: skip
_MAX_GROUPS = 10_000
# Maximum length of metadata; a longer title is not one.
_MAX_PROPERTY_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class _Group:
    """Settings of a group, inherited by the groups inside it.

    Attributes:
        role: Purpose of its text.
        fallback_chars: Fallback characters after a character given by number.
        style: Number of the paragraph's style.
        outline: 0 to 8 for a heading by itself.
    """

    role: str = _TEXT
    charset: str = "cp1252"
    fallback_chars: int = 1
    is_hidden: bool = False
    style: int = 0
    outline: int = _NO_OUTLINE
    in_table: bool = False


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read a Rich Text file."""
    start = content.find(b"{\\rtf")
    if start < 0 or content[:start].strip():
        raise UnreadableFile("The file is no Rich Text.")
    reader = _Reader()
    reader.read(content.decode("latin-1"))
    return office_document(reader.blocks(), reader.properties)


class _Reader:
    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self._flow = Flow()
        self._group = _Group()
        self._outer: list[_Group] = []
        self._is_starred = False
        # Number of fallback characters still to skip.
        self._repeated = 0
        self._bytes = bytearray()
        self._texts: dict[str, list[str]] = {_TEXT: [], _NOTE: [], _MARK: [], _STYLES: []}
        self._cells: list[str] = []
        self._charset = "cp1252"
        self._fonts: dict[int, str] = {}
        self._levels: dict[int, int] = {}
        # The font or style being defined.
        self._described = 0

    def read(self, text: str) -> None:
        at = 0
        while token := _TOKEN.match(text, at):
            at = token.end()
            word, number, byte, symbol, brace, plain = token.groups()
            if plain:
                self._bytes += plain[self._repeated :].encode("latin-1")
                self._repeated = max(self._repeated - len(plain), 0)
            elif byte:
                self._bytes += b"" if self._repeated else bytes.fromhex(byte)
                self._repeated = max(self._repeated - 1, 0)
            else:
                self._flush()
                if word == "bin":
                    at += max(int(number or 0), 0)
                elif word or (symbol and symbol in "\r\n"):
                    self._word(word or "par", None if number is None else int(number))
                elif symbol == "*":
                    self._is_starred = True
                elif symbol:
                    self._say(_SYMBOLS.get(symbol, ""))
                elif brace:
                    self._change_group(brace)

    def blocks(self) -> list[Block]:
        self._flush()
        self._end_paragraph()
        for line in self._taken(_NOTE).split("\n"):
            self._flow.add(line)
        self._flow.end_run()
        return self._flow.blocks

    def _flush(self) -> None:
        if self._bytes:
            self._say(self._bytes.decode(self._group.charset, "replace"))
            self._bytes.clear()

    def _say(self, text: str) -> None:
        role = self._group.role
        if role in self._texts and not self._group.is_hidden:
            self._texts[role].append(text)
            if role == _STYLES and text.endswith(";"):
                heading = _HEADING.search(self._taken(_STYLES))
                if heading:
                    self._levels[self._described] = int(heading[1])
                elif self._group.outline < _NO_OUTLINE:
                    self._levels[self._described] = self._group.outline + 1
                self._described = 0
        elif role in _PROPERTIES:
            before = self.properties.get(role, "")
            self.properties[role] = (before + text)[:_MAX_PROPERTY_CHARS]

    def _taken(self, role: str) -> str:
        text = join_surrogates("".join(self._texts[role]))
        self._texts[role].clear()
        return text

    def _change_group(self, brace: str) -> None:
        self._is_starred = False
        self._repeated = 0
        if brace == "{":
            if len(self._outer) > _MAX_GROUPS:
                raise UnreadableFile("The groups of the file are nested too deeply.")
            self._outer.append(self._group)
        elif self._outer:
            if self._group.role == _NOTE and self._outer[-1].role != _NOTE:
                self._texts[_NOTE].append("\n")
            self._group = self._outer.pop()

    def _word(self, word: str, number: int | None) -> None:
        role = _ROLES.get(word, _SKIPPED if self._is_starred else "")
        self._is_starred = False
        if self._group.role == _SKIPPED:
            return
        if role:
            self._group = replace(self._group, role=role)
        elif word in _CHARACTERS:
            self._say(_CHARACTERS[word])
        elif word == "u" and number is not None:
            self._say(chr(number % 2**16))
            self._repeated = self._group.fallback_chars
        elif word not in _ENDS:
            self._set(word, number)
        elif self._group.role == _NOTE:
            self._texts[_NOTE].append(" ")
        elif word == "cell":
            self._cells.append(self._item_mark() + self._taken(_TEXT))
        elif word == "row":
            self._flow.add_row(self._cells)
            self._cells = []
        elif self._group.role == _TEXT and self._group.in_table:
            self._texts[_TEXT].append("\n")
        elif self._group.role == _TEXT:
            self._end_paragraph()

    def _set(self, word: str, number: int | None) -> None:
        """Change a setting of the group, or describe a font or a time."""
        value = number or 0
        role = self._group.role
        if role == _FONTS:
            if word == "f":
                self._described = value
            elif word == "fcharset" and value in _CODEPAGES:
                self._fonts[self._described] = charset_of(_CODEPAGES[value])
            elif word == "fcharset":
                self._fonts[self._described] = "cp1252" if value else self._charset
            elif word == "cpg":
                self._fonts[self._described] = charset_of(value)
        elif role in _MOMENTS:
            if word in {"yr", "mo", "dy"} and 0 < value <= dt.MAXYEAR:
                before = self.properties.get(role, "")
                self.properties[role] = f"{before}-{value:02}" if before else f"{value:04}"
        elif word in _SETTINGS:
            if word == "ansicpg":
                self._charset = charset_of(value)
            elif word == "s":
                self._described = value
            settings: dict[str, dict[str, Any]] = {
                "pard": {"style": 0, "outline": _NO_OUTLINE, "in_table": False},
                "plain": {"charset": self._charset, "is_hidden": False},
                "ansicpg": {"charset": self._charset},
                "f": {"charset": self._fonts.get(value, self._charset)},
                "uc": {"fallback_chars": max(value, 0)},
                "v": {"is_hidden": number is None or value != 0},
                "intbl": {"in_table": True},
                "s": {"style": value, "outline": _NO_OUTLINE},
                "outlinelevel": {"outline": value},
            }
            self._group = replace(self._group, **settings[word])

    def _end_paragraph(self) -> None:
        outline = self._group.outline
        level = outline + 1 if outline < _NO_OUTLINE else self._levels.get(self._group.style, 0)
        mark = self._item_mark()
        text = self._taken(_TEXT).strip()
        if text:
            self._flow.add(mark + text, level=max(level, 0), is_item=bool(mark))

    def _item_mark(self) -> str:
        """Return the mark of a list item: its number, or a dash for any bullet."""
        mark = self._taken(_MARK).strip()
        if not mark:
            return ""
        return f"{mark} " if any(map(str.isalnum, mark.removesuffix("o"))) else "- "
