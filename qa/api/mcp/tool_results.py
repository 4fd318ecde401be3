"""Results of the tools: passages, a passage or document by id, an answer."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from mcp_types import CallToolResult, TextContent
from typing_extensions import TypedDict

from corpus.errors import DocumentNotFound
from corpus.models import Chunk, Document
from corpus.roots.shown_paths import shown_uri
from qa.answer_record import QuoteRecord, new_answer_record
from qa.api.serializers import AnswerShown
from qa.context import build_context
from qa.grounding.disagreement import describe_disagreement
from qa.notices import UNANSWERED, UNSURE
from qa.search_passages import search_passages
from qa.types import AnsweredQuestion, Query


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


RESULT_COUNT = 10
# Characters to give a model at once; a document may be 200 times as long.
MAX_FETCHED_CHARS = 100_000


def find_results(query: str, *, collection: str) -> Results:
    """Return the best passages first, each with its chunk's id.

    Raises:
        CollectionNotFound: There is no collection of this name.
        BackendError: A model failed.
    """
    matches = search_passages(
        Query(query, collection=collection, k=RESULT_COUNT),
        mode="hybrid",
        threshold=0.0,
        rerank=True,
        context=build_context(),
    )
    return {
        "results": [
            {
                "id": passage.chunk_id,
                "title": " > ".join(dict.fromkeys((passage.name, *passage.heading_path))),
                "url": _public_url(passage.source_uri, passage.document_id),
            }
            for passage in matches.results
        ]
    }


def fetch_text(key: str) -> Fetched:
    """Return a passage by its chunk's id, or a document by its own id.

    Raises:
        DocumentNotFound: There is no such chunk or document.
    """
    try:
        uuid = UUID(key)
    except ValueError as exc:
        raise DocumentNotFound(f"{key!r} is not an id.") from exc
    metadata: dict[str, Any]
    chunk = Chunk.objects.shown().select_related("document").filter(pk=uuid).first()
    document = (
        chunk.document if chunk else Document.objects.with_text().stored().filter(pk=uuid).first()
    )
    if document is None:
        raise DocumentNotFound(f"There is no passage or document {key!r}.")
    if chunk:
        title = " > ".join(dict.fromkeys((document.name, *chunk.heading_path)))
        text = chunk.text
        metadata = {"start_char": chunk.start_char, "end_char": chunk.end_char, "page": chunk.page}
    else:
        title, text = document.name, document.text[:MAX_FETCHED_CHARS]
        char_count = len(document.text)
        metadata = {"char_count": char_count, "is_cut": char_count > MAX_FETCHED_CHARS}
    return {
        "id": str(uuid),
        "title": title,
        "text": text,
        "url": _public_url(document.source_uri, str(document.pk)),
        "metadata": {
            "document_id": str(document.pk),
            "source_uri": shown_uri(document.source_uri, file_path=document.file_path),
            "content_sha256": document.content_sha256,
            **metadata,
        },
    }


def show_answer(answered: AnsweredQuestion) -> CallToolResult:
    """Return the answer object, preceded by a text that quotes close or disagreeing passages."""
    answer = new_answer_record(answered)
    body = json.dumps(AnswerShown(answer).data, ensure_ascii=False, default=str)
    texts = [f"{UNANSWERED} {part}" for part in answer.unanswered]
    if answer.kind == "unsure":
        texts.append(_format_quotes(UNSURE, answer.closest))
    if answer.disagreement:
        lead = describe_disagreement(citation.document_date or "" for citation in answer.citations)
        texts.append(_format_quotes(lead, answer.disagreement))
    return CallToolResult(
        content=[TextContent(type="text", text=text) for text in (*texts, body)],
        structured_content=json.loads(body),
    )


def _format_quotes(lead: str, quotes: Sequence[QuoteRecord]) -> str:
    lines = [lead]
    for number, quote in enumerate(quotes, start=1):
        title = " > ".join(dict.fromkeys((quote.name, *quote.heading_path)))
        url = _public_url(quote.source_uri, quote.document_id or "")
        place = ", ".join(filter(None, [title, quote.document_date, url]))
        lines.append(f'[{number}] "{quote.whole_text}" ({place})')
    return "\n".join(lines)


def _public_url(source_uri: str, document_id: str) -> str:
    """Return the web page that a document came from, else its page in the web app."""
    if source_uri.startswith(("https://", "http://")):
        return source_uri
    return f"{settings.PKB_PUBLIC_URL}/ui/documents/{document_id}"
