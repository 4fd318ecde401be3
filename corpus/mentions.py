"""Count in which stored texts a phrase is mentioned, and where: exactly, and all of them.

A mention is the phrase as whole words, in any case. White space in it matches any white space, line
breaks too. Other forms of a word are other words: "invoices" mentions no "invoice".

Postgres leaves the texts that contain the longest part of the phrase, and Python finds the mentions
in them. The word index would miss some: it has "example.org/billing" as one word, no stop words,
and nothing of tags such as ``<code>``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.db.models import TextField, Value
from django.db.models.functions import Collate, Lower, StrIndex
from django.utils import timezone

from corpus.characters import normalize, widen_to_characters
from corpus.errors import InvalidInput
from corpus.filters import Filter
from corpus.lexical import character_ngrams
from corpus.loaders.metadata import document_date
from corpus.models import Collection, Document
from corpus.postgres.snapshot import one_snapshot
from corpus.roots.shown_paths import shown_path

Group = Literal["tag", "month", "sender", "source", "folder", "collection"]
Sort = Literal["mentions", "name", "date"]
Unit = Literal["document", "mention"]
GROUPS: Sequence[Group] = ("tag", "month", "sender", "source", "folder", "collection")
SORTS: Sequence[Sort] = ("mentions", "name", "date")
UNITS: Sequence[Unit] = ("document", "mention")
MAX_PHRASE_CHARS = 200
# Characters before and after a mention that are shown, within its line.
AROUND_CHARS = 80
# Texts in memory at once: each has up to 20 million characters.
TEXTS_AT_ONCE = 20
# Characters that are written in several ways.
_ALIKE = {character: kind for kind in ("'\u2019", "-\u2010\u2011") for character in kind}


class Mention(NamedTuple):
    """Characters ``start:end`` of a document's text, and what stands around it in its line.

    Attributes:
        context: ``text[context_start:context_end]``; includes the mention.
        mention_count: Of its document.
    """

    document: Document
    start: int
    end: int
    quote: str
    context_start: int
    context: str
    date: str
    mention_count: int

    @property
    def context_end(self) -> int:
        return self.context_start + len(self.context)


@dataclass(slots=True)
class GroupCount:
    """Counts of a group; its name is empty for documents without one."""

    name: str
    document_count: int = 0
    mention_count: int = 0


@dataclass(frozen=True, slots=True)
class MentionCount:
    """All mentions of a phrase in the documents that were asked for.

    Attributes:
        phrase: As it was looked for.
        searched_count: Documents whose text was searched.
        unread_count: Documents without a text, which could not be searched.
        groups: The largest first. A document counts in each group that it belongs to.
        results: One page of the list.
        result_count: Length of the whole list.
    """

    phrase: str
    document_count: int
    mention_count: int
    searched_count: int
    unread_count: int
    groups: Sequence[GroupCount]
    results: Sequence[Mention]
    result_count: int


def compile_phrase(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase, whose words are separated by single spaces."""
    # Scripts without spaces do not separate words.
    before = "" if character_ngrams(phrase[0]) else r"(?<!\w)"
    behind = "" if character_ngrams(phrase[-1]) else r"(?!\w)"
    return re.compile(before + "".join(map(_any_form, phrase)) + behind)


def _any_form(character: str) -> str:
    if character == " ":
        return r"\s+"
    forms = {character.lower(), character.upper(), *_ALIKE.get(character, character)}
    single = sorted(form for form in forms if len(form) == 1)
    return f"[{''.join(map(re.escape, single))}]" if len(single) > 1 else re.escape(character)


def find_mentions(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return the spans of a phrase in a text; none cuts a mark from its letter."""
    spans = (match.span() for match in pattern.finditer(text))
    return [span for span in spans if widen_to_characters(text, *span) == span]


@one_snapshot()
def count_mentions(
    query: str,
    *,
    collection: Collection | None = None,
    tags: Sequence[str] = (),
    filters: Filter | None = None,
    group_by: Group | None = None,
    unit: Unit = "document",
    sort: Sort = "mentions",
    offset: int = 0,
    limit: int | None = 20,
) -> MentionCount:
    """Count the mentions of a phrase in all documents that the principal may read.

    Args:
        collection: None: all collections.
        unit: What the list consists of: each document by its first mention, or each mention.
        limit: Length of the page from ``offset`` on; None: all.

    Raises:
        InvalidInput: The phrase has no letter or digit, or is too long.
    """
    phrase = " ".join(normalize("NFC", query).split())
    if not any(map(str.isalnum, phrase)) or len(phrase) > MAX_PHRASE_CHARS:
        raise InvalidInput(
            f"Give a word or phrase to count, of at most {MAX_PHRASE_CHARS} characters.",
            field="query",
        )
    asked = Document.objects.tagged(tags)
    if collection:
        asked = asked.filter(collection=collection)
    if filters:
        asked = asked.matching_filter(filters)
    pattern = compile_phrase(phrase)
    stored = asked.stored()
    counts = _count_each(pattern, _containing(phrase, stored), group_by)
    listed = sorted(counts, key=_ORDERS[sort])
    groups: dict[str, GroupCount] = {}
    for each in counts:
        for name in each.groups:
            group = groups.setdefault(name, GroupCount(name))
            group.document_count += 1
            group.mention_count += each.mention_count
    total = sum(each.mention_count for each in counts)
    end = None if limit is None else offset + limit
    return MentionCount(
        phrase=phrase,
        document_count=len(counts),
        mention_count=total,
        searched_count=stored.count(),
        unread_count=asked.filter(content_sha256="").count(),
        groups=sorted(groups.values(), key=lambda each: (-each.document_count, each.name)),
        results=_read_page(pattern, listed, slice(offset, end), unit),
        result_count=total if unit == "mention" else len(counts),
    )


class _Counted(NamedTuple):
    """A document with mentions, without its text."""

    document: Document
    mention_count: int
    date: str
    groups: Sequence[str]


_ORDERS: Mapping[str, Any] = {
    "mentions": lambda each: (-each.mention_count, each.document.name.lower(), each.document.pk),
    "name": lambda each: (each.document.name.lower(), each.document.pk),
    # The newest first, those without a date last.
    "date": lambda each: (
        [-ord(digit) for digit in each.date or "0"], each.document.name.lower(), each.document.pk
    ),
}  # fmt: skip


def _containing(phrase: str, documents: Any) -> Any:
    """Keep documents whose text contains the longest part of the phrase.

    A part has only characters that Postgres compares as Python does, whatever the locale.
    """
    parts = "".join(
        each if each not in _ALIKE and (each.isascii() or each.lower() == each.upper()) else " "
        for each in phrase
    ).split()
    if not parts:
        return documents
    lowered = Lower(Collate("content__text", "C"), output_field=TextField())
    part = Value(max(parts, key=len).lower())
    return documents.annotate(found_at=StrIndex(lowered, part)).filter(found_at__gt=0)


def _count_each(pattern: re.Pattern[str], documents: Any, group_by: Group | None) -> list[_Counted]:
    today = timezone.now().date()
    rows = documents.with_text().select_related("collection__owner").order_by()
    if group_by == "tag":
        rows = rows.prefetch_related("tags")
    counted = []
    for document in rows.iterator(chunk_size=TEXTS_AT_ONCE):
        count = len(find_mentions(pattern, document.text))
        if count:
            date = document_date(document.metadata, document.user_created_at, today=today)
            groups = _groups_of(document, date, group_by) if group_by else ()
            document.text = ""
            counted.append(_Counted(document, count, date, groups))
    return counted


def _groups_of(document: Document, date: str, group_by: Group) -> Sequence[str]:
    match group_by:
        case "tag":
            return [tag.name for tag in document.tags.all()] or [""]
        case "month":
            return [date[: len("2024-01")]]
        case "sender":
            return [str(document.metadata.get("from", ""))]
        case "source":
            return [document.source]
        case "folder":
            return [(shown_path(document.file_path) or document.source_uri).rpartition("/")[0]]
        case "collection":
            return [document.collection.qualified_name]


def _read_page(
    pattern: re.Pattern[str], listed: Sequence[_Counted], page: slice, unit: Unit
) -> list[Mention]:
    """Return the mentions of a page, with the texts around them."""
    places = (
        (each, number)
        for each in listed
        for number in range(each.mention_count if unit == "mention" else 1)
    )
    wanted: dict[UUID, list[tuple[_Counted, int]]] = {}
    for each, number in islice(places, page.start, page.stop):
        wanted.setdefault(each.document.pk, []).append((each, number))
    texts = Document.objects.filter(pk__in=list(wanted)).with_text().order_by()
    found: dict[UUID, list[Mention]] = {}
    for document in texts.only("pk").iterator(chunk_size=TEXTS_AT_ONCE):
        key, text = document.pk, document.text
        spans = find_mentions(pattern, text)
        found[key] = [_mention_of(each, text, *spans[number]) for each, number in wanted[key]]
    return [mention for key in wanted for mention in found[key]]


def _mention_of(counted: _Counted, text: str, start: int, end: int) -> Mention:
    first = max(text.rfind("\n", 0, start) + 1, start - AROUND_CHARS)
    last = text.find("\n", end)
    last = min(len(text) if last < 0 else last, end + AROUND_CHARS)
    return Mention(
        counted.document, start, end, text[start:end], first, text[first:last],
        counted.date, counted.mention_count,
    )  # fmt: skip
