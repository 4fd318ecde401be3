"""Count in which stored texts a phrase is mentioned, and where: exactly, and all of them.

A mention is the phrase as whole words, in any case. White space in it matches any white space, line
breaks too. Other forms of a word are other words: "invoices" mentions no "invoice".

Postgres leaves the texts that contain the longest part of the phrase, and Python finds the mentions
in them. The word index would miss some: it has "example.org/billing" as one word, no stop words,
and nothing of tags such as ``<code>``.

Amounts are counted in documents that a noun names: in their title, file, folder, tag or collection.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.db.models import Q, TextField, Value
from django.db.models.functions import Collate, Lower, StrIndex
from django.utils import timezone

from corpus.amounts import (
    Amount,
    AmountRange,
    StatedDate,
    compile_noun,
    find_amounts,
    find_date,
    parse_range,
)
from corpus.characters import normalize, widen_to_characters
from corpus.errors import InvalidInput
from corpus.filters import Filter
from corpus.lexical import SPACELESS
from corpus.loaders.metadata import document_date
from corpus.models import Collection, Document, DocumentContent, Tag
from corpus.postgres import one_snapshot
from corpus.roots.shown_paths import shown_path

Group = Literal["tag", "month", "sender", "source", "folder", "collection"]
Sort = Literal["mentions", "name", "date"]
Unit = Literal["document", "mention", "unclear"]
GROUPS: Sequence[Group] = ("tag", "month", "sender", "source", "folder", "collection")
SORTS: Sequence[Sort] = ("mentions", "name", "date")
UNITS: Sequence[Unit] = ("document", "mention", "unclear")
MAX_PHRASE_CHARS = 200
MAX_AMOUNT_CHARS = 100
# What may name a document, beside its tags and its collection.
_NAMING = ("title", "file_words", "file_path", "source_uri")
# Characters before and after a mention that are shown, within its line.
AROUND_CHARS = 80
# Texts in memory at once: each has up to 20 million characters.
TEXTS_AT_ONCE = 20
# Characters that are written in several ways, the last as Greek capitals are in lower case.
_ALIKE = {each: kind for kind in ("'\u2019", "\u2010\u2011-", "\u03c3\u03c2") for each in kind}
_IS_SPACELESS = re.compile(f"[{SPACELESS}]")
# A letter, digit or underscore that joins the words beside it.
_OF_WORD = rf"[^\W{SPACELESS}]"


class Mention(NamedTuple):
    """Characters ``start:end`` of a document's text, and what stands around it in its line.

    Attributes:
        context: ``text[context_start:context_end]``; includes the mention.
        date: Of its document; if amounts are counted, the one that the text states.
        mention_count: Of its document.
        amount: What the characters state, if amounts are counted.
        stated_date: Where the text states the date, if amounts are counted.
    """

    document: Document
    start: int
    end: int
    quote: str
    context_start: int
    context: str
    date: str
    mention_count: int
    amount: Amount | None = None
    stated_date: StatedDate | None = None

    @property
    def context_end(self) -> int:
        return self.context_start + len(self.context)

    @property
    def before(self) -> str:
        return self.context[: self.start - self.context_start]

    @property
    def after(self) -> str:
        return self.context[self.end - self.context_start :]


@dataclass(slots=True)
class GroupCount:
    """Counts of a group; its name is empty for documents without one."""

    name: str
    document_count: int = 0
    mention_count: int = 0


@dataclass(frozen=True, slots=True)
class MentionCount:
    """All mentions of a phrase, or amounts in a range, in the documents that were asked for.

    Attributes:
        phrase: As it was looked for; of amounts, the noun that names the documents.
        searched_count: Documents whose text was searched; of amounts, those that are named so.
        unread_count: Documents without a text, which could not be searched.
        groups: The largest first. A document counts in each group that it belongs to.
        results: One page of the list.
        result_count: Length of the whole list.
        unclear_count: Documents that are named so, but state no one amount, or another currency.
        currency: Of the amounts; empty if phrases are counted.
    """

    phrase: str
    document_count: int
    mention_count: int
    searched_count: int
    unread_count: int
    groups: Sequence[GroupCount]
    results: Sequence[Mention]
    result_count: int
    unclear_count: int = 0
    currency: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """Mentions or amounts found, by document id.

    Attributes:
        counts: Of mentions.
        spans: Returns them, of a document and its text.
        amounts, dates: Of the mentions, if amounts are counted.
        unclear: Documents whose amount is not clear.
    """

    counts: Mapping[UUID, int]
    spans: Callable[[UUID, str], Sequence[tuple[int, int]]]
    searched_count: int
    amounts: Mapping[UUID, Amount] = field(default_factory=dict)
    dates: Mapping[UUID, StatedDate | None] = field(default_factory=dict)
    unclear: Sequence[UUID] = ()
    currency: str = ""


def compile_phrase(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase in lower case, whose words are separated by single spaces.

    It begins with a literal, which Python finds faster than one behind an assertion.
    """
    first, *others = (
        "".join(f"[{_ALIKE[each]}]" if each in _ALIKE else re.escape(each) for each in word)
        for word in phrase.split(" ")
    )
    before = "" if _IS_SPACELESS.match(phrase[0]) else rf"(?<!{_OF_WORD}{first})"
    behind = "" if _IS_SPACELESS.match(phrase[-1]) else rf"(?!{_OF_WORD})"
    return re.compile(r"\s+".join([first + before, *others]) + behind)


def find_mentions(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return the spans of a phrase in a text; none cuts a mark from its letter."""
    lowered = _to_lower(text)
    spans = [match.span() for match in pattern.finditer(lowered)]
    if text.isascii():
        return spans
    return [span for span in spans if widen_to_characters(text, *span) == span]


def _to_lower(text: str) -> str:
    """Return a text in lower case, of the same length."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := each.lower()) == 1 else each for each in text)


@one_snapshot()
def count_mentions(
    query: str,
    *,
    amount: str = "",
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
        amount: Such as "over 500 EUR": count documents named by the phrase that state it instead.
        collection: None: all collections.
        unit: What the list consists of: each document by its first mention, or each mention; of
            amounts, also the documents whose amount is unclear, by their first line.
        sort: ``mentions``: the most first; of amounts, the largest first.
        limit: Length of the page from ``offset`` on; None: all.

    Raises:
        InvalidInput: The phrase has no letter or digit, or is too long. The amount is no comparison
            with one, or names no currency though the documents state several.
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
    stored = asked.stored()
    found = _find_amounts(phrase, stored, amount) if amount else _find_phrase(phrase, stored)
    counts = found.counts

    def date_of(document: Document) -> str:
        stated = found.dates.get(document.pk)
        return (stated.value if stated else "") if amount else _date_of(document)

    documents = _read_documents(counts, with_tags=group_by == "tag")
    groups: dict[str, GroupCount] = {}
    for document in documents:
        for name in _groups_of(document, group_by, date_of(document)) if group_by else ():
            group = groups.setdefault(name, GroupCount(name))
            group.document_count += 1
            group.mention_count += counts[document.pk]
    listed, listed_counts = documents, counts
    if unit == "unclear":
        listed = _read_documents(found.unclear, with_tags=False)
        listed_counts = dict.fromkeys(found.unclear, 1)
    listed.sort(key=lambda each: (each.name.lower(), each.pk))
    if sort == "mentions" and unit != "unclear":
        sizes = {key: each.value for key, each in found.amounts.items()} if amount else counts
        listed.sort(key=lambda each: -sizes[each.pk])
    elif sort == "date":  # the newest first, those without a date last
        listed.sort(key=date_of, reverse=True)
    total = sum(counts.values())
    end = None if limit is None else offset + limit
    page = _read_page(found.spans, listed, listed_counts, slice(offset, end), unit)
    return MentionCount(
        phrase=phrase,
        document_count=len(counts),
        mention_count=total,
        searched_count=found.searched_count,
        unread_count=asked.filter(content_sha256="").count(),
        groups=sorted(groups.values(), key=lambda each: (-each.document_count, each.name)),
        results=[
            each._replace(
                date=date_of(each.document),
                amount=found.amounts.get(each.document.pk),
                stated_date=found.dates.get(each.document.pk),
            )
            for each in page
        ],
        result_count=total if unit == "mention" else len(listed),
        unclear_count=len(found.unclear),
        currency=found.currency,
    )


def _find_phrase(phrase: str, stored: Any) -> _Found:
    pattern = compile_phrase(_to_lower(phrase))
    texts = _containing(phrase, stored).order_by().values_list("pk", "content__text")
    found = {
        key: len(find_mentions(pattern, text))
        for key, text in texts.iterator(chunk_size=TEXTS_AT_ONCE)
    }
    counts = {key: count for key, count in found.items() if count}
    return _Found(counts, lambda _, text: find_mentions(pattern, text), stored.count())


def _find_amounts(noun: str, stored: Any, comparison: str) -> _Found:
    """Find the documents named by a noun whose amount is in a range."""
    wanted = parse_range(comparison)
    if wanted is None:
        raise InvalidInput(
            "Give a comparison with an amount, such as “over 500 EUR”, “at most $1,000” or"
            " “between 100 and 200 EUR”.",
            field="amount",
        )
    keys = _named(noun, stored)
    texts = stored.filter(pk__in=keys).order_by().values_list("pk", "content__text")
    readings: dict[UUID, list[Amount]] = {}
    dates: dict[UUID, StatedDate | None] = {}
    for key, text in texts.iterator(chunk_size=TEXTS_AT_ONCE):
        readings[key], dates[key] = find_amounts(text), find_date(text)
    currencies = {each.currency for amounts in readings.values() for each in amounts}
    if not wanted.currency and len(currencies) > 1:
        raise InvalidInput(
            f"The amounts are in {' and '.join(sorted(currencies))}, which are not compared. Name a"
            " currency.",
            field="amount",
        )
    currency = wanted.currency or "".join(currencies)
    outcomes = {key: _compare(amounts, wanted, currency) for key, amounts in readings.items()}
    amounts = {key: readings[key][-1] for key, outcome in outcomes.items() if outcome}
    return _Found(
        counts=dict.fromkeys(amounts, 1),
        spans=lambda key, text: [
            amounts[key].span if key in amounts else (0, len(text[:AROUND_CHARS].split("\n")[0]))
        ],
        searched_count=len(keys),
        amounts=amounts,
        dates=dates,
        unclear=[key for key, outcome in outcomes.items() if outcome is None],
        currency=currency,
    )


def _compare(amounts: Sequence[Amount], wanted: AmountRange, currency: str) -> bool | None:
    """Return whether all readings of an amount are in a range; None if they differ, or none is."""
    outcomes = {each.value in wanted for each in amounts if each.currency == currency}
    has_other = any(each.currency != currency for each in amounts)
    return None if has_other or len(outcomes) != 1 else outcomes.pop()


def _named(noun: str, stored: Any) -> list[UUID]:
    """Return the keys of documents that have a noun in title, path, tag or collection."""
    pattern = compile_noun(noun)
    collections = Collection.objects.values_list("pk", "name")
    tags = [name for name in Tag.objects.values_list("name", flat=True) if pattern.search(name)]
    tagged = set(stored.tagged(tags).values_list("pk", flat=True) if tags else ())
    likely = Q(pk__in=tagged)
    likely |= Q(collection__in=[key for key, name in collections if pattern.search(name)])
    # The singular and the plural begin alike; Postgres may not fold the case of other letters.
    first, *others = noun.split()
    stem = first if others else first[: max(1, len(first) - len("ies"))]
    for column in _NAMING:
        likely |= Q(**{f"{column}__icontains": stem if stem.isascii() else ""})
    rows = stored.filter(likely).select_related("collection").order_by()
    return [
        each.pk
        for each in rows.only(*_NAMING, "collection__name").iterator()
        if each.pk in tagged
        or pattern.search(each.collection.name)
        or pattern.search(f"{each.title}\n{each.file_words}\n{_place_of(each)}")
    ]


def _place_of(document: Document) -> str:
    return shown_path(document.file_path) or document.source_uri


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


def _read_documents(keys: Iterable[UUID], *, with_tags: bool) -> list[Document]:
    """Return the documents with what is shown or grouped by."""
    rows = Document.objects.filter(pk__in=list(keys)).only(
        "title", "source_uri", "file_path", "source", "metadata", "user_created_at",
        "content_sha256", "collection_id",
    )  # fmt: skip
    collections = Collection.objects.select_related("owner").in_bulk()
    documents = list(rows.prefetch_related("tags") if with_tags else rows)
    for document in documents:
        document.collection = collections[document.collection_id]
    return documents


def _date_of(document: Document) -> str:
    today = timezone.now().date()
    return document_date(document.metadata, document.user_created_at, today=today)


def _groups_of(document: Document, group_by: Group, date: str) -> Sequence[str]:
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
            return [_place_of(document).rpartition("/")[0]]
        case "collection":
            return [document.collection.qualified_name]


def _read_page(
    spans_of: Callable[[UUID, str], Sequence[tuple[int, int]]],
    documents: Sequence[Document],
    counts: Mapping[UUID, int],
    page: slice,
    unit: Unit,
) -> list[Mention]:
    """Return the mentions of a page, with the texts around them."""
    places = (
        (document, number)
        for document in documents
        for number in range(counts[document.pk] if unit == "mention" else 1)
    )
    wanted: dict[Document, list[int]] = {}
    for document, number in islice(places, page.start, page.stop):
        wanted.setdefault(document, []).append(number)
    texts = DocumentContent.objects.filter(document__in=wanted).values_list("document", "text")
    found: dict[UUID, list[Mention]] = {}
    by_key = {document.pk: document for document in wanted}
    for key, text in texts.iterator(chunk_size=TEXTS_AT_ONCE):
        spans = spans_of(key, text)
        document = by_key[key]
        found[key] = [
            _mention_of(document, text, *spans[number], counts[key]) for number in wanted[document]
        ]
    return [mention for key in by_key for mention in found[key]]


def _mention_of(document: Document, text: str, start: int, end: int, count: int) -> Mention:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end) if "\n" in text[end : end + AROUND_CHARS] else len(text)
    first, last = max(line_start, start - AROUND_CHARS), min(line_end, end + AROUND_CHARS)
    if first > line_start:  # not within a word
        first = text.find(" ", first, start) + 1 or start
    if last < line_end:
        last = max(text.rfind(" ", end, last), end)
    # Marks of headings, lists and tables tell nothing.
    first += len(text[first:start]) - len(text[first:start].lstrip(" \t#>|*-"))
    around = text[first:end] + text[end:last].rstrip(" \t#|*_-")
    return Mention(document, start, end, text[start:end], first, around, _date_of(document), count)
