"""Cursor pagination, stable while rows are added or removed."""

from datetime import datetime, timedelta
from typing import Any

from rest_framework import exceptions
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.characters import is_storable
from corpus.times import is_storable_time

MAX_LIMIT = 200
_LIMITS = {str(number) for number in range(1, MAX_LIMIT + 1)}


class CreationPagination(CursorPagination):
    """Oldest first; ``limit`` is 1 to 200, by default 20."""

    page_size = 20
    max_page_size = MAX_LIMIT
    page_size_query_param = "limit"
    ordering: tuple[str, ...] = ("created_at", "pk")
    invalid_cursor_message = "This cursor was not given by this list."

    def get_page_size(self, request: Request) -> int:
        limit = request.query_params.get(self.page_size_query_param, str(self.page_size))
        if limit not in _LIMITS:
            message = f"A whole number from 1 to {self.max_page_size} is needed."
            raise exceptions.ValidationError({self.page_size_query_param: [message]})
        return int(limit)

    def decode_cursor(self, request: Request) -> Any:
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None and cursor.position is not None:
                self.check_position(str(cursor.position))
        except (exceptions.NotFound, ValueError) as exc:
            raise exceptions.ValidationError({"cursor": [self.invalid_cursor_message]}) from exc
        return cursor

    def check_position(self, position: str) -> None:
        """Raise ValueError unless it can be where a page of this list ended: a time in UTC."""
        moment = datetime.fromisoformat(position)
        if moment.utcoffset() != timedelta() or not is_storable_time(moment):
            raise ValueError(position)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": self.page_size}
        return [
            {"name": self.page_size_query_param, "in": "query", "schema": limit},
            {"name": self.cursor_query_param, "in": "query", "schema": {"type": "string"}},
        ]

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.get_next_link()})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {
                "results": schema,
                "next": {"type": ["string", "null"], "format": "uri"},
            },
        }


class NamePagination(CreationPagination):
    ordering = ("name",)

    def check_position(self, position: str) -> None:
        if not is_storable(position):
            raise ValueError(position)


class OrdinalPagination(CreationPagination):
    ordering = ("ordinal",)

    def check_position(self, position: str) -> None:
        # The maximum of the column.
        if not 0 <= int(position) < 2**31:
            raise ValueError(position)


class NewestFirstPagination(CreationPagination):
    ordering = ("-created_at", "-pk")
