"""Parser and content negotiation of the API."""

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

PROBLEM_TYPE = "application/problem+json"


class ObjectParser(JSONParser):
    """Accepts only JSON objects."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            parsed = super().parse(stream, media_type, parser_context)
        except RecursionError as exc:
            raise ParseError("The JSON is nested too deeply.") from exc
        if not isinstance(parsed, dict):
            raise ParseError("The body must be a JSON object.")
        return parsed


class ProblemNegotiation(DefaultContentNegotiation):
    """Treats a client that accepts problem details as one that accepts JSON."""

    def get_accept_list(self, request: Request) -> list[str]:
        accepted: list[str] = super().get_accept_list(request)
        extra = ["application/json"] if PROBLEM_TYPE in accepted else []
        return [*accepted, *extra]
