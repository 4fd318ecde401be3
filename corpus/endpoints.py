"""Declare endpoints beside their views: name, required scope, cost and documentation.

Each view declares its methods with ``@endpoint``. The OpenAPI document, access control, admission
and the audit log read the declarations from the URLconf (``pkb.http.endpoint_lookup``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from corpus.access.principal import Scope

EXAMPLE_QUESTION = "How often should a drift check run?"
EXAMPLE_TEXT = "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."

View = TypeVar("View", bound=Callable[..., Any])


class Cost(StrEnum):
    """Cost class of a request. Requests of one class share a queue."""

    ANSWER = "answer"  # a question or claim: models use all cores
    SEARCH = "search"  # a search, or a page drawn from a file: one core for a moment
    ENCODE = "encode"  # ingest, embed or rerank a text or file
    LOGIN = "login"  # check a password: one core for 0.2 s
    REPLAY = "replay"  # replay a stream: cheap, but it lasts minutes
    IDENTIFY = "identify"  # look up a key or login: one query
    HEALTH = "health"  # health checks of load balancers
    ANONYMOUS = "anonymous"  # any request without a login, where one is required
    LIGHT = "light"  # all other requests


class BodySize(StrEnum):
    """Maximum size of a request body."""

    SMALL = "small"  # 64 KiB, for forms that need no login
    TEXT = "text"  # PKB_MAX_BODY_BYTES
    FILE = "file"  # PKB_MAX_FILE_BYTES, if it is multipart


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of a view.

    Attributes:
        id: Operation id in the OpenAPI document and the audit log; empty for pages.
        tag: Section of the OpenAPI document.
        example: Example of a request body.
        scope: Required scope. None: ``read`` for safe methods, else ``ingest``.
        is_open: No login is required.
        writes: It stores something although its method is safe.
    """

    id: str = ""
    tag: str = ""
    summary: str = ""
    example: Mapping[str, Any] | None = None
    scope: Scope | None = None
    is_open: bool = False
    cost: Cost = Cost.LIGHT
    body: BodySize = BodySize.TEXT
    writes: bool = False


def endpoint(**by_method: Endpoint) -> Callable[[View], View]:
    """Declare the methods of a view: ``@endpoint(GET=Endpoint(...))`` on its class or function."""

    def declare(view: View) -> View:
        view.endpoints = by_method  # type: ignore[attr-defined]
        return view

    return declare
