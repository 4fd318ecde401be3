"""Decode bytes to text, whatever the encoding.

In this order: a byte order mark; UTF-16 and UTF-32 without one, by the positions of NUL
bytes; ISO-2022, by its escape sequences; UTF-8; the declared encoding; UTF-8 with a few
stray bytes; a guess from the letters.

Latin code pages decode the same bytes to other letters, and a statistical guess often takes a
wrong one on a short text. A text whose letters beyond ASCII all belong to one language's alphabet
is far more likely right than one that mixes them.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress

from corpus.errors import BinaryText, UnreadableFile

_ALPHABETS = {
    "cp1252": (
        "àâæçéèêëîïôœùûüÿ",  # French
        "äöüß",  # German
        "áéíñóúü¿¡ªºçàèòï·",  # Spanish, Catalan
        "àèéìîíòóù",  # Italian
        "ãõáâàçéêíóôúüªº",  # Portuguese
        "åäöéàüšž",  # Finnish, Swedish
        "æøåéèêóòâôüö",  # Danish, Norwegian
        "áðéíóúýþæö",  # Icelandic
        "ëïéèöüáíóú",  # Dutch
    ),
    "cp1250": (
        "ąćęłńóśźż",  # Polish
        "áčďéěíňóřšťúůýž",  # Czech
        "áäčďéíĺľňóôŕšťúýž",  # Slovak
        "áéíóöőúüű",  # Hungarian
        "ăâîşţ",  # Romanian
        "čćđšž",  # Croatian, Slovene
    ),
    "cp1254": ("çğıiöşüâîû",),  # Turkish
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),  # Lithuanian, Latvian, Estonian
}
_ALPHABETS["iso8859_2"] = _ALPHABETS["cp1250"]
# U+0307 is what is left of a Turkish İ in lower case.
_MARKS = frozenset("„“”‘’‚«»‹›–—…•·€£©®™°§±×÷²³½¼¾´¨№\u00a0\u00ad\u0307\ufeff")
# Russian in another code page than its own has other letters, or all of them in the other case.
_CYRILLIC = ("koi8_r", "cp1251", "cp866", "iso8859_5")
_RUSSIAN = frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя")
_FREQUENT_RUSSIAN = frozenset("оеаинтсрвл")
# Of the letters; these are two thirds of a Russian text, and a third or less in a wrong code page.
_MIN_FREQUENT_SHARE = 0.5
_LAST_ASCII = "\x7f"
_MIN_ASCII_SHARE = 0.6
_MAX_FOREIGN_SHARE = 0.03


_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Escape sequences that switch the character set.
_ISO_2022 = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_2"), (b"\x1b(J", "iso2022_jp_2"))
# Browsers read these labels as the larger code page, for that is what writers used.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# Labels that Python does not know.
_LABELS = {"x-sjis": "cp932", "x-gbk": "gb18030", "x-euc-jp": "euc_jp", "windows-874": "cp874"}
_TEXT_CODEC = re.compile(
    r"ascii|utf-(8|16|32)|iso|cp|koi8|mac|big5|gb|hz|euc|shift|johab|tis|kz|ptcp"
)
_STRAY = re.compile("[\udc80-\udcff]+")
# The bytes searched for NUL and escape sequences, and used for a guess.
_SAMPLE_BYTES = 64 * 1024
_GUESS_BYTES = 128 * 1024
# Text in another encoding hardly ever makes more well-formed sequences than stray bytes.
_GOOD_PER_BAD = 1
# As HTML, XML, and source files ("coding: utf-8") declare it.
_DECLARED = (
    re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*+["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.I),
    re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})"""),
    re.compile(rb"""coding[:=][ \t]*([A-Za-z0-9_.-]{2,40})"""),
)


def decode(content: bytes, *, declared: str = "") -> str:
    """Decode a file that claims to be text.

    Args:
        declared: The encoding from the context, such as a mail header, or empty.

    Raises:
        BinaryText: It contains NUL characters.
        UnreadableFile: No encoding fits.
    """
    text = _decode(content, declared)
    if "\x00" in text:
        raise BinaryText("The file holds NUL bytes: it is not text.")
    return text


def declared_encoding(content: bytes) -> str:
    """Return the encoding declared in the first lines of an HTML, XML or source file, or ""."""
    matches = (pattern.search(content[:4096]) for pattern in _DECLARED)
    return next((match[1].decode("ascii") for match in matches if match), "")


def _decode(content: bytes, declared: str) -> str:
    for mark, name in _BOMS:
        if content.startswith(mark):
            return content[len(mark) :].decode(name, errors="replace")
    for name in _evident_encodings(content, declared):
        try:
            return content.decode(name)
        except UnicodeError:
            continue
    # UTF-8 with a few stray bytes, which are read as Windows-1252.
    text = content.decode("utf-8", errors="surrogateescape")
    stray_count = sum(map(len, _STRAY.findall(text)))
    good_count = len(text) - len(text.encode("ascii", errors="ignore")) - stray_count
    if good_count >= stray_count * _GOOD_PER_BAD:
        return _STRAY.sub(
            lambda run: run[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace"), text
        )
    if name := _guess_encoding(content):
        return content.decode(name, errors="replace")
    raise UnreadableFile("The text encoding of the file could not be recognised.")


def _evident_encodings(content: bytes, declared: str) -> Iterator[str]:
    """Yield the encodings that the bytes or a declaration name, the likeliest first."""
    if name := wide_encoding(content):
        yield name
    sample = content[:_SAMPLE_BYTES]
    yield from [name for escape, name in _ISO_2022 if escape in sample][:1]
    yield "utf-8"
    label = declared or declared_encoding(content)
    try:
        name = codecs.lookup(_LABELS.get(label.lower(), label)).name if label else ""
    except (LookupError, ValueError):  # ValueError: a NUL in the label
        return
    name = _WIDER.get(name, name)
    if _TEXT_CODEC.match(name):
        yield name


def wide_encoding(content: bytes) -> str:
    """Return UTF-32 or UTF-16, if the high bytes of most characters are NUL; else ""."""
    sample = content[: _SAMPLE_BYTES - _SAMPLE_BYTES % 4]
    if b"\x00" not in sample or len(sample) % 2:
        return ""
    quarter = max(len(sample) // 4, 1)
    nuls = [sample[position::4].count(0) / quarter for position in range(4)]
    # Minimum and maximum share of NULs at one of four byte positions, for high and low bytes.
    few, many = 0.05, 0.4
    if min(nuls[2:]) > many and nuls[0] < few:
        return "utf-32-le"
    if min(nuls[:2]) > many and nuls[3] < few:
        return "utf-32-be"
    if min(nuls[1], nuls[3]) > many and max(nuls[0], nuls[2]) < few:
        return "utf-16-le"
    if min(nuls[0], nuls[2]) > many and max(nuls[1], nuls[3]) < few:
        return "utf-16-be"
    return ""


def _guess_encoding(content: bytes) -> str:
    """Return a code page: a Latin or Russian one by its letters, else by statistics; "" if none."""
    sample = content[:_SAMPLE_BYTES]
    ascii_letters = sum(sample.count(bytes((code,))) for code in range(0x41, 0x7B))
    beyond = sum(1 for code in sample if code > ord(_LAST_ASCII))
    if ascii_letters >= _MIN_ASCII_SHARE * (ascii_letters + beyond):
        # How many letters are foreign to the best-fitting alphabet of each code page.
        misfits: dict[str, int] = {}
        for name, alphabets in _ALPHABETS.items():
            with suppress(UnicodeDecodeError):
                text = sample.decode(name).lower()
                letters = [each for each in text if each > _LAST_ASCII and each not in _MARKS]
                misfits[name] = min(
                    sum(each not in known for each in letters) for known in alphabets
                )
        best = min(misfits, key=misfits.__getitem__)
        if misfits[best] <= _MAX_FOREIGN_SHARE * beyond:
            return best
    for name in _CYRILLIC:
        text = sample.decode(name, errors="replace")
        letters = [each for each in text if each > _LAST_ASCII and each not in _MARKS]
        foreign = sum(each not in _RUSSIAN for each in map(str.lower, letters))
        frequent = sum(each in _FREQUENT_RUSSIAN for each in letters)
        if (
            foreign <= _MAX_FOREIGN_SHARE * len(letters)
            and frequent >= _MIN_FREQUENT_SHARE * len(letters) > 0
        ):
            return name
    from charset_normalizer import from_bytes  # noqa: PLC0415 - only for files that need it

    match = from_bytes(content[:_GUESS_BYTES]).best()
    return match.encoding if match else ""
