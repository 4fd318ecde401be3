"""The kinds of requests that ``growth.py`` times."""

import random
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client
from synthetic_corpus import NAME, SHARES, make_vocabulary

from corpus.models import Chunk

Request = Callable[[], Any]

# Names of tags and metadata, rarest first.
BY_SHARE = {share: f"share{share}" for share in reversed(SHARES)}


def percent(share: int) -> str:
    """Return one in ``share`` as a percentage: ``.01 %``."""
    return f"{100 / share:g} %".removeprefix("0")


class Kinds:
    """The requests, by kind; each call of one asks something else, the same for every corpus."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311
        self._client = Client(raise_request_exception=False)
        self._client.force_login(get_user_model().objects.get())
        self._words = make_vocabulary()
        self._texts = list(Chunk.objects.order_by("document__title", "ordinal")[:200])
        self._ids = count(seed * 1_000_000)

    def all(self) -> dict[str, Request]:
        return {**self._lists(), **self._searches(), **self._writes(), **self._pages()}

    def _lists(self) -> dict[str, Request]:
        paths = {
            "GET /health": "/health",
            "GET /tags": "/tags",
            "GET /tags/{name}": "/tags/share2",
            "GET /collections": "/collections",
            "GET /collections/{name}": f"/collections/{NAME}",
            "GET /documents/stats": f"/documents/stats?collection={NAME}",
            "GET /documents": "/documents",
            "GET /documents?tag=, of 10 documents": "/documents?tag=few",
            "GET /documents?tag=, of half": "/documents?tag=share2",
        }
        plain = {kind: partial(self._client.get, path) for kind, path in paths.items()}
        return plain | {
            "GET /documents?q=, a rare word": lambda: self._mentioning(20_000, 100_000),
            "GET /documents?q=, a frequent word": lambda: self._mentioning(100, 200),
            "GET /documents?q=, no such word": lambda: self._client.get("/documents?q=qqqq"),
            "POST /count, a rare word": lambda: self._count(20_000, 100_000),
            "POST /count, a frequent word": lambda: self._count(100, 200),
            "POST /count, the most frequent word": lambda: self._count(0, 1),
        }

    def _count(self, first: int, end: int) -> Any:
        body = {"query": self._draw(1, first, end), "collection": NAME}
        return self._client.post("/count", body, content_type="application/json")

    def _mentioning(self, first: int, end: int) -> Any:
        return self._client.get("/documents", {"q": self._draw(1, first, end)})

    def _searches(self) -> dict[str, Request]:
        few = {"type": "eq", "key": "few", "value": True}
        one_in_thousand = {"type": "eq", "key": "unit", "value": "unit 7"}
        years = {"type": "lt", "key": "year", "value": 1951}
        some = {"type": "in", "key": "unit", "value": ["unit 7", "unit 8"]}
        not_half = {"type": "ne", "key": "share2", "value": True}
        return {
            "POST /search, 7 words of a chunk": self._search,
            "POST /search, 5 frequent words": lambda: self._search(self._draw(5, 100, 1_000)),
            "POST /search, 4 words of 5 % and more": lambda: self._search(self._draw(4, 20, 200)),
            "POST /search, semantic": lambda: self._search(mode="semantic"),
            "POST /search, lexical": lambda: self._search(mode="lexical"),
            "POST /search, tag of 10 documents": lambda: self._search(tags=["few"]),
            **{
                f"POST /search, tag of {percent(share)}": partial(self._search, tags=[tag])
                for share, tag in BY_SHARE.items()
            },
            "POST /search, metadata of 10 documents": lambda: self._search(filters=few),
            **{
                f"POST /search, metadata of {percent(share)}": partial(
                    self._search, filters={"type": "eq", "key": name, "value": True}
                )
                for share, name in BY_SHARE.items()
            },
            "POST /search, metadata of .1 %": lambda: self._search(filters=one_in_thousand),
            "POST /search, metadata in, .2 %": lambda: self._search(filters=some),
            "POST /search, metadata less than, 1.4 %": lambda: self._search(filters=years),
            "POST /search, metadata ne, half": lambda: self._search(filters=not_half),
        }

    def _draw(self, word_count: int, first: int, end: int) -> str:
        """Return words of these frequency ranks; 0 is the most frequent."""
        return " ".join(self._chance.sample(self._words[first:end], word_count))

    def _search(self, query: str = "", **body: Any) -> Any:
        words = self._chance.choice(self._texts).text.rstrip(".").split()
        given = {
            "query": query or " ".join(self._chance.sample(words, 7)),
            "collection": NAME, "top_k": 10, "rerank": False, **body,
        }  # fmt: skip
        return self._client.post("/search", given, content_type="application/json")

    def _writes(self) -> dict[str, Request]:
        kept: list[str] = []

        def ingest() -> Any:
            words = [self._chance.choice(self._words) for _ in range(100)]
            body = {"text": f"{next(self._ids)} {' '.join(words)}.", "collection": NAME}
            made = self._client.post("/ingest", body, content_type="application/json")
            kept.append(made.json().get("document_id", ""))
            return made

        return {
            "POST /ingest": ingest,
            "DELETE /documents/{id}": lambda: self._client.delete(f"/documents/{kept.pop()}"),
        }

    def _pages(self) -> dict[str, Request]:
        paths = {
            "page: library": "/ui/library",
            "page: library by name": "/ui/library?sort=name",
            "page: library by type": "/ui/library?sort=-type",
            "page: library by size, of 10 documents": "/ui/library?sort=-size&tag=few",
            "page: library with a word": f"/ui/library?q={self._words[30_000]}",
            "admin: collections": "/admin/corpus/collection/",
            "admin: documents": "/admin/corpus/document/",
            "admin: chunks": "/admin/corpus/chunk/",
            "admin: first page": "/admin/",
        }
        return {kind: partial(self._client.get, path) for kind, path in paths.items()}
