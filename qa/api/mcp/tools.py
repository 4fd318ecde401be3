"""The tools of MCP: list_collections, search, count, fetch, answer and ingest."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar, cast
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.models import QuerySet
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from accounts.audit import record_action
from corpus.api.count_views import CountOutput, read_count
from corpus.api.ingest_views import IngestResponse
from corpus.api.outages import translate_error
from corpus.catalogue import get_or_create_collection
from corpus.characters import is_storable
from corpus.errors import CollectionNotFound, DocumentNotFound, PkbError
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission
from corpus.mentions import MAX_AMOUNT_CHARS, MAX_PHRASE_CHARS, Group
from corpus.models import (
    ALL_COLLECTIONS,
    DEFAULT_COLLECTION,
    MAX_QUALIFIED_NAME_CHARS,
    Chunk,
    Collection,
    Document,
)
from corpus.roots.shown_paths import shown_uri
from corpus.tags import MAX_TAGS, normalize_tags
from qa.answer_question import answer_question
from qa.answer_record import AnswerShown, QuoteRecord, new_answer_record, public_url
from qa.context import build_context
from qa.grounding.disagreement import describe_disagreement
from qa.notices import UNANSWERED, UNSURE
from qa.search_passages import search_passages
from qa.types import Query

RESULT_COUNT = 10
# Characters to give a model at once; a document may be 200 times as long.
MAX_FETCHED_CHARS = 100_000
# In metrics, and as the source of an ingested document.
ROUTE = SOURCE = "mcp"

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def _refuse_unstorable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("contains a character that cannot be stored")
    return text


Storable = Annotated[str, AfterValidator(_refuse_unstorable)]
Words = Annotated[Storable, Field(min_length=1, max_length=2_000)]
AnswerResult = Annotated[CallToolResult, dict[str, Any]]
CollectionArgument = Annotated[
    Storable, Field(description="which collection", max_length=MAX_QUALIFIED_NAME_CHARS)
]
AskedCollections = Annotated[
    Storable,
    Field(
        description="which collection, or `*` for all that you may read",
        max_length=MAX_QUALIFIED_NAME_CHARS,
    ),
]


class ListedCollection(TypedDict):
    name: str
    description: str
    document_count: int


class Collections(TypedDict):
    collections: list[ListedCollection]


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


def as_tool(act: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Run ``act`` as a tool in a thread of its own: translate errors, close connections."""

    @wraps(act)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        try:
            return act(*args, **kwargs)
        except (PkbError, DatabaseError) as exc:
            error = translate_error(exc)
            if error is None:
                raise
            hint = " `list_collections` names those there are."
            message = str(error) or error.title
            raise ToolError(message + hint * isinstance(error, CollectionNotFound)) from exc
        finally:
            connections.close_all()

    return run


@as_tool
def list_collections() -> Collections:
    """List the collections that the other tools may be asked for."""
    rows: QuerySet[Any] = (
        Collection.objects.with_counts().select_related("owner").order_by("name", "pk")
    )
    return {
        "collections": [
            {
                "name": row.qualified_name,
                "description": row.description,
                "document_count": row.document_count,
            }
            for row in rows
        ]
    }


@as_tool
def search(query: Words, collection: AskedCollections = DEFAULT_COLLECTION) -> Results:
    """Find the passages that fit a query best. `fetch` reads one by its id."""
    matches = search_passages(
        Query(query, collection=collection, k=RESULT_COUNT), context=build_context()
    )
    return {
        "results": [
            {
                "id": passage.chunk_id,
                "title": _join_path(passage.name, passage.heading_path),
                "url": public_url(passage.source_uri, passage.document_id),
            }
            for passage in matches.results
        ]
    }


@as_tool
def count(
    phrase: Annotated[Storable, Field(min_length=1, max_length=MAX_PHRASE_CHARS)],
    collection: CollectionArgument = ALL_COLLECTIONS,
    group_by: Group | None = None,
    offset: Annotated[int, Field(ge=0)] = 0,
    amount: Annotated[Storable, Field(max_length=MAX_AMOUNT_CHARS)] = "",
) -> dict[str, Any]:
    """Count exactly how many documents mention a phrase, and how often; `*` is all collections.

    Whole words in any case are counted, no other forms of them. `results` are the documents, each
    with its first mention, the most mentions first; `offset` continues the list. With an `amount`
    such as "over 500 EUR", the documents named by the phrase ("invoices") that state it are
    counted, the largest amount first, each with the date that it states; `unclear_count` documents
    state no one amount.
    """
    found = read_count(
        query=phrase,
        amount=amount,
        collection=collection,
        group_by=group_by,
        offset=offset,
        wants_all=False,
    )
    return dict(CountOutput(found).data)


@as_tool
def fetch(id: str) -> Fetched:
    """Read a passage by the id that `search` gave, or a whole document by its document_id."""
    try:
        uuid = UUID(id)
    except ValueError as exc:
        raise DocumentNotFound(f"{id!r} is not an id.") from exc
    metadata: dict[str, Any]
    chunk = Chunk.objects.shown().select_related("document").filter(pk=uuid).first()
    document = (
        chunk.document if chunk else Document.objects.with_text().stored().filter(pk=uuid).first()
    )
    if document is None:
        raise DocumentNotFound(f"There is no passage or document {id!r}.")
    if chunk:
        title = _join_path(document.name, chunk.heading_path)
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
        "url": public_url(document.source_uri, str(document.pk)),
        "metadata": {
            "document_id": str(document.pk),
            "source_uri": shown_uri(document.source_uri, file_path=document.file_path),
            "content_sha256": document.content_sha256,
            **metadata,
        },
    }


@as_tool
def answer(question: Words, collection: AskedCollections = DEFAULT_COLLECTION) -> AnswerResult:
    """Answer a question with verbatim citations, or abstain where the documents do not hold it.

    Where it is not sure, `closest` has the passages that may answer; nothing is claimed of them.
    """
    answered = answer_question(
        question,
        collection=collection,
        k=settings.PKB_RETRIEVAL_K,
        context=build_context(),
        route=ROUTE,
    )
    record = new_answer_record(answered)
    body = json.dumps(AnswerShown(record).data, ensure_ascii=False, default=str)
    texts = [record.notice] if record.notice and not record.abstained else []
    texts += [f"{UNANSWERED} {part}" for part in record.unanswered]
    if record.kind == "unsure":
        texts.append(_format_quotes(UNSURE, record.closest))
    if record.disagreement:
        lead = describe_disagreement(citation.document_date or "" for citation in record.citations)
        texts.append(_format_quotes(lead, record.disagreement))
    # Texts that quote close or disagreeing passages precede the answer object.
    return CallToolResult(
        content=[TextContent(type="text", text=text) for text in (*texts, body)],
        structured_content=json.loads(body),
    )


@as_tool
def ingest(
    text: str,
    title: Annotated[Storable, Field(max_length=512)] = "",
    source_uri: Annotated[Storable, Field(max_length=2_048)] = "",
    tags: Annotated[list[Storable], Field(max_length=MAX_TAGS)] = [],  # noqa: B006  (never changed)
    collection: CollectionArgument = DEFAULT_COLLECTION,
) -> IngestedText:
    """Ingest a text. If the source_uri is known, the text replaces that document."""
    attributes = Attributes(
        title=title, source_uri=source_uri, source=SOURCE, tags=normalize_tags(tags)
    )
    stored = ingest_submission(
        Submission(text, attributes), collection=get_or_create_collection(collection)
    )
    record_action("ingest", subject=stored.document_id)
    return cast("IngestedText", dict(IngestResponse(stored).data))


def _format_quotes(lead: str, quotes: Sequence[QuoteRecord]) -> str:
    lines = [lead]
    for number, quote in enumerate(quotes, start=1):
        title = _join_path(quote.name, quote.heading_path)
        url = public_url(quote.source_uri, quote.document_id or "")
        place = ", ".join(filter(None, [title, quote.document_date, url]))
        lines.append(f'[{number}] "{quote.whole_text}" ({place})')
    return "\n".join(lines)


def _join_path(name: str, heading_path: Iterable[str]) -> str:
    return " > ".join(dict.fromkeys((name, *heading_path)))
