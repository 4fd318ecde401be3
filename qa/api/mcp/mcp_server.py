"""The MCP tools and their server."""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from django.conf import settings
from django.db import DatabaseError, connections
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import AfterValidator, Field

from accounts.audit import record_action
from corpus.access.principal import ALL_SCOPES, Scope
from corpus.api.ingest_views import IngestResponse
from corpus.api.outages import translate_error
from corpus.catalogue import get_or_create_collection
from corpus.characters import is_storable
from corpus.errors import PkbError
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission
from corpus.models import DEFAULT_COLLECTION, MAX_QUALIFIED_NAME_CHARS
from corpus.tags import normalize_tags
from qa.answer_question import answer_question
from qa.api.mcp.forwarding import Connect, forwarding
from qa.api.mcp.tool_results import (
    Fetched,
    IngestedText,
    Results,
    fetch_text,
    find_results,
    show_answer,
)
from qa.context import build_context

INSTRUCTIONS = (
    "A knowledge base that answers only from its own documents. `answer` gives a proved answer "
    "with verbatim quotes, or the closest passages where it is not sure, or abstains. `search` "
    "finds passages; `fetch` reads one by its id, or the whole document by its document_id."
)
ROUTE = "mcp"
SOURCE = "mcp"

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


def build_server(
    connect: Connect = lambda: None, *, scopes: frozenset[Scope] = ALL_SCOPES
) -> MCPServer[Any]:
    """Return a server with the tools that the settings and the scopes allow.

    Args:
        connect: Returns a client of the running server to forward to, if there is one.
    """
    server: MCPServer[Any] = MCPServer("pkb", instructions=INSTRUCTIONS, version=settings.VERSION)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in (search, fetch, answer) if Scope.READ in scopes else ():
        server.add_tool(forwarding(tool, connect=connect), annotations=reads)
    if Scope.INGEST in scopes and not settings.PKB_MCP_READ_ONLY:
        adds = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False)
        server.add_tool(forwarding(ingest, connect=connect), annotations=adds)
    return server


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
            raise ToolError(str(error) or error.title) from exc
        finally:
            connections.close_all()

    return run


@as_tool
def search(query: Words, collection: CollectionArgument = DEFAULT_COLLECTION) -> Results:
    """Find the passages that fit a query best. `fetch` reads one by its id."""
    return find_results(query, collection=collection)


@as_tool
def fetch(id: str) -> Fetched:
    """Read a passage by the id that `search` gave, or a whole document by its document_id."""
    return fetch_text(id)


@as_tool
def answer(question: Words, collection: CollectionArgument = DEFAULT_COLLECTION) -> AnswerResult:
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
    return show_answer(answered)


@as_tool
def ingest(
    text: str,
    title: Annotated[Storable, Field(max_length=512)] = "",
    source_uri: Annotated[Storable, Field(max_length=2_048)] = "",
    tags: Annotated[list[Storable], Field(max_length=100)] = [],  # noqa: B006  (never changed)
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
