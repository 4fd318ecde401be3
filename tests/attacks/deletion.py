"""What of a deleted document can still be read."""

from typing import Any
from urllib.parse import quote

import httpx2

from tests.attacks.target import Outcome, Target

CANARY = (
    "The orchard of Tindle was planted by Marigold Ottermole in 1911. Marigold Ottermole kept "
    "quince and medlar there, and wrote that quinces from Tindle keep for eleven weeks in straw."
)
CANARY_TITLE = "Orchards of Tindle"
CANARY_QUESTION = "How long do quinces from Tindle keep in straw?"
# Words of the document that no question has.
CANARY_WORDS = ("ottermole", "medlar", "eleven weeks", "orchards of tindle")


async def read_deleted(target: Target) -> Outcome:
    """Ask about a document at every door, delete it, and look for its words everywhere."""
    outcome = Outcome()
    async with target.client() as client:
        body = {"text": CANARY, "title": CANARY_TITLE, "tags": ["canary"]}
        stored = (await client.post("/ingest", json=body)).json()
        left = [*await ask_everywhere(client), "/documents", "/jobs", "/tags", "/collections"]
        left += [f"/documents/{stored['document_id']}", f"/chunks/{stored['chunk_ids'][0]}"]
        left += ["/ui/library", "/ui/quality", f"/ui/search?q={quote(CANARY_QUESTION)}", "/metrics"]
        left += [f"/documents/{stored['document_id']}/text", "/ui/ask"]
        deleted = await client.delete(f"/documents/{stored['document_id']}")
        outcome.check(deleted.status_code == 204, f"DELETE {deleted.status_code}")
        for path in left:
            text = (await client.get(path)).text.lower()
            found = [word for word in CANARY_WORDS if word in text]
            outcome.check(not found, f"{path}: {found}")
        for reply in [await asked for asked in questions(client)]:
            found = [word for word in CANARY_WORDS if word in reply.text.lower()]
            outcome.check(not found, f"{reply.url.path}: {found}")
    return outcome


def questions(client: httpx2.AsyncClient) -> list[Any]:
    chat = {"model": "pkb/default", "messages": [{"role": "user", "content": CANARY_QUESTION}]}
    return [
        client.get("/answer", params={"q": CANARY_QUESTION}),
        client.post("/ask", json={"question": CANARY_QUESTION, "stream": False}),
        client.post("/chat", json={"question": CANARY_QUESTION}),
        client.post("/search", json={"query": CANARY_QUESTION}),
        client.post("/v1/chat/completions", json=chat),
    ]


async def ask_everywhere(client: httpx2.AsyncClient) -> list[str]:
    """Ask at each door; returns the addresses of what was kept of the answers."""
    kept = []
    for reply in [await asked for asked in questions(client)]:
        if reply.url.path in {"/answer", "/ask"}:
            kept.append(f"/answers/{reply.json()['id']}")
        if "Location" in reply.headers:
            kept.append(reply.headers["Location"])
    return kept
