"""The tools for agents, called by the SDK's own client over both transports."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import unwrap
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from django.conf import settings
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent

from corpus.catalogue import create_collection
from corpus.models import Collection
from qa.api.mcp.mcp_server import build_server, forwarding
from qa.api.mcp.tools import list_collections
from qa.notices import UNSURE
from qa.types import Answer
from tests.support.documents import (
    BAKERY,
    DATED_ANSWER,
    FIRST_SENTENCE,
    LAST_SENTENCE,
    LIGHTHOUSE,
    LIGHTHOUSE_QUESTION,
    OTHERWISE_ANSWER,
    SHORT_ANSWER,
    UNSURE_ANSWER,
    answered,
)
from tests.support.processes import PAGES, ROOT

pytestmark = pytest.mark.slow

Use = Callable[[Client], Awaitable[Any]]

READING = {"list_collections", "search", "count", "fetch", "answer"}


def using(server: Any, use: Use) -> Any:
    async def run() -> Any:
        async with Client(server) as client:
            return await use(client)

    return asyncio.run(run())


def call(server: Any, tool: str, **arguments: Any) -> CallToolResult:
    result: CallToolResult = using(server, lambda client: client.call_tool(tool, arguments))
    return result


def read(result: CallToolResult) -> Any:
    """The one text of a result, as JSON; it equals the structured content."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    parsed = json.loads(content.text)
    assert result.structured_content == parsed
    return parsed


def test_tools_are_described(service: str) -> None:
    listed = using(f"{service}/mcp", lambda client: client.list_tools())
    tools = {tool.name: tool for tool in listed.tools}
    assert set(tools) == READING | {"ingest"}
    assert tools["search"].input_schema["required"] == ["query"]
    assert tools["fetch"].input_schema["required"] == ["id"]
    assert all(tool.description and tool.output_schema for tool in tools.values())
    assert [tools[name].annotations.read_only_hint for name in ("search", "ingest")] == [
        True,
        False,
    ]


def test_what_is_found_can_be_fetched(service: str) -> None:
    server = f"{service}/mcp"
    found = read(call(server, "search", query=LIGHTHOUSE_QUESTION))
    assert set(found) == {"results"}
    best = found["results"][0]
    assert set(best) == {"id", "title", "url"}
    assert best["title"] == "Coast"
    passage = read(call(server, "fetch", id=best["id"]))
    assert set(passage) == {"id", "title", "text", "url", "metadata"}
    assert passage["text"] in LIGHTHOUSE
    document = read(call(server, "fetch", id=passage["metadata"]["document_id"]))
    assert document["text"] == LIGHTHOUSE
    assert document["url"] == f"{PAGES}/ui/documents/{document['id']}" == best["url"]


def test_mentions_are_counted(service: str) -> None:
    found = read(call(f"{service}/mcp", "count", phrase="OIL AND is", group_by="collection"))
    assert (found["document_count"], found["mention_count"]) == (1, 1)
    (first,) = found["results"]
    assert LIGHTHOUSE[first["start_char"] : first["end_char"]] == first["quote"] == "oil and is"
    assert found["groups"] == [{"name": "default", "document_count": 1, "mention_count": 1}]
    found = read(call(f"{service}/mcp", "count", phrase="coasts", amount="over 500 EUR"))
    assert [found[f"{each}_count"] for each in ("document", "searched", "unclear")] == [0, 1, 1]


def test_what_is_taken_in_is_answered(service: str) -> None:
    server = f"{service}/mcp"
    stored = read(call(server, "ingest", text=BAKERY, title="Bakery", tags=["Food"]))
    assert stored["tags"] == ["food"]
    answer = read(call(server, "answer", question="When does the bakery in Lindow open?"))
    assert "five in the morning" in answer["answer"]
    assert answer["citations"][0]["document_id"] == stored["document_id"]
    again = call(server, "ingest", text=BAKERY)
    assert again.is_error
    assert stored["document_id"] in str(again.content)


def test_an_abstention_is_no_error(service: str) -> None:
    answer = read(call(f"{service}/mcp", "answer", question="Zxqv blorptang fnimble?"))
    assert (answer["answer"], answer["citations"], answer["abstained"]) == ("", [], True)


WHERE = "(Coast > Towers, https://coast.example/bavoke)"


def told(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> tuple[str, str, Any]:
    """What the tool tells of an answer: in words, as text, as an object."""
    place = "qa.api.mcp.tools"
    monkeypatch.setattr(f"{place}.answer_question", lambda *_, **__: answered(answer))
    monkeypatch.setattr(f"{place}.build_context", lambda: None)
    result = call(build_server(), "answer", question=LIGHTHOUSE_QUESTION)
    words, shown = [content.text for content in result.content if content.type == "text"]
    return words, shown, result.structured_content


def test_an_answer_is_told_with_what_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    words, _, answer = told(monkeypatch, OTHERWISE_ANSWER)
    assert words == f'Your documents disagree:\n[1] "{LAST_SENTENCE}" {WHERE}'
    dated, *_ = told(monkeypatch, DATED_ANSWER)
    lead = "Your documents disagree (the answer is of 2024-05-01):"
    assert dated == f'{lead}\n[1] "{LAST_SENTENCE}" {WHERE.replace(", ", ", 2019, ")}'
    assert [each["quote"] for each in answer["disagreement"]] == [LAST_SENTENCE]


def test_an_answer_about_another_subject_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    words, *_ = told(monkeypatch, replace(SHORT_ANSWER, not_about=("Torvik",)))
    assert words == "Not about Torvik: this is from “Coast”."


def test_an_unsure_answer_names_the_most_relevant_passages(monkeypatch: pytest.MonkeyPatch) -> None:
    words, shown, answer = told(monkeypatch, UNSURE_ANSWER)
    assert words == (f'{UNSURE}\n[1] "{FIRST_SENTENCE}" {WHERE}\n[2] "{LAST_SENTENCE}" {WHERE}')
    assert answer == json.loads(shown)
    assert (answer["kind"], answer["disagreement"]) == ("unsure", None)
    assert [close["quote"] for close in answer["closest"]] == [FIRST_SENTENCE, LAST_SENTENCE]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("fetch", {"id": "no-uuid"}),
        ("fetch", {"id": "6a50f511-3018-4a63-8095-956467a384db"}),
        ("search", {"query": "q", "collection": "absent"}),
        ("search", {"query": ""}),
        ("search", {"query": "a\0"}),
        ("search", {"query": "a", "collection": "\0"}),
        ("answer", {"question": "a\0"}),
        ("fetch", {"id": "\0"}),
        ("ingest", {"text": LIGHTHOUSE, "title": "\0"}),
        ("ingest", {"text": LIGHTHOUSE, "tags": ["\0"]}),
        ("ingest", {"text": "short"}),
        ("answer", {}),
        ("nothing", {}),
    ],
    ids=[
        "no-id",
        "absent-id",
        "collection",
        "empty",
        "nul",
        "nul-collection",
        "nul-question",
        "nul-id",
        "nul-title",
        "nul-tag",
        "short",
        "missing",
        "unknown-tool",
    ],
)
def test_wrong_calls_are_errors_a_model_can_read(
    service: str, tool: str, arguments: dict[str, Any]
) -> None:
    result = call(f"{service}/mcp", tool, **arguments)
    assert result.is_error
    assert "Traceback" not in str(result.content)
    # What nobody expected is told in these words alone.
    assert str(result.content[0].text) != f"Error executing tool {tool}"  # type: ignore[union-attr]


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": PAGES, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "https://www.kb.localhost"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "www.kb.localhost:8443"}, 200),
    ],
    ids=[
        "plain",
        "other-local",
        "own",
        "other-name",
        "cross-site",
        "foreign",
        "null",
        "foreign-host",
        "own-host",
    ],
)
def test_only_allowed_hosts_and_origins_come_in(
    service: str, headers: dict[str, str], status: int
) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    reply = httpx2.post(f"{service}/mcp", json=INITIALIZE, headers={**accept, **headers})
    assert reply.status_code == status
    if status != 200:
        assert reply.headers["Content-Type"] == "application/problem+json"


def test_there_is_nothing_to_get(service: str) -> None:
    reply = httpx2.get(f"{service}/mcp")
    assert (reply.status_code, reply.headers["Allow"]) == (405, "POST")
    assert len(reply.headers["X-Request-ID"]) == len(str(uuid4()))


def test_many_calls_at_once_leave_no_connection_behind(service: str) -> None:
    async def use(client: Client) -> Any:
        calls = [client.call_tool("search", {"query": f"lens {n}"}) for n in range(20)]
        return await asyncio.gather(*calls)

    results = using(f"{service}/mcp", use)
    assert not any(result.is_error for result in results)
    assert httpx2.get(f"{service}/health").json()["database_connected"] is True


def test_the_collections_are_listed(collection: Collection) -> None:
    create_collection("handbook", description="Of the team.")
    listed = unwrap(list_collections)()["collections"]
    assert listed[-1] == {
        "name": "handbook", "description": "Of the team.", "document_count": 0,
    }  # fmt: skip


def test_read_only_has_no_way_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PKB_MCP_READ_ONLY", True)
    listed = using(build_server(), lambda client: client.list_tools())
    assert {tool.name for tool in listed.tools} == READING


def command(database: str, **env: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "mcp"],
        cwd=str(ROOT),
        env={
            **os.environ,
            "DATABASE_URL": database,
            "PKB_DATA_DIR": str(settings.DATA_DIR),
            "PKB_MODEL_THREADS": "1",
            **env,
        },
    )


async def list_and_search(client: Client) -> tuple[Any, CallToolResult]:
    found = await client.call_tool("search", {"query": LIGHTHOUSE_QUESTION})
    return await client.list_tools(), found


def test_the_same_tools_speak_over_stdio(service: str, service_database: str) -> None:
    # Of another secret key, the server beside it is not its own.
    alone = command(service_database, PKB_MCP_READ_ONLY="true", PKB_SECRET_KEY="another" * 10)
    listed, found = using(alone, list_and_search)
    assert {tool.name for tool in listed.tools} == READING
    assert read(found)["results"][0]["title"] == "Coast"


def test_over_stdio_the_running_server_does_the_work(
    service: str, service_database: str, tmp_path: Path
) -> None:
    # Without models this process could not search, and it knows of no PKB_PUBLIC_URL.
    beside = command(
        service_database, APP_PORT=service.rsplit(":", 1)[1], PKB_MODEL_DIR=str(tmp_path / "none")
    )

    async def use(client: Client) -> tuple[Any, ...]:
        refused = await client.call_tool("fetch", {"id": "no-uuid"})
        unread = await client.call_tool("fetch", {})
        told = await client.call_tool("answer", {"question": LIGHTHOUSE_QUESTION})
        return *(await list_and_search(client)), told, refused, unread

    listed, found, told, refused, unread = using(beside, use)
    assert {tool.name for tool in listed.tools} == READING | {"ingest"}
    best = read(found)["results"][0]
    assert (best["title"], best["url"].startswith(f"{PAGES}/ui/documents/")) == ("Coast", True)
    assert "Orsolya Quill" in read(told)["answer"]
    for wrong in (refused, unread):
        assert wrong.is_error
        assert wrong.content[0].text.count("Error executing tool fetch") == 1
    assert list(tmp_path.iterdir()) == []


def forwarded(*replies: httpx2.Response | Exception) -> tuple[Callable[..., Any], list[Any]]:
    """A tool with a server that answers so; none is left after the last. And what it was sent."""
    left, sent = list(replies), []

    def reply(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        if isinstance(told := left.pop(0), Exception):
            raise told
        return told

    def connect() -> httpx2.Client | None:
        transport = httpx2.MockTransport(reply)
        return httpx2.Client(base_url="http://kb", transport=transport) if left else None

    def search(query: str) -> str:
        return f"here: {query}"

    return forwarding(search, connect=connect), sent


def test_a_tool_works_here_where_no_server_is_left() -> None:
    tool, sent = forwarded(httpx2.ConnectError("gone"))
    assert [tool(query="a"), tool(query="b")] == ["here: a", "here: b"]
    assert [each["params"] for each in sent] == [{"name": "search", "arguments": {"query": "a"}}]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (httpx2.Response(503, headers={"Retry-After": "7"}), "again in 7 s"),
        (httpx2.ReadTimeout("late"), "did not answer"),
        (httpx2.Response(500, text="<html>"), "did not answer"),
        (httpx2.Response(200, json={"error": {"code": -1}}), "did not answer"),
        (httpx2.Response(200, json=[]), "did not answer"),
    ],
    ids=["busy", "late", "page", "error", "list"],
)
def test_what_a_server_does_not_do_is_not_done_twice(
    reply: httpx2.Response | Exception, told: str
) -> None:
    tool, _ = forwarded(reply)
    with pytest.raises(ToolError, match=told):
        tool(query="a")
