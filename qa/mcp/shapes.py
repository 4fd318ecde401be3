"""What tools return; the two first are as ChatGPT's connectors ask for them."""

from typing import Any

from typing_extensions import TypedDict


class Result(TypedDict):
    id: str
    title: str
    url: str


class Results(TypedDict):
    results: list[Result]


class Fetched(TypedDict):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]


class IngestedText(TypedDict):
    document_id: str
    chunk_ids: list[str]
    chunk_count: int
    tags: list[str]
    collection: str
