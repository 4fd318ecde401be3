"""pkb without HTTP: views and below, on the database that the server filled."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

import django
from driver import HITS, Documents, parse_options, serve

django.setup()

from rest_framework.test import APIClient  # noqa: E402

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402


class InProcess:
    ways = ("in process",)

    def __init__(self) -> None:
        self.api = APIClient(SERVER_NAME="localhost")

    def load(self, documents: Documents) -> None:
        """Do nothing: the server has ingested them."""

    def ask(self, question: str, *, way: str) -> Iterable[str]:
        body = {"query": question, "top_k": HITS}
        reply = self.api.post("/search", body, format="json").json()
        return [hit["metadata"]["key"] for hit in reply["results"]]


if __name__ == "__main__":
    parse_options()
    with acting_as(SYSTEM):
        serve(InProcess())
