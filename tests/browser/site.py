"""What is served to the browser, and what it must not do."""

from dataclasses import dataclass, field
from typing import Any

import httpx2
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


@dataclass
class Site:
    """The served installation; ``post`` and ``get`` speak to its REST doors."""

    url: str
    client: httpx2.Client = field(repr=False)

    def ingest(self, text: str, **fields: Any) -> str:
        reply = self.client.post("/ingest", json={"text": text, **fields})
        assert reply.status_code == 201, reply.text
        return str(reply.json()["document_id"])


@dataclass
class Seen:
    """What a page did that it must not: dialogs, requests elsewhere, broken scripts or policy."""

    dialogs: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def assert_accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    serious = [one["id"] for one in found if one["impact"] in {"serious", "critical"}]
    assert serious == [], page.url
