"""Keyset pagination of documents, in the order of a column."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db.models import BooleanField, F, Func, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Lower

from corpus.characters import is_storable
from corpus.errors import InvalidInput
from corpus.times import is_storable_time

if TYPE_CHECKING:
    from corpus.models import Document
    from corpus.querysets import DocumentQuerySet

# Each has an index together with the id.
SORTS: Mapping[str, Combinable] = {
    "name": Lower("title"),
    "type": F("media_type"),
    "size": F("size_bytes"),
    "pages": F("page_count"),
    "added": F("created_at"),
    "state": F("status"),
}
# Larger lists are only shown to have more.
COUNT_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """The start or end of a page: the sort value and the id of a document."""

    value: str | int | datetime
    document_id: UUID

    def encode(self) -> str:
        value = self.value.isoformat() if isinstance(self.value, datetime) else self.value
        return base64.urlsafe_b64encode(
            json.dumps([value, str(self.document_id)]).encode()
        ).decode()

    @classmethod
    def decode(cls, cursor: str, *, sort: str) -> Self:
        """Decode a cursor that ``encode`` wrote.

        Raises:
            InvalidInput: It is not a cursor of a list in this order.
        """
        try:
            value, document_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
            return cls(_checked(value, sort), UUID(document_id))
        except (ValueError, TypeError, AttributeError, RecursionError) as exc:
            raise InvalidInput(
                "Invalid cursor: it does not belong to this list.", field="cursor"
            ) from exc


def _checked(value: Any, sort: str) -> str | int | datetime:
    if sort == "added":
        moment = datetime.fromisoformat(value)
        if moment.utcoffset() is None or not is_storable_time(moment):
            raise ValueError(value)
        return moment
    if sort in {"size", "pages"}:
        if type(value) is not int or not 0 <= value < 2**31:
            raise ValueError(value)
        return value
    if type(value) is not str or not is_storable(value):
        raise ValueError(value)
    return value


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of a list; ``previous`` and ``next`` are cursors, or empty."""

    documents: list[Document]
    previous: str = ""
    next: str = ""


def fetch_page(
    rows: DocumentQuerySet,
    *,
    sort: str,
    descending: bool,
    size: int,
    after: str = "",
    before: str = "",
) -> DocumentPage:
    """Return the documents after or before a cursor.

    Args:
        sort: One of ``SORTS``.
        after, before: Cursors of this list; ``after`` wins if both are given.

    Raises:
        InvalidInput: A cursor is of another list.
    """
    backwards = bool(before and not after)
    cursor = after or before
    found = rows.annotate(sorted_by=SORTS[sort])
    upwards = descending == backwards
    if cursor:
        found = found.filter(_beyond(Cursor.decode(cursor, sort=sort), sort, upwards=upwards))
    order = ("sorted_by", "pk") if upwards else ("-sorted_by", "-pk")
    documents = list(found.order_by(*order)[: size + 1])
    has_more = len(documents) > size
    documents = documents[:size]
    if backwards:
        documents.reverse()
    has_next, has_previous = (bool(cursor), has_more) if backwards else (has_more, bool(cursor))
    return DocumentPage(
        documents,
        _cursor_at(documents[0]).encode() if has_previous and documents else "",
        _cursor_at(documents[-1]).encode() if has_next and documents else "",
    )


def count_up_to_limit(rows: DocumentQuerySet) -> int:
    """Count documents up to ``COUNT_LIMIT`` + 1."""
    return rows.order_by()[: COUNT_LIMIT + 1].count()


def _cursor_at(document: Any) -> Cursor:
    return Cursor(document.sorted_by, document.pk)


def _beyond(cursor: Cursor, sort: str, *, upwards: bool) -> Func:
    """Return ``(column, id) > (value, id)`` as one condition, which the index answers."""
    here = Func(SORTS[sort], F("pk"), template="(%(expressions)s)")
    there = Func(Value(cursor.value), Value(cursor.document_id), template="(%(expressions)s)")
    return Func(
        here,
        there,
        template="(%(expressions)s)",
        arg_joiner=" > " if upwards else " < ",
        output_field=BooleanField(),
    )
