"""Whatever a door takes, every door can show: no stored value stops a list, a page or a search."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as drawing
from hypothesis import strategies as st
from rest_framework import serializers

from corpus.api import collection_views, fields, ingest_views
from corpus.models import Collection
from corpus.vector_index import ensure_vector_index
from pkb.preload import question_models
from qa.api import answer_views, session_views
from qa.models import Answer
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION, ingest_text_of
from tests.support.drawing import examples

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

MODEL = "hashing-64"
# Of each door; all that is shown is read after a round. The first is of the plainest bodies.
ROUNDS, BODIES = 2, 12

characters = st.sampled_from(
    ["a", "Lamp ", "\0", "\x1b", "\x07", "\x85", "\u2028", "\ud800", "\udfff", "\ufeff", "\u202e",
     "\U0010ffff", "e\u0301", "\n", "\t", "\\u0000", "%00", "{{7*7}}", "<b>", "'", '"', ","]
)  # fmt: skip
texts = st.lists(characters, max_size=12).map("".join)
long_texts = st.tuples(texts, st.sampled_from(["", LIGHTHOUSE]), texts).map(" ".join)
times = st.sampled_from(
    ["0001-01-01T00:00:00+14:00", "0001-01-02T00:00:00Z", "9999-12-30T23:59:59Z",
     "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00+23:59", "1883-11-18T12:03:58-04:56:02",
     "2016-12-31T23:59:60Z", "infinity", None]
)  # fmt: skip
numbers = st.sampled_from([0, -1, 1e308, 5e-324, 10**400, -(10**4_000), 2**63, 1.5, True, None])
leaves = st.one_of(texts, numbers, st.just(float("inf")), st.just(float("nan")))
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2)
) | st.integers(1, 60).map(lambda depth: json.loads("[" * depth + "]" * depth))
objects = st.dictionaries(texts, values, max_size=3)


# By the kind of a field; the first that fits.
DRAWN: list[tuple[type, st.SearchStrategy[Any]]] = [
    (fields.UncheckedCharField, long_texts),
    (fields.CollectionNameField, st.just("default") | texts),
    (fields.ZonedDateTimeField, times),
    (serializers.DictField, objects),
    (serializers.ListField, st.lists(texts, max_size=3)),
    (serializers.BooleanField, st.just(False)),
    (serializers.UUIDField, st.none() | st.uuids().map(str)),
    (serializers.IntegerField, st.integers(0, 400)),
    (serializers.FileField, st.tuples(st.sampled_from(["a.md", "a.html", "\x01.txt"]), long_texts)),
    (serializers.CharField, texts | st.just(LIGHTHOUSE_QUESTION)),
]


def drawn_for(field: Any) -> st.SearchStrategy[Any]:
    """Hostile values for a field of a door; a kind that is not known here fails the test."""
    if isinstance(field, serializers.ChoiceField):
        return st.sampled_from(list(field.choices)) | texts
    if isinstance(field, serializers.Serializer):
        return body_for(type(field))
    return next(drawn for kind, drawn in DRAWN if isinstance(field, kind))


def body_for(form: type[serializers.Serializer[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A body that a door reads by this form: what it needs, and some of the rest."""
    drawn = {name: drawn_for(field) for name, field in form().fields.items()}
    needed = {name for name, field in form().fields.items() if field.required}
    rest = {name: each for name, each in drawn.items() if name not in needed}
    return st.fixed_dictionaries({name: drawn[name] for name in needed}, optional=rest)


def send_json(method: str, path: str) -> Any:
    def send(api: Api, body: dict[str, Any], known: dict[str, str]) -> Any:
        # As a client may write it: Infinity as a number too great, surrogates as escapes.
        written = json.dumps(body).replace("Infinity", "1e999")
        sent = {"data": written, "content_type": "application/json"}
        return getattr(api, method)(path.format(**known), **sent)

    return send


def send_form(path: str) -> Any:
    def send(api: Api, body: dict[str, Any], known: dict[str, str]) -> Any:
        fit = {name: fit_for_form(value) for name, value in body.items() if value is not None}
        return api.post(path.format(**known), fit, format="multipart")

    return send


def fit_for_form(value: Any) -> Any:
    if isinstance(value, tuple):
        return SimpleUploadedFile(value[0], value[1].encode(errors="replace"))
    if isinstance(value, list):
        return [fit_for_form(each) for each in value]
    if isinstance(value, dict):
        value = json.dumps(value).replace("Infinity", "1e999")
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def named(field: str) -> st.SearchStrategy[dict[str, Any]]:
    """A collection of which nothing is wrong but perhaps its description."""
    names = st.uuids().map(lambda key: f"c{key.hex}")
    return st.fixed_dictionaries({field: names, "description": texts})


pasted = st.fixed_dictionaries({"text": long_texts, "title": texts, "tags": texts})
WRITES = {
    "a text": (
        st.fixed_dictionaries(
            {"text": long_texts}, optional={"title": texts, "tags": st.just(["drawn"])}
        )
        | body_for(ingest_views.IngestText),
        send_json("post", "/ingest"),
    ),
    "a file": (body_for(ingest_views.IngestFile), send_form("/ingest")),
    "a collection": (
        named("name") | body_for(collection_views.CollectionInput),
        send_json("post", "/collections"),
    ),
    "an index": (
        named("index_name") | body_for(collection_views.IndexInput),
        send_json("post", "/create"),
    ),
    "a change": (
        body_for(collection_views.CollectionUpdate),
        send_json("patch", "/collections/default"),
    ),
    "feedback": (
        body_for(answer_views.FeedbackInput),
        send_json("post", "/answers/{answer}/feedback"),
    ),
    "a question": (body_for(session_views.AskInput), send_json("post", "/ask")),
    "a selection": (body_for(session_views.AskSelectedInput), send_json("post", "/ask-selected")),
    "a pasted text": (pasted, send_form("/ui/library/paste")),
    "tags": (st.fixed_dictionaries({"tags": texts}), send_form("/ui/documents/{document}/tags")),
}
ADMIN = (
    "corpus_collection", "corpus_document", "corpus_chunk", "corpus_tag", "qa_answer",
    "qa_session", "qa_feedback",
)  # fmt: skip


@pytest.fixture
def known(settings: Any, db: None) -> dict[str, str]:
    settings.PKB_EMBEDDING_MODEL = MODEL
    settings.PKB_RERANKER_MODEL = settings.PKB_READER_MODEL = "none"
    for model in question_models():
        model.load()
    ensure_vector_index(model=MODEL, dimension=64)
    Collection.objects.update(embedding_model=MODEL, dimension=64)
    stored = ingest_text_of(Collection.objects.get())(f"{LIGHTHOUSE} It is known.")
    Api().get("/answer", {"q": LIGHTHOUSE_QUESTION})
    return {"document": stored.document_id, "answer": str(Answer.objects.get().pk)}


@contextmanager
def taken_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def unreadable(api: Api, admin: Client) -> list[str]:
    """Return what can no longer be shown."""
    documents_shown = api.get("/documents?limit=200").json().get("results", [])
    keys = [document["id"] for document in documents_shown]
    paths = ["/documents", "/collections", "/tags", "/jobs", "/documents/stats", "/v1/models"]
    paths += ["/ui/library", "/ui/ask", "/ui/search?q=lamp", "/ui/quality", "/health"]
    for key in keys:
        paths += [f"/documents/{key}", f"/documents/{key}/text", f"/documents/{key}/chunks"]
        paths += [f"/ui/documents/{key}"]
    paths += [f"/answers/{key}" for key in Answer.objects.values_list("pk", flat=True)]
    failed = [path for path in paths if api.get(path).status_code != 200]
    shown = [reverse(f"admin:{name}_changelist") for name in ADMIN]
    shown += [reverse("admin:corpus_document_change", args=[key]) for key in keys]
    failed += [path for path in shown if admin.get(path).status_code != 200]
    for path, name in (("/search", "collection"), ("/query", "index_name")):
        if api.post(path, {"query": "lamp", name: "default"}).status_code != 200:
            failed.append(path)
    return failed


@pytest.mark.parametrize("name", WRITES)
def test_what_is_taken_is_shown_by_every_door(
    api: Api, admin_client: Client, known: dict[str, str], name: str
) -> None:
    body, send = WRITES[name]
    taken = 0

    @drawing(
        max_examples=examples(ROUNDS),
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @given(bodies=st.lists(body, min_size=BODIES, max_size=BODIES))
    def are_shown(bodies: list[dict[str, Any]]) -> None:
        nonlocal taken
        with taken_back():
            statuses = [send(api, each, known).status_code for each in bodies]
            assert [
                each for each, status in zip(bodies, statuses, strict=True) if status >= 500
            ] == []
            taken += sum(status < 400 for status in statuses)
            assert unreadable(api, admin_client) == [], bodies

    are_shown()
    assert taken, "nothing that was drawn was taken"
