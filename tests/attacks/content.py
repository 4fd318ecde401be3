"""Texts and values that stop or poison what reads them."""

import asyncio
from base64 import b64encode
from itertools import product
from typing import Any
from urllib.parse import quote

import httpx2

from tests.attacks.overload import QUESTION, TEXT
from tests.attacks.target import Outcome, Target, watched

HEALTH_WITHIN_S = 0.3
SIZES = (40_000, 200_000)
UNITS = (
    " ", "\t", "\n", " \n", ".", "!?", ". ", ")", "'", '"', "[", "](", "`", "|", "| a ", "- ", "#",
    "<", "<a ", "</", "&", "/", "*", "_", "=\n", "a", "a ", "a. ", "a, ", "1.", "1,111,", "\u3002",
    "\u200b", "e\u0301", "\u0301\u0316", "\u1100\u1161", "\ufdfa",
)  # fmt: skip


async def send_hostile_texts(target: Target) -> Outcome:
    """Send texts of one thing over and over to every door that takes a text."""
    outcome = Outcome()
    async with target.client() as client, watched(target) as health:
        for size, unit in product(SIZES, UNITS):
            text = "a " + unit * (size // len(unit)) + "a"
            for path, body in doors(text).items():
                reply = await client.post(path, json=body)
                is_told = reply.status_code < 500 or reply.status_code == 503
                outcome.check(is_told, f"{path} {unit!r}: {reply.status_code}")
    slow = health.worst_s >= HEALTH_WITHIN_S
    outcome.check(not slow, f"/health after {health.worst_s * 1000:.0f} ms")
    outcome.seen = str(health)
    return outcome


def doors(text: str) -> dict[str, dict[str, Any]]:
    return {
        "/ingest": {"text": text},
        "/claims/verify": {"claim": text[:1_000], "text": text},
        "/search": {"query": text},
        "/ask": {"question": text, "stream": False},
        "/ask-selected": {"question": QUESTION, "selected_text": text, "stream": False},
        "/v1/embeddings": {"model": "pkb", "input": text},
        "/v1/rerank": {"model": "pkb", "query": QUESTION, "documents": [text]},
    }


POISON: list[dict[str, Any]] = [
    {"created_at": "0001-01-01T00:00:00+14:00"},
    {"created_at": "9999-12-31T23:59:59-14:00"},
    {"created_at": "0001-01-01T00:00:00Z"},
    {"created_at": "1e999"},
    {"title": "a\0b"},
    {"title": "\ud800"},
    {"title": "\u202e\u0007" * 200},
    {"tags": ["\0"]},
    {"tags": ["../..", "%00", "a" * 64]},
    {"source": "\x1b[2J"},
    {"source_uri": "javascript:alert(1)"},
    {"source_uri": "file:///etc/passwd"},
    {"metadata": {"x": "\0"}},
    {"metadata": {"\0": 1}},
    {"metadata": {"x": 10**4_000}},
    {"metadata": {"x": float("1e308")}},
    {"metadata": {str(number): number for number in range(5_000)}},
    {"collection": "a\0b"},
]  # fmt: skip
READING = (
    "/documents", "/documents/stats", "/collections", "/tags", "/jobs", "/health", "/ui/library",
    "/ui/ask", "/ui/jobs", "/v1/models", f"/answer?q={quote(QUESTION)}", "/ui/search?q=lighthouse",
)  # fmt: skip


async def poison(target: Target) -> Outcome:
    """Store values at the edge of what is possible, and read everything after each."""
    outcome = Outcome()
    async with target.client() as client:
        for number, values in enumerate(POISON):
            body = {"text": f"{TEXT} It is note {number} of them.", **values}
            reply = await post_json(client, body)
            outcome.check(reply.status_code < 500, f"{values!r:.60}: {reply.status_code}")
            if reply.status_code not in {200, 201}:
                continue
            document_id = reply.json()["document_id"]
            own = (f"/documents/{document_id}", f"/ui/documents/{document_id}")
            for path in (*READING, *own):
                status = (await client.get(path)).status_code
                outcome.check(status == 200, f"{values!r:.60}, then {path}: {status}")
    return outcome


async def post_json(client: httpx2.AsyncClient, body: dict[str, Any]) -> httpx2.Response:
    import json  # noqa: PLC0415  (httpx2's own refuses lone surrogates)

    content = json.dumps(body).encode()
    return await client.post(
        "/ingest", content=content, headers={"Content-Type": "application/json"}
    )


NULS = (
    "/collections/%00", "/tags/%00", "/documents/%00", "/v1/models/pkb%2F%00", "/chat/%00",
    "/documents?tag=%00", "/documents?q=%00", "/answer?q=a&tag=%00", "/answer?q=%00",
    "/ui/library?tag=%00", "/ui/library?q=%00", "/ui/search?q=a&tag=%00", "/admin/login/?next=%00",
    "/schema?version=%00", "/schema?format=yaml&version=%00", "/static/%00", "/ui/documents/%00",
)  # fmt: skip
POSITIONS = (
    "p=abc", "p=", "p=infinity", "p=\0", "p=5", "p=0001-01-01T00:00:00%2B14:00", "p=9999-12-31",
    "p=-1", "p=" + "9" * 5_000, "r=1&p=x", "o=x&p=x", "\ud83d\ude00",
)  # fmt: skip
LISTS = ("/documents", "/collections", "/jobs", "/tags")
BODIES = (
    b'{"text": 1e999}', b'{"metadata": {"x": 1e999}}', b'{"x": NaN}', b"[" * 100_000,
    b'{"a":' * 90_000, b'{"metadata": ' + b"[" * 900 + b"]" * 900 + b"}", b"\xff\xfe", b"\0", b"{",
    b'"' + b"x" * 10_000 + b'"', b'{"text": "\\ud800"}', b"1" * 6_000,
)  # fmt: skip


async def damage_requests(target: Target) -> Outcome:
    """Send NUL, damaged cursors and bodies that are no sensible JSON."""
    outcome = Outcome()
    cursors = [quote(b64encode(each.encode("utf-8", "surrogatepass"))) for each in POSITIONS]
    async with target.client() as client:
        paths = [*NULS, *(f"{path}?cursor={cursor}" for path, cursor in product(LISTS, cursors))]
        for path in paths:
            status = (await client.get(path)).status_code
            outcome.check(status < 500, f"GET {path:.60}: {status}")
        told = await asyncio.gather(
            *(
                client.post(path, content=body, headers={"Content-Type": "application/json"})
                for path, body in product(("/ingest", "/search", "/ask", "/mcp", "/chat"), BODIES)
            )
        )
        for reply in told:
            is_told = reply.status_code < 500 or reply.status_code == 503
            outcome.check(is_told, f"POST {reply.url.path}: {reply.status_code}")
    return outcome
