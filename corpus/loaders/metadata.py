"""Normalize the metadata of files: author, dates, language, and the words of a path. Pure.

Filters use author, created, modified and language, which formats and programs write in many ways.
All values are cut to the limits of a document.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any

from corpus.characters import MAX_DEPTH

# Maximum length of a description; a title is shorter.
MAX_TEXT_CHARS = 2_000
MAX_KEY_CHARS = 100
# Maximum list length: columns of a table are metadata too.
MAX_ENTRIES = 1_000
MAX_AUTHOR_CHARS = 200
MAX_AUTHORS = 50
# Years outside are a default date of a program, or a mistake.
YEARS = range(1000, 2200)

_AUTHOR_KEYS = ("author", "authors", "creator", "from")
_LANGUAGE_KEYS = ("language", "lang", "locale")
# Placeholders of programs for an unknown author.
_NOBODY = frozenset(
    "admin administrator anonymous (anonymous) author openpyxl owner python-docx root unknown user "
    "none n/a microsoft-office-user".split()
)
_ADDRESS = re.compile(r"\Ahttps?://", re.I)

_LANGUAGE = re.compile(r"\A([A-Za-z]{2,3})(?:[-_@.]\w.*)?\Z", re.S)
# Three-letter codes, as libraries write them, and their two-letter ones.
_SHORT_LANGUAGES = dict(
    pair.split(":")
    for pair in (
        "ara:ar bul:bg cat:ca ces:cs cze:cs chi:zh zho:zh dan:da deu:de ger:de dut:nl nld:nl "
        "ell:el gre:el eng:en est:et eus:eu fas:fa per:fa fin:fi fra:fr fre:fr gle:ga glg:gl "
        "heb:he hin:hi hrv:hr hun:hu hye:hy ice:is isl:is ind:id ita:it jpn:ja kor:ko lat:la "
        "lav:lv lit:lt may:ms msa:ms nor:no pol:pl por:pt ron:ro rum:ro rus:ru slk:sk slo:sk "
        "slv:sl spa:es srp:sr swe:sv tam:ta tha:th tur:tr ukr:uk urd:ur vie:vi"
    ).split()
)
# Codes for unknown, several or no languages.
_NO_LANGUAGES = frozenset(("und", "mul", "zxx", "xx", "mis"))

_ISO = re.compile(
    r"\A(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?\s?(Z|[+-]\d\d:?\d\d)?)?)?)?\Z"
)
_MONTHS = {
    name: number
    for number, name in enumerate(
        "jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1
    )
}
# 3 March 2024, 3. Mar. 2024; March 3, 2024; 03.03.2024; 2024/3/3.
_SPELT = (
    (re.compile(r"\A(\d{1,2})\.?\s+([A-Za-z]{3})[a-z]*\.?,?\s+(\d{4})\b"), (3, 2, 1)),
    (re.compile(r"\A([A-Za-z]{3})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b"), (3, 1, 2)),
    (re.compile(r"\A(\d{1,2})\.(\d{1,2})\.(\d{4})\b"), (3, 2, 1)),
    (re.compile(r"\A(\d{4})[/.](\d{1,2})[/.](\d{1,2})\b"), (1, 2, 3)),
)


def normalize_metadata(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a file within limits, in the form that filters use.

    Returns:
        The metadata. ``author`` is a name or a list of names, ``created`` and ``modified`` are ISO
        8601 dates or times, ``language`` is a code of two or three lowercase letters; unknown ones
        are omitted.
    """
    metadata: dict[str, Any] = _bounded(dict(properties), MAX_DEPTH)
    languages = [normalize_language(metadata.pop(key, "")) for key in _LANGUAGE_KEYS]
    normalized = {
        "author": _author(metadata),
        "language": next(filter(None, languages), ""),
        **{key: normalize_date(metadata.pop(key, "")) for key in ("created", "modified")},
    }
    return {**metadata, **{key: value for key, value in normalized.items() if value}}


def _bounded(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value[:MAX_TEXT_CHARS].rstrip()
    if isinstance(value, dict) and depth:
        items = list(value.items())[:MAX_ENTRIES]
        return {str(key)[:MAX_KEY_CHARS]: _bounded(each, depth - 1) for key, each in items}
    if isinstance(value, list | tuple):
        return [_bounded(each, depth - 1) for each in value[:MAX_ENTRIES]] if depth else []
    return None if isinstance(value, dict) else value


def _author(metadata: dict[str, Any]) -> str | list[str]:
    """Return the author from the first key that has one; a sender also stays as sender."""
    for key in _AUTHOR_KEYS:
        value = metadata.get(key) if key == "from" else metadata.pop(key, None)
        names: list[str] = []
        for each in value if isinstance(value, list) else [value]:
            person = each.get("name") if isinstance(each, dict) else each
            name = " ".join(person.split()) if isinstance(person, str) else ""
            if key == "from":
                sender, address = (getaddresses([name]) or [("", "")])[0]
                name = sender or address
            is_placeholder = name.lower().replace(" ", "-") in _NOBODY
            if name and not is_placeholder and not _ADDRESS.match(name):
                names.append(name[:MAX_AUTHOR_CHARS].rstrip())
        if names:
            unique = list(dict.fromkeys(names))[:MAX_AUTHORS]
            return unique if len(unique) > 1 else unique[0]
    return ""


def normalize_language(value: Any) -> str:
    """Return the language of a tag such as ``de-CH`` or ``ger``, or ""."""
    if isinstance(value, list):
        value = value[0] if value else ""
    match = _LANGUAGE.match(value.strip()) if isinstance(value, str) else None
    code = match[1].lower() if match else ""
    return "" if code in _NO_LANGUAGES else _SHORT_LANGUAGES.get(code, code)


def normalize_date(value: Any) -> str:
    """Return a date, a partial date (``2024-03``) or a time in ISO 8601, or "" if invalid."""
    text = " ".join(str(value).split())[:MAX_KEY_CHARS]
    if date := _iso_date(text):
        return date
    for pattern, places in _SPELT:
        match = pattern.match(text)
        if match:
            year, month, day = (match[place] for place in places)
            number = _MONTHS.get(month.lower(), 0) if month.isalpha() else int(month)
            if date := _iso_date(f"{year}-{number:02}-{int(day):02}"):
                return date
            break
    try:
        moment = parsedate_to_datetime(text)  # as in mail headers
    except (TypeError, ValueError, IndexError, OverflowError):
        return ""
    return moment.isoformat() if moment.year in YEARS else ""


def _iso_date(text: str) -> str:
    match = _ISO.match(text)
    if not match or int(match[1]) not in YEARS:
        return ""
    year, month, day, time, zone = match.groups()
    moment = "-".join(part for part in (year, month, day) if part)
    if time:
        moment += f"T{time if time.count(':') > 1 else time + ':00'}{zone or ''}"
    return moment if earliest_datetime(moment) else ""


def document_date(metadata: Mapping[str, Any], created_at: datetime | None, *, today: date) -> str:
    """Return the date of a document in ISO 8601: when its content last changed.

    Programs copy old creation dates into new files, so the later of the two dates counts. File
    times do not count: a copy or a checkout changes them. Future dates do not count either, because
    no document could be newer.

    Args:
        metadata: Metadata of the document; ``created`` and ``modified`` may have any value.
        created_at: Creation time from the request, or else from the file.
        today: Current date in UTC; further east it may be tomorrow.

    Returns:
        A date, or a year or month if only that is known, or "".
    """
    created, modified = (
        normalize_date(metadata.get(key) or "")[:10] for key in ("created", "modified")
    )
    day = created_at.date().isoformat() if created_at else ""
    # A month or year in the metadata may be all that is known of that day.
    if day and not (created and day.startswith(created)):
        created = day
    last = (today + timedelta(days=1)).isoformat()
    return max((day for day in (created, modified) if day <= last), default="")


def earliest_datetime(date: str) -> datetime | None:
    """Return the first moment of a date from ``normalize_date``; None if it does not exist."""
    filled = date + "-01" * (2 - date.count("-")) if len(date) < len("2024-01-01") else date
    try:
        return datetime.fromisoformat(filled)
    except ValueError:
        return None


MAX_FILE_WORDS_CHARS = 200
# Letters in a row; a capital begins a word in "AcmeLeave". A year is a word, too.
_PATH_WORD = re.compile(
    r"[^\W\d_](?:[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z]))|(?<!\d)(?:19|20)\d\d(?!\d)"
)
# They name no subject.
_GENERIC_NAMES = frozenset({"index", "readme", "untitled", "document", "scan", "img"})


def words_of_path(path: str, *, title: str) -> str:
    """Return the words of a file's folders and name that a title lacks, separated by spaces.

    Often only they tell the subject: the title of ``acme/leave.md`` may be "Taking leave".
    """
    known = {word.casefold() for word in re.findall(r"[^\W_]+", title)} | _GENERIC_NAMES
    file = PurePosixPath(path)
    words = _PATH_WORD.findall(f"{file.parent}/{file.stem}")
    lacking = dict.fromkeys(word for word in words if word.casefold() not in known)
    return " ".join(lacking)[:MAX_FILE_WORDS_CHARS]


def full_title(title: str, *, file_words: str) -> str:
    """Return a title after the words that only its file's path has."""
    return ": ".join(filter(None, (file_words, title)))


def ranked_text(text: str, *, title: str, file_words: str) -> str:
    """Return the text of a passage for the reranker, which a title helps most in front."""
    lead = full_title(title, file_words=file_words)
    return f"{lead}\n{text}" if lead else text
