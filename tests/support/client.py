"""The service as a program or a browser calls it, in this process."""

from typing import Any

from rest_framework.test import APIClient

from corpus.ingestion import StoredDocument
from corpus.models import DEFAULT_COLLECTION, Collection
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
