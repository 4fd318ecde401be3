"""Other sites' pages that write, and paths that lead out of the folders that may be read."""

import asyncio
import contextlib
from pathlib import Path

import httpx2

from tests.attacks.overload import QUESTION, TEXT
from tests.attacks.target import Outcome, Target

FOREIGN = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)
FORBIDDEN = 403


async def write_from_elsewhere(target: Target) -> Outcome:
    """Write and ask as a page of another site would."""
    outcome = Outcome()
    async with target.client() as client:
        before = (await client.get("/documents/stats")).json()
        for headers in FOREIGN:
            for reply in await write_everywhere(client, headers):
                told = f"{headers}: {reply.request.method} {reply.url.path} {reply.status_code}"
                outcome.check(reply.status_code == FORBIDDEN, told)
        after = (await client.get("/documents/stats")).json()
        outcome.check(before == after, "something was written")
        for path in ("/documents", "/", "/ui/ask"):
            reply = await client.get(path, headers={"Host": "evil.example"})
            outcome.check(reply.status_code in {400, 421}, f"Host: {path} {reply.status_code}")
    return outcome


async def write_everywhere(
    client: httpx2.AsyncClient, headers: dict[str, str]
) -> list[httpx2.Response]:
    file = {"file": ("note.md", TEXT.encode())}
    question = {"question": QUESTION}
    return [
        await client.post("/ingest", files=file, headers=headers),
        await client.post("/ingest", json={"text": TEXT}, headers=headers),
        await client.post("/ask", json=question, headers=headers),
        await client.post("/chat", json=question, headers=headers),
        await client.post("/collections", json={"name": "evil"}, headers=headers),
        await client.patch("/collections/default", json={"description": "x"}, headers=headers),
        await client.delete("/collections/default", headers=headers),
        await client.get("/answer", params={"q": QUESTION}, headers=headers),
        await client.post("/v1/chat/completions", json={}, headers=headers),
        await client.post("/mcp", json={}, headers=headers),
        await client.post("/ui/library/paste", data={"text": TEXT}, headers=headers),
        await client.post("/admin/login/", data={"username": "x"}, headers=headers),
    ]


SECRET = "The vault of Ormsund opens with the word heliotrope, and with no other word at all."
SECRET_WORD = "heliotrope"
OUTSIDE = (
    "/etc/passwd",
    "../secret.md",
    "..%2fsecret.md",
    "sub/../../secret.md",
    "/proc/self/environ",
)
# Files of a folder whose last is swapped for a link once the job has listed them.
LISTED = 60
JOB_POLLS = 600
JOB_POLL_S = 0.1


async def read_elsewhere(target: Target) -> Outcome:
    """Name files outside the root, hidden ones and links, and swap a file while a job runs."""
    outcome = Outcome()
    if target.root is None:
        outcome.seen = "no root is known: not tried"
        return outcome
    secret = target.root.parent / "secret.md"
    secret.write_text(SECRET)
    paths = [*OUTSIDE, *make_traps(target.root, secret)]
    async with target.client() as client:
        for path in paths:
            for named in (path, str(target.root / path)):
                body = {"index_name": "default", "document_path": named}
                reply = await client.post("/encode_doc", json=body)
                is_refused = 400 <= reply.status_code < 500
                outcome.check(is_refused, f"{named}: {reply.status_code}")
        await swap_while_listed(client, target.root, secret)
        # The word is in no text but the secret: it alone would be found by it.
        found = (await client.post("/search", json={"query": f'"{SECRET_WORD}"'})).text
        outcome.check(SECRET_WORD not in found.partition("results")[2], "the secret is found")
        shown = [await client.get(path) for path in ("/documents", "/jobs", "/ui/library")]
        for reply in shown:
            is_kept = str(target.root.parent) not in reply.text
            outcome.check(is_kept, f"{reply.url.path} shows where the root is")
    return outcome


def make_traps(root: Path, secret: Path) -> list[str]:
    """Put links and hidden files below the root; returns their relative names."""
    (root / ".hidden").mkdir(exist_ok=True)
    (root / ".hidden" / "note.md").write_text(SECRET)
    (root / ".env").write_text(SECRET)
    for name, to in (("link.md", secret), ("folder", secret.parent)):
        with contextlib.suppress(FileExistsError):
            (root / name).symlink_to(to)
    return [".env", ".hidden/note.md", "link.md", "folder/secret.md", f"folder/{root.name}/.env"]


async def swap_while_listed(client: httpx2.AsyncClient, root: Path, secret: Path) -> None:
    folder = root / "many"
    folder.mkdir(exist_ok=True)
    for number in range(LISTED):
        (folder / f"note-{number:03}.md").write_text(f"{TEXT} Copy {number} of the note.")
    last = folder / "zzz.md"
    last.write_text(f"{TEXT} It is the last.")
    body = {"index_name": "default", "directory_path": str(folder)}
    reply = await client.post("/encode_batch", json=body)
    await asyncio.sleep(JOB_POLL_S)
    last.unlink()
    last.symlink_to(secret)
    job = reply.json().get("job_id", "")
    for _ in range(JOB_POLLS):
        state = (await client.get(f"/jobs/{job}")).json().get("status", "")
        if state not in {"queued", "running", "pending", "started"}:
            return
        await asyncio.sleep(JOB_POLL_S)
