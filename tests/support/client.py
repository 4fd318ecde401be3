"""The service as a program or a browser calls it, in this process."""

import json
import re
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client
from rest_framework.test import APIClient

from corpus.ingestion.document_writer import StoredDocument
from corpus.models import DEFAULT_COLLECTION, Collection, Job
from tests.support.documents import LIGHTHOUSE_QUESTION, ingest_text_of


class Api(APIClient):
    """Sends JSON unless a format is named; answers 500 instead of raising, as the server does."""

    default_format = "json"

    def __init__(self, **headers: str) -> None:
        super().__init__(raise_request_exception=False, headers=headers)

    def ingest(self, text: str, **attributes: Any) -> StoredDocument:
        """Store a text in the default collection, past the limits of a request."""
        collection = Collection.objects.get_named(DEFAULT_COLLECTION)
        return ingest_text_of(collection)(text, **attributes)

    def ask(self, question: str = LIGHTHOUSE_QUESTION, **fields: Any) -> Any:
        """Return the reply to POST /ask, or /ask-selected where a text is selected."""
        path = "/ask-selected" if "selected_text" in fields else "/ask"
        return self._read(self.post(path, {"question": question, **fields}))

    def answer(self, question: str = LIGHTHOUSE_QUESTION, **parameters: Any) -> Any:
        """Return the reply to GET /answer."""
        return self._read(self.get("/answer", {"q": question, **parameters}))

    def search(self, query: str = LIGHTHOUSE_QUESTION, **body: Any) -> Any:
        """Return the results of POST /search."""
        return self._read(self.post("/search", {"query": query, **body}))["results"]

    def page(self, path: str, **query: Any) -> str:
        """Return a page of the web app."""
        reply = self.get(path, query)
        assert reply.status_code == 200, reply.content
        return str(reply.content.decode())

    def _read(self, reply: Any) -> Any:
        assert reply.status_code == 200, reply.content
        return reply.json()


@dataclass(frozen=True)
class Sent:
    """An event of a stream."""

    id: str
    kind: str
    body: Any


@dataclass(frozen=True)
class Stream:
    """The reply to POST /chat, read to its end."""

    status: int
    headers: Any
    text: str

    @property
    def events(self) -> list[Sent]:
        pattern = r"id: (\d+)\nevent: (\w+)\ndata: (.+)\n\n"
        return [Sent(i, kind, json.loads(data)) for i, kind, data in re.findall(pattern, self.text)]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def said(self) -> str:
        return "".join(event.body["content"] for event in self.events if event.kind == "chunk")


def read(method: str, path: str, *arguments: Any, **options: Any) -> Stream:
    async def send() -> Stream:
        response = await getattr(AsyncClient(), method)(path, *arguments, **options)
        parts = [part async for part in response] if response.streaming else [response.content]
        return Stream(response.status_code, response.headers, b"".join(parts).decode())

    return async_to_sync(send)()


def chat(question: str = LIGHTHOUSE_QUESTION, path: str = "/chat", **fields: Any) -> Stream:
    return read("post", path, {"question": question, **fields}, content_type="application/json")


def again(location: str, *, after: str = "") -> Stream:
    """Read a stream that was read before, behind the event with that id."""
    return read("get", location, headers={"Last-Event-ID": after} if after else {})


def upload(client: Client, name: str, content: bytes, **fields: str) -> Job:
    """Send a file to the library, as its page does."""
    sent = {"file": SimpleUploadedFile(name, content), **fields}
    reply = client.post("/ui/library/upload", sent, headers={"accept": "application/json"})
    assert reply.status_code == 202, reply.content
    return Job.objects.get(pk=reply.json()["job_id"])
