"""What an endpoint declares beside its view: its name, who may call it, and what it costs.

A view declares it by method, once; the OpenAPI document, access, admission and the audit log
read it from the URLconf (``pkb.http.endpoints``).
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
    """Requests of one cost share a queue."""

    ANSWER = "answer"  # a question or a claim: models take all cores
    SEARCH = "search"  # or a file that is read, and a page of it drawn: a core, for a moment
    ENCODE = "encode"  # a text or file that is ingested, embedded or ranked
    LOGIN = "login"  # a password is tried: a core for .2 s, whoever sends it
    REPLAY = "replay"  # a stream that is read again: hardly anything, but for minutes
    IDENTIFY = "identify"  # a key or login is looked up: a query
    HEALTH = "health"  # asked by load balancers: never behind others
    STRANGER = "stranger"  # anything by a caller that is not known, where a login is required
    LIGHT = "light"  # anything else


class Body(StrEnum):
    """How large the body of a request may be."""

    SMALL = "small"  # 64 KiB: a form that strangers send
    TEXT = "text"  # PKB_MAX_BODY_BYTES
    FILE = "file"  # PKB_MAX_FILE_BYTES, if it is multipart


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of a view.

    Attributes:
        id: Of the operation in the OpenAPI document and the audit log; empty for pages.
        tag: The section of the OpenAPI document.
        example: A body that it takes.
        scope: Of a key or login that may call it. None: to read for a safe method, else to ingest.
        is_open: Anybody may call it, without a login.
        writes: It stores something though its method is safe.
    """

    id: str = ""
    tag: str = ""
    summary: str = ""
    example: Mapping[str, Any] | None = None
    scope: Scope | None = None
    is_open: bool = False
    cost: Cost = Cost.LIGHT
    body: Body = Body.TEXT
    writes: bool = False


def endpoint(**by_method: Endpoint) -> Callable[[View], View]:
    """Declare the methods of a view: ``@endpoint(GET=Endpoint(...))`` on its class or function."""

    def declare(view: View) -> View:
        view.endpoints = by_method  # type: ignore[attr-defined]
        return view

    return declare
