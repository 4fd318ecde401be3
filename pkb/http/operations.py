"""What operations of the API are called, and by which task they are listed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

# Tasks in the order of the page, with what they are for.
TASKS = {
    "Ask": "Questions, answers with proved citations, and what someone thinks of them.",
    "Search": "Passages without an answer, and checking a claim.",
    "Documents": "Taking in, reading and deleting documents, their chunks and tags.",
    "Collections": "What is searched together, by one embedding model.",
    "Jobs": "Work in the background.",
    "Index scripts": "The calls of scripts that say index for collection.",
    "OpenAI": "The same for clients of OpenAI and Cohere.",
    "Service": "How the service itself is.",
}


class Operation(NamedTuple):
    """How an operation is shown.

    Attributes:
        id: What clients that are made from the document call it.
        example: A body that it takes.
    """

    id: str
    task: str
    summary: str
    example: Mapping[str, Any] | None = None


_QUESTION = "How often should a drift check run?"
_BAVOKE = "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."

_RULE = {"name": "invoices", "path": "invoices/*", "words": ["IBAN"], "tags": ["invoice"]}

OPERATIONS = {
    "GET /answer": Operation("answer", "Ask", "Answer a question"),
    "GET /answers/{}": Operation("get_answer", "Ask", "Read a stored answer"),
    "POST /answers/{}/feedback": Operation(
        "give_feedback", "Ask", "Say whether an answer was good", {"rating": "up"}
    ),
    "POST /ask": Operation("ask", "Ask", "Ask within a session", {"question": _QUESTION}),
    "POST /ask-selected": Operation(
        "ask_selected",
        "Ask",
        "Ask about a text that is sent along",
        {"question": "Who built the lighthouse?", "selected_text": _BAVOKE},
    ),
    "POST /chat": Operation(
        "chat", "Ask", "Ask, and read the answer as it is proved", {"question": _QUESTION}
    ),
    "GET /chat/{}": Operation("resume_chat", "Ask", "Read the events of a chat again"),
    "GET /sessions": Operation("list_sessions", "Ask", "List kept conversations"),
    "GET /sessions/{}": Operation("get_session", "Ask", "Read a kept conversation"),
    "PATCH /sessions/{}": Operation(
        "rename_session", "Ask", "Rename a kept conversation", {"name": "Lighthouses"}
    ),
    "DELETE /sessions/{}": Operation("delete_session", "Ask", "Delete a conversation"),
    "POST /search": Operation(
        "search",
        "Search",
        "Find passages",
        {
            "query": "skew between training and serving",
            "top_k": 5,
            "filters": {"type": "gte", "key": "word_count", "value": 100},
        },
    ),
    "POST /claims/verify": Operation(
        "verify_claim",
        "Search",
        "Tell whether a claim is held up",
        {"claim": "Orsolya Quill built the lighthouse.", "text": _BAVOKE},
    ),
    "POST /ingest": Operation(
        "ingest",
        "Documents",
        "Take in a text, a file or a folder",
        {"text": _BAVOKE, "title": "Bavoke", "tags": ["coast"]},
    ),
    "GET /documents": Operation("list_documents", "Documents", "List documents"),
    "GET /documents/{}": Operation("get_document", "Documents", "Read a document's attributes"),
    "DELETE /documents/{}": Operation("delete_document", "Documents", "Delete a document"),
    "GET /documents/{}/text": Operation("get_text", "Documents", "Read a document's text"),
    "GET /documents/{}/original": Operation(
        "get_original", "Documents", "Read the file that a document was made from"
    ),
    "GET /documents/{}/pages/{}": Operation(
        "get_page", "Documents", "Read a page of a PDF as an image"
    ),
    "GET /documents/{}/chunks": Operation("list_chunks", "Documents", "List a document's chunks"),
    "GET /chunks/{}": Operation("get_chunk", "Documents", "Read a chunk"),
    "GET /documents/stats": Operation("get_stats", "Documents", "Count documents and chunks"),
    "GET /tags": Operation("list_tags", "Documents", "List tags"),
    "GET /tags/{}": Operation("get_tag", "Documents", "Read a tag's counts"),
    "DELETE /tags/{}": Operation("delete_tag", "Documents", "Take a tag off everything"),
    "GET /rules": Operation("list_rules", "Documents", "List rules that tag documents"),
    "POST /rules": Operation("add_rule", "Documents", "Keep a rule", _RULE),
    "POST /rules/try": Operation("try_rule", "Documents", "Tell what a rule would do", _RULE),
    "PATCH /rules/{}": Operation(
        "change_rule", "Documents", "Change a rule", {"tags": ["invoice", "2026"]}
    ),
    "DELETE /rules/{}": Operation("delete_rule", "Documents", "Remove a rule"),
    "GET /collections": Operation("list_collections", "Collections", "List collections"),
    "POST /collections": Operation(
        "create_collection",
        "Collections",
        "Make a collection",
        {"name": "manuals", "description": "Of the machines in the hall."},
    ),
    "GET /collections/{}": Operation("get_collection", "Collections", "Read a collection"),
    "PATCH /collections/{}": Operation(
        "change_collection", "Collections", "Change a collection", {"description": "Manuals."}
    ),
    "GET /collections/{}/access": Operation(
        "get_access", "Collections", "Tell who may do what with a collection"
    ),
    "POST /collections/{}/access": Operation(
        "grant",
        "Collections",
        "Let a user or a group read, write or own it",
        {"user": "ida", "role": "reader"},
    ),
    "PATCH /collections/{}/access": Operation(
        "publish", "Collections", "Let every user read it, or no longer", {"is_public": True}
    ),
    "DELETE /collections/{}/access/{}": Operation(
        "take_back_grant", "Collections", "Take a grant back"
    ),
    "DELETE /collections/{}": Operation("delete_collection", "Collections", "Delete a collection"),
    "GET /jobs": Operation("list_jobs", "Jobs", "List jobs"),
    "GET /jobs/{}": Operation("get_job", "Jobs", "Read a job"),
    "POST /jobs/{}/retry": Operation("retry_job", "Jobs", "Queue a job again"),
    "POST /jobs/{}/cancel": Operation("cancel_job", "Jobs", "Stop a job"),
    "GET /sources": Operation("list_sources", "Jobs", "List sources that are mirrored"),
    "POST /sources/{}/sync": Operation(
        "sync_source", "Jobs", "Mirror a source", {"emptied": False}
    ),
    "GET /sites": Operation("list_sites", "Documents", "List sites that are kept in step"),
    "POST /sites": Operation(
        "keep_site",
        "Documents",
        "Bring in a site or a page, and keep it in step",
        {"url": "https://docs.example.org/guide/", "depth": 2, "every_hours": 24},
    ),
    "GET /sites/{}": Operation("get_site", "Documents", "Read a site"),
    "DELETE /sites/{}": Operation("remove_site", "Documents", "Keep a site no more"),
    "POST /sites/{}/refresh": Operation("refresh_site", "Documents", "Bring a site in anew"),
    "POST /create": Operation(
        "create_index", "Index scripts", "Make an index", {"index_name": "manuals"}
    ),
    "POST /encode_doc": Operation(
        "encode_doc",
        "Index scripts",
        "Take in a file of the server",
        {"document_path": "feature-stores.md", "index_name": "default"},
    ),
    "POST /encode_batch": Operation(
        "encode_batch",
        "Index scripts",
        "Mirror a folder of the server",
        {"directory_path": "manuals", "index_name": "default"},
    ),
    "POST /query": Operation(
        "query", "Index scripts", "Search an index", {"query": _QUESTION, "index_name": "default"}
    ),
    "POST /v1/chat/completions": Operation(
        "create_chat_completion",
        "OpenAI",
        "Answer a conversation",
        {"model": "pkb/default", "messages": [{"role": "user", "content": _QUESTION}]},
    ),
    "POST /v1/responses": Operation(
        "create_response",
        "OpenAI",
        "Answer a question or a conversation",
        {"model": "pkb/default", "input": _QUESTION},
    ),
    "POST /v1/embeddings": Operation(
        "create_embeddings",
        "OpenAI",
        "Embed texts",
        {"model": "bge-small-en-v1.5+all-MiniLM-L6-v2", "input": ["a text"]},
    ),
    "POST /v1/rerank": Operation(
        "rerank",
        "OpenAI",
        "Order texts by a query",
        {"query": "lighthouse", "documents": ["A bakery opens at five.", _BAVOKE]},
    ),
    "POST /v1/vector_stores/{}/search": Operation(
        "search_vector_store",
        "OpenAI",
        "Find passages of a collection",
        {"query": "skew between training and serving", "max_num_results": 5},
    ),
    "GET /v1/vector_stores": Operation(
        "list_vector_stores", "OpenAI", "List collections as vector stores"
    ),
    "GET /v1/vector_stores/{}": Operation(
        "get_vector_store", "OpenAI", "Read a collection as a vector store"
    ),
    "GET /v1/models": Operation("list_models", "OpenAI", "List collections as models"),
    "GET /v1/models/{}": Operation("get_model", "OpenAI", "Read a collection as a model"),
    "GET /health": Operation("get_health", "Service", "Tell whether the service is alive"),
    "GET /ready": Operation("get_ready", "Service", "Tell whether the service is ready"),
    "GET /status": Operation("get_status", "Service", "Tell what the service is at"),
    "GET /audit": Operation("list_events", "Service", "Read the record of who did what"),
    "GET /metrics": Operation("get_metrics", "Service", "Read the metrics"),
}
