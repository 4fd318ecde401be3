"""Whoever is let in sees what is theirs and what they were granted, and of all else no trace."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Q
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.authentication import principal_of
from corpus.access.principal import ANONYMOUS, SYSTEM, Principal, acting_as
from corpus.errors import PkbError
from corpus.models import Document
from qa.api.mcp.tools import answer, fetch, search
from tests.support.database import execute
from tests.support.operations import list_operations
from tests.support.users import Tenant, call

pytestmark = pytest.mark.usefixtures("login_required")
CANARIES = ("marigold", "ottermol", "zinnia")


def routes(patterns: Any, before: str = "/") -> Iterator[str]:
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, before + str(each.pattern))
        elif isinstance(each, URLPattern):
            yield before + str(each.pattern)


# Streams run on threads, whose connections see nothing of a test's transaction (test_chat_api).
STREAMS = {"/chat", "/v1/chat/completions", "/v1/responses"}
# What counts requests, and so differs from one to the next: for admins.
COUNTERS = {"/metrics"}
ROUTES = sorted(
    route
    for route in set(routes(get_resolver().url_patterns))
    if not route.startswith(("/admin", "/static", "/ui/log")) and route not in STREAMS | COUNTERS
)
EXAMPLES: dict[str, Any] = {}
METHODS: dict[str, set[str]] = {}
for label, operation in list_operations().items():
    method, _, path = label.partition(" ")
    EXAMPLES[path] = operation.example or EXAMPLES.get(path, {})
    METHODS.setdefault(path, set()).add(method.lower())


def unnamed(route: str) -> str:
    return re.sub("<[^>]*>", "{}", route)


def fill(route: str, ids: dict[str, str]) -> str:
    """Put ids in their places, and where a place may be for several of them, each in turn."""

    def value(match: re.Match[str]) -> str:
        converter, name = match.groups()
        return ids.get(name) or ("1" if converter == "int" else ids["document_id"])

    return re.sub(r"<(?:(\w+):)?(\w+)>", value, route)


# What differs from one request to the next, whoever asks.
_CHANGING = re.compile(
    r'csrfmiddlewaretoken" value="\w+"|X-CSRFToken": "\w+"|X-CSRFTOKEN"] = "\w+"'
    r'|"(?:took_ms|latency_ms|timestamp|(?:created|updated)_at|id|uptime)":[^,}]+'
    r"|/watched/\d+"
)


def told(send: Any, path: str, method: str, ids: dict[str, str], *, form: bool) -> Any:
    """What a request is answered, with the ids taken out; whatever it did is undone."""
    example = EXAMPLES.get(unnamed(path), {})
    named = {"collection": ids["name"], "tag": "ottermol", "tags": ["ottermol"]}
    words = {"q": "marigold", "query": "marigold", "question": "Where is the marigold key?"}
    body = {**named, **words} if form or method == "get" else {**example, **named}
    with transaction.atomic():
        reply = send(method, fill(path, ids), body)
        content = b"".join(reply.streaming_content) if reply.streaming else reply.content
        transaction.set_rollback(True)
    text = content.decode(errors="replace")
    for name, value in ids.items():
        text = text if value.isdigit() else text.replace(value, f"<{name}>")
    kept = {name: value for name, value in reply.headers.items() if name not in {"X-Request-ID"}}
    text = _CHANGING.sub("", text)
    return reply.status_code, text, kept.get("WWW-Authenticate"), kept.get("Content-Type")


def nothing_of(ids: dict[str, str]) -> dict[str, str]:
    """Ids of the same form that nobody has."""
    return {
        name: "nosuch@ida"
        if name == "name"
        else "9" * len(value)
        if value.isdigit()
        else str(uuid4())
        for name, value in ids.items()
    }


def traces(otto: Tenant, ida: Tenant) -> list[Any]:
    """What tells Otto, at any door, that Ida has something."""
    pages = Client(raise_request_exception=False)
    pages.force_login(otto.user)

    def as_script(method: str, path: str, body: dict[str, Any]) -> Any:
        return call(otto.key, method, path, **body)

    def as_person(method: str, path: str, body: dict[str, Any]) -> Any:
        return getattr(pages, method)(path, body)

    nothing = nothing_of(ida.ids)
    found = []
    for route in ROUTES:
        is_page = route.startswith("/ui") or route == "/"
        send = as_person if is_page else as_script
        for method in sorted(METHODS.get(unnamed(route), {"get", "post"})):
            theirs = told(send, route, method, ida.ids, form=is_page)
            nobodys = told(send, route, method, nothing, form=is_page)
            said = re.sub("marigold|ottermol", "", str(theirs)) if "q=" in str(theirs) else theirs
            if theirs != nobodys or any(word in str(said) for word in CANARIES[2:]):
                found.append((method, route, theirs, nobodys))
    return found


def test_nothing_tells_another_user_what_somebody_has(ida: Tenant, otto: Tenant) -> None:
    assert len(ROUTES) > 90
    assert call(ida.key, "get", f"/documents/{ida.ids['document_id']}").status_code == 200
    assert traces(otto, ida) == []


def test_rows_are_hidden_even_where_a_filter_is_forgotten(
    ida: Tenant, otto: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = lambda function: Q(pk__isnull=False)  # noqa: E731
    monkeypatch.setattr("corpus.models.collection._is_among", everything)
    assert traces(otto, ida) == []


def agent_is_told(tool: Any, **arguments: str) -> str:
    """What a tool replies, without the ids that were sent."""
    try:
        said = str(tool.__wrapped__(**arguments))  # in the test's own connection
    except PkbError as exc:
        said = f"{type(exc).__name__}: {exc}"
    for value in arguments.values():
        said = said.replace(value, "<sent>")
    return said


def test_agents_are_told_as_little(ida: Tenant, otto: Tenant) -> None:
    nothing = nothing_of(ida.ids)
    with acting_as(principal_of(otto.user)):
        for name in ("document_id", "chunk_id"):
            theirs, nobodys = (agent_is_told(fetch, id=ids[name]) for ids in (ida.ids, nothing))
            assert theirs == nobodys
        for tool, words in ((search, "query"), (answer, "question")):
            theirs, nobodys = (
                agent_is_told(tool, **{words: "Where is the key?", "collection": ids["name"]})
                for ids in (ida.ids, nothing)
            )
            assert theirs == nobodys


def policed() -> set[str]:
    query = "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity"
    return {name for (name,) in execute(query)}


def has_rows(table: str) -> bool:
    return bool(execute(f"SELECT FROM {table} LIMIT 1"))


def test_every_table_with_what_people_keep_is_policed() -> None:
    tables = {
        name
        for name in connection.introspection.table_names()
        if name.startswith(("corpus_", "qa_", "evaluation_"))
    }
    # Without a word of content, read by the policies themselves, and written by a trigger alone.
    assert tables - policed() == {"corpus_collectionaccess"}


def test_who_is_nobody_sees_no_row_and_writes_none(ida: Tenant, otto: Tenant) -> None:
    kept = set(filter(has_rows, policed()))
    assert len(kept) > 15
    for principal in (ANONYMOUS, principal_of(otto.user), Principal(user_id=10**9)):
        with acting_as(principal):
            assert set(filter(has_rows, kept)) == set()
            assert Document.objects.all().update(title="mine") == 0
            assert Document.objects.all()._raw_delete("default") == 0
    for principal in (SYSTEM, principal_of(ida.user)):
        with acting_as(principal):
            assert Document.objects.get().title == "Marigold"
