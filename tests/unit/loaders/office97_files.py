"""Small files of Office before 2007, made in code, byte by byte as its formats say."""

import struct
from collections.abc import Mapping, Sequence

SECTOR = 512
_NONE, _END = 0xFFFFFFFF, 0xFFFFFFFE
# Smaller streams lie in a stream of their own, which these files do not have.
_MIN_STREAM = 4096


def ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE2 container of streams by their paths; each is filled up with zeros to 4,096 bytes."""
    contents = {name: content.ljust(_MIN_STREAM, b"\0") for name, content in streams.items()}
    folders = {name.rpartition("/")[0] for name in contents} - {""}
    folders |= {folder.rpartition("/")[0] for folder in folders} - {""}
    names = ["", *sorted(folders), *contents]
    body, chain, starts = b"", list[int](), dict[str, int]()
    for name, content in contents.items():
        starts[name] = len(chain)
        count = -(-len(content) // SECTOR)
        chain += [*range(len(chain) + 1, len(chain) + count), _END]
        body += content.ljust(count * SECTOR, b"\0")
    entries = b"".join(
        _entry(name, names, start=starts.get(name, 0), size=len(contents.get(name, b"")))
        for name in names
    )
    directory = entries.ljust(-(-len(entries) // SECTOR) * SECTOR, b"\0")
    directory_at, count = len(chain), len(directory) // SECTOR
    chain += [*range(len(chain) + 1, len(chain) + count), _END]
    table_count = -(-(len(chain) + 9) // 128)
    table_at = len(chain)
    chain += [0xFFFFFFFD] * table_count
    table = struct.pack(f"<{len(chain)}I", *chain).ljust(table_count * SECTOR, b"\xff")
    places = [*range(table_at, table_at + table_count)]
    head = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 62, 3, 0xFFFE, 9, 6,
        0, table_count, directory_at, 0, _MIN_STREAM, _END, 0, _END, 0,
    )  # fmt: skip
    return (
        head
        + struct.pack("<109I", *places, *[_NONE] * (109 - table_count))
        + body
        + directory
        + table
    )


def _entry(name: str, names: Sequence[str], *, start: int, size: int) -> bytes:
    """An entry of the directory; those of one folder follow one another to the right."""
    folder = name.rpartition("/")[0]
    siblings = [n for n in names if n and n != name and n.rpartition("/")[0] == folder]
    later = [n for n in siblings if names.index(n) > names.index(name)]
    inside = [n for n in names if n and n.rpartition("/")[0] == name]
    label = (name.rpartition("/")[2] or "Root Entry").encode("utf-16-le")
    return struct.pack(
        "<64sHBBIII36xIQ",
        label,
        len(label) + 2,
        2 if size else (1 if name else 5),
        1,
        _NONE,
        names.index(later[0]) if name and later else _NONE,
        names.index(inside[0]) if inside else _NONE,
        start if size else 0,
        size,
    )


# What Word says of a paragraph besides its style.
IN_TABLE = b"\x16\x24\x01"
ENDS_ROW = b"\x17\x24\x01"
IN_LIST = b"\x0b\x46\x01\x00"
# The styles of the files below: text, two headings, a title.
TEXT, HEADING_1, HEADING_2, TITLE = range(4)
_BUILT_IN = (0, 1, 2, 62)
_TEXT_AT = 1024


def doc(
    *paragraphs: tuple[str, int, bytes], notes: str = "", flags: int = 0, version: int = 0xC1
) -> bytes:
    """A Word file: paragraphs with their ends, the numbers of their styles, and properties."""
    text = "".join(one for one, _, _ in paragraphs)
    stored = (text + notes).encode("utf-16-le")
    page_at = -(-(_TEXT_AT + len(stored)) // SECTOR)
    ends = [_TEXT_AT]
    for one, _, _ in paragraphs:
        ends.append(ends[-1] + len(one.encode("utf-16-le")))
    styles = struct.pack("<HH16x", 18, len(_BUILT_IN)) + b"".join(
        struct.pack("<HH8x", 10, kind) for kind in _BUILT_IN
    )
    kinds = struct.pack("<III", ends[0], ends[-1], page_at)
    units = len(stored) // 2
    pieces = struct.pack("<BIIIHIH", 2, 16, 0, units, 0, _TEXT_AT, 0)
    table = styles + kinds + pieces
    main = bytearray(_TEXT_AT)
    struct.pack_into("<HH6xH", main, 0, 0xA5EC, version, flags | 0x0200)
    struct.pack_into("<II", main, 0x4C, units - len(notes), len(notes))
    starts = {1: (0, len(styles)), 13: (len(styles), len(kinds)),
              33: (len(styles) + len(kinds), len(pieces))}  # fmt: skip
    for number, (start, size) in starts.items():
        struct.pack_into("<II", main, 0x9A + 8 * number, start, size)
    page = _page(ends, [(style, given) for _, style, given in paragraphs])
    return ole(
        {
            "WordDocument": (bytes(main) + stored).ljust(page_at * SECTOR, b"\0") + page,
            "1Table": table,
        }
    )


def _page(ends: Sequence[int], kinds: Sequence[tuple[int, bytes]]) -> bytes:
    page = bytearray(SECTOR)
    struct.pack_into(f"<{len(ends)}I", page, 0, *ends)
    at = SECTOR - 2
    for number, (style, given) in enumerate(kinds):
        entry = struct.pack("<H", style) + given
        entry = entry.ljust(len(entry) | 1, b"\0")
        at -= len(entry) + 1
        page[at : at + len(entry) + 1] = bytes([(len(entry) + 1) // 2]) + entry
        page[4 * len(ends) + 13 * number] = at // 2
    page[-1] = len(kinds)
    return bytes(page)


def xls(
    name: str,
    *rows: Sequence[str | float],
    merged: tuple[int, int, int, int] | None = None,
    encrypted: bool = False,
) -> bytes:
    """An Excel workbook of one sheet; merged are first and last row, first and last column."""
    protection = _biff(0x2F, struct.pack("<H", 1)) if encrypted else b""
    start, end = _biff(0x0809, struct.pack("<HH12x", 0x0600, 5)) + protection, _biff(0x0A, b"")
    size = len(start) + 4 + 8 + len(name) + len(end)
    listed = _biff(0x85, struct.pack("<IBBBB", size, 0, 0, len(name), 0) + name.encode("latin-1"))
    sheet = _biff(0x0809, struct.pack("<HH12x", 0x0600, 0x10))
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            place = struct.pack("<HHH", row, column, 0)
            if isinstance(value, str):
                text = struct.pack("<HB", len(value), 1) + value.encode("utf-16-le")
                sheet += _biff(0x0204, place + text)
            else:
                sheet += _biff(0x0203, place + struct.pack("<d", value))
    if merged:
        sheet += _biff(0xE5, struct.pack("<H4H", 1, *merged))
    return ole({"Workbook": start + listed + end + sheet + end})


def _biff(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def ppt(*slides: tuple[str, str, str], notes: str = "", encrypted: bool = False) -> bytes:
    """A presentation: of each slide its title and body in the outline, and a shape's own text.

    The notes are those of the last slide.
    """
    outline, records = b"", list[bytes]()
    for number, (title, body, own) in enumerate(slides, start=1):
        outline += _atom(0x03F3, struct.pack("<IIIII", number, 0, 2, 255 + number, 0))
        outline += _words(0, title) + _words(1, body)
        records.append(_holder(0x03E8, _holder(0xF002, _box(4, own))))
    place = len(slides) + 1
    listed = _atom(0x03F3, struct.pack("<IIIII", place, 0, 0, 1, 0))
    head = _atom(0x03F1, struct.pack("<II", 255 + len(slides), 0))
    records.append(_holder(0x03F0, head + _box(2, notes) + _box(4, "*")))
    lists = _holder(0x0FF0, outline) + _holder(0x0FF0, listed if notes else b"", instance=2)
    records.append(_holder(0x03E8, lists))
    starts, stream = list[int](), b""
    for record in records:
        starts.append(len(stream))
        stream += record
    directory_at = len(stream)
    stream += _atom(0x1772, struct.pack(f"<I{len(starts)}I", len(starts) << 20 | 1, *starts))
    edit_at = len(stream)
    stream += _atom(0x0FF5, struct.pack("<IIIIIII", 0, 0, 0, directory_at, len(starts), 0, 0))
    token = 0xF3D1C4DF if encrypted else 0xE391C05F
    user = _atom(0x0FF6, struct.pack("<III", 20, token, edit_at))
    return ole({"Current User": user, "PowerPoint Document": stream})


def _atom(kind: int, content: bytes, *, head: int = 0) -> bytes:
    return struct.pack("<HHI", head, kind, len(content)) + content


def _holder(kind: int, content: bytes, *, instance: int = 0) -> bytes:
    return _atom(kind, content, head=instance << 4 | 0xF)


def _words(kind: int, text: str) -> bytes:
    return _atom(0x0F9F, struct.pack("<I", kind)) + _atom(0x0FA0, text.encode("utf-16-le"))


def _box(kind: int, text: str) -> bytes:
    return _holder(0xF00D, _words(kind, text))


def msg(
    properties: Mapping[str, str], *, folder: str = "", sent: int = 0, narrow: bool = False
) -> dict[str, bytes]:
    """The streams of an Outlook message by their paths; ``ole`` makes a file of them."""
    kind, charset = ("001E", "cp1252") if narrow else ("001F", "utf-16-le")
    fixed = bytes(24 if folder else 32) + struct.pack("<IIQ", 0x00390040, 0, sent)
    fixed += struct.pack("<IIQ", 0x3FFD0003, 0, 1252)
    streams = {
        f"{folder}__substg1.0_{number}{kind}": text.encode(charset)
        for number, text in properties.items()
    }
    return {f"{folder}__properties_version1.0": fixed, **streams}
