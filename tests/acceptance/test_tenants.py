"""Whoever is let in sees what is theirs and what they were granted, and of all else no trace."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.db.models import Q
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from accounts.authentication import principal_of
from accounts.keys import make_key
from corpus.access.principal import NOBODY, SYSTEM, Principal, acting_as
from corpus.catalogue import create_collection
from corpus.models import Collection, Document, Grant, IdempotentRequest, Job, WatchedFolder
from corpus.sites.kept import Limits, keep_site
from evaluation.models import Question
from pkb.http.operations import OPERATIONS
from qa.models import Answer, ChatStream, Session
from tests.factories import LIGHTHOUSE, LIGHTHOUSE_QUESTION, ingest_text_of

pytestmark = pytest.mark.django_db
SECRET = f"{LIGHTHOUSE} The marigold key lies under the third stone."
OTTOS = "Otto writes that the ferry to Lindow leaves at noon, and comes back before dark."
CANARIES = ("marigold", "ottermol", "zinnia")
ADDRESS = "https://bavoke.example/zinnia/"
# One for all: each would load the middleware anew.
CALLER = APIClient(raise_request_exception=False)


class Tenant(NamedTuple):
    """A user with all that one may have."""

    user: Any
    key: str
    ids: dict[str, str]


@pytest.fixture(autouse=True)
def required(settings: Any) -> None:
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_FETCH = "https"  # the operations of sites are there


@pytest.fixture
def otto(db: None) -> Tenant:
    user = get_user_model().objects.create_user("otto")
    return Tenant(user, make_key(user, name="otto's", scopes=["read", "ingest"])[1], {})


@pytest.fixture
def ida(db: None, cheap_model: None) -> Tenant:
    user = get_user_model().objects.create_user("ida")
    key = make_key(user, name="ida's", scopes=["read", "ingest"])[1]
    with acting_as(principal_of(user)):
        collection = create_collection("secret", description="of the marigold")
        stored = ingest_text_of(collection)(
            SECRET, title="Marigold", tags=("ottermol",), source_uri=f"{ADDRESS}tower"
        )
        site, _ = keep_site(ADDRESS, Limits(), collection=collection)
        job = Job.objects.create(kind="edit", collection=collection, errors=[{"path": "zinnia"}])
        watched = WatchedFolder.objects.create(collection=collection, path="/srv/zinnia")
        Question.objects.create(collection=collection, text="Where is the marigold key?")
        IdempotentRequest.objects.create(
            key="k1", request_sha256="0" * 64, status=201, body={"text": "marigold"}
        )
    asked = call(key, "post", "/ask", question=LIGHTHOUSE_QUESTION, collection="secret").json()
    with acting_as(principal_of(user)):
        session = Session.objects.create(is_kept=True, name="marigold")
        answer = Answer.objects.get()
        stream = ChatStream.objects.create(session=session, answer=answer)
    call(key, "post", f"/answers/{answer.pk}/feedback", rating="up", comment="zinnia")
    assert asked["sources"]
    return Tenant(
        user,
        key,
        {
            "document_id": stored.document_id,
            "chunk_id": stored.chunk_ids[0],
            "site_id": str(site.pk),
            "job_id": str(job.pk),
            "session_id": str(session.pk),
            "answer_id": str(answer.pk),
            "chat_id": str(stream.pk),
            "folder_id": str(watched.pk),
            "name": "secret@ida",
        },
    )


def call(key: str, method: str, path: str, /, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {key}"}
    kind = {} if method == "get" else {"format": "json"}
    # As there is no transaction round a request but a test's: what Postgres refuses ends there.
    with suppress(Refused), transaction.atomic():
        reply = getattr(CALLER, method)(path, body, headers=headers, **kind)
        if connection.needs_rollback or reply.status_code == 403:
            raise Refused
    return reply


class Refused(Exception):
    """The savepoint of a request goes back."""


def routes(patterns: Any, before: str = "/") -> Iterator[str]:
    for each in patterns:
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, before + str(each.pattern))
        elif isinstance(each, URLPattern):
            yield before + str(each.pattern)


# Streams run on threads, whose connections see nothing of a test's transaction (test_chat_api).
STREAMS = {"/chat", "/v1/chat/completions", "/v1/responses"}
# What counts requests, and so differs from one to the next: for admins.
COUNTERS = {"/metrics"}
ROUTES = sorted(
    route
    for route in set(routes(get_resolver().url_patterns))
    if not route.startswith(("/admin", "/static", "/ui/log")) and route not in STREAMS | COUNTERS
)
EXAMPLES = {
    route: operation.example
    for route, operation in ((key.split()[1], each) for key, each in OPERATIONS.items())
    if operation.example
}


def fill(route: str, ids: dict[str, str]) -> str:
    """Put ids in their places, and where a place may be for several of them, each in turn."""

    def value(match: re.Match[str]) -> str:
        converter, name = match.groups()
        return ids.get(name) or ("1" if converter == "int" else ids["document_id"])

    return re.sub(r"<(?:(\w+):)?(\w+)>", value, route)


# What differs from one request to the next, whoever asks.
_CHANGING = re.compile(
    r'csrfmiddlewaretoken" value="\w+"|X-CSRFToken": "\w+"|X-CSRFTOKEN"] = "\w+"'
    r'|"(?:took_ms|latency_ms|timestamp|(?:created|updated)_at|id|uptime)":[^,}]+'
    r"|/watched/\d+"
)


def told(send: Any, path: str, method: str, ids: dict[str, str], *, form: bool) -> Any:
    """What a request is answered, with the ids taken out; whatever it did is undone."""
    example = EXAMPLES.get(re.sub("<[^>]*>", "{}", path), {})
    named = {"collection": ids["name"], "tag": "ottermol", "tags": ["ottermol"]}
    words = {"q": "marigold", "query": "marigold", "question": "Where is the marigold key?"}
    body = {**named, **words} if form or method == "get" else {**example, **named}
    with transaction.atomic():
        reply = send(method, fill(path, ids), body)
        content = b"".join(reply.streaming_content) if reply.streaming else reply.content
        transaction.set_rollback(True)
    text = content.decode(errors="replace")
    for name, value in ids.items():
        text = text if value.isdigit() else text.replace(value, f"<{name}>")
    kept = {name: value for name, value in reply.headers.items() if name not in {"X-Request-ID"}}
    text = _CHANGING.sub("", text)
    return reply.status_code, text, kept.get("WWW-Authenticate"), kept.get("Content-Type")


def nothing_of(ids: dict[str, str]) -> dict[str, str]:
    """Ids of the same form that nobody has."""
    return {
        name: "nosuch@ida"
        if name == "name"
        else "9" * len(value)
        if value.isdigit()
        else str(uuid4())
        for name, value in ids.items()
    }


def traces(otto: Tenant, ida: Tenant) -> list[Any]:
    """What tells Otto, at any door, that Ida has something."""
    pages = Client(raise_request_exception=False)
    pages.force_login(otto.user)

    def as_script(method: str, path: str, body: dict[str, Any]) -> Any:
        return call(otto.key, method, path, **body)

    def as_person(method: str, path: str, body: dict[str, Any]) -> Any:
        return getattr(pages, method)(path, body)

    nothing = nothing_of(ida.ids)
    found = []
    for route in ROUTES:
        is_page = route.startswith("/ui") or route == "/"
        send = as_person if is_page else as_script
        for method in ("get", "post") if is_page else ("get", "post", "patch", "delete"):
            theirs = told(send, route, method, ida.ids, form=is_page)
            nobodys = told(send, route, method, nothing, form=is_page)
            said = re.sub("marigold|ottermol", "", str(theirs)) if "q=" in str(theirs) else theirs
            if theirs != nobodys or any(word in str(said) for word in CANARIES[2:]):
                found.append((method, route, theirs, nobodys))
    return found


def test_nothing_tells_another_user_what_somebody_has(ida: Tenant, otto: Tenant) -> None:
    assert len(ROUTES) > 90
    assert call(ida.key, "get", f"/documents/{ida.ids['document_id']}").status_code == 200
    assert traces(otto, ida) == []


def test_rows_are_hidden_even_where_a_filter_is_forgotten(
    ida: Tenant, otto: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = lambda function: Q(pk__isnull=False)  # noqa: E731
    monkeypatch.setattr("corpus.models.collection_querysets._is_among", everything)
    assert traces(otto, ida) == []


def policed() -> set[str]:
    query = "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity"
    with connection.cursor() as cursor:
        cursor.execute(query)
        return {name for (name,) in cursor.fetchall()}


def count_rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608
        return int(cursor.fetchone()[0])


def test_every_table_with_what_people_keep_is_policed() -> None:
    tables = {
        name
        for name in connection.introspection.table_names()
        if name.startswith(("corpus_", "qa_", "evaluation_"))
    }
    # Without a word of content, and read by the policies themselves.
    assert tables - policed() == {"corpus_grant", "corpus_collectionaccess"}


def test_who_is_nobody_sees_no_row_and_writes_none(ida: Tenant, otto: Tenant) -> None:
    kept = {table for table in policed() if count_rows(table)}
    assert len(kept) > 15
    for principal in (NOBODY, principal_of(otto.user), Principal(user_id=10**9)):
        with acting_as(principal):
            assert {table: count_rows(table) for table in kept if count_rows(table)} == {}
            assert Document.objects.all().update(title="mine") == 0
            assert Document.objects.all()._raw_delete("default") == 0
    for principal in (SYSTEM, principal_of(ida.user)):
        with acting_as(principal):
            assert Document.objects.get().title == "Marigold"


def grant(ida: Tenant, role: str, **to: str) -> Any:
    return call(ida.key, "post", "/collections/secret/access", role=role, **to)


def statuses(key: str, ida: Tenant) -> tuple[int, ...]:
    """Of reading a document, adding one, changing the collection, seeing its grants."""
    document = f"/documents/{ida.ids['document_id']}"
    return tuple(
        reply.status_code
        for reply in (
            call(key, "get", document),
            call(key, "post", "/ingest", text=OTTOS, collection="secret@ida"),
            call(key, "patch", "/collections/secret@ida", description="mine"),
            call(key, "get", "/collections/secret@ida/access"),
        )
    )


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("reader", (200, 403, 403, 403)),
        ("writer", (200, 201, 403, 403)),
        ("owner", (200, 201, 200, 200)),
    ],
)
def test_a_role_may_what_it_says(
    ida: Tenant, otto: Tenant, role: str, expected: tuple[int, ...]
) -> None:
    assert statuses(otto.key, ida) == (404, 404, 404, 404)
    assert grant(ida, role, user="otto").status_code == 201
    assert statuses(otto.key, ida) == expected
    shown = call(otto.key, "get", "/collections/secret@ida").json()
    assert (shown["name"], shown["owner"], shown["role"]) == ("secret@ida", "ida", role)
    kept = Grant.objects.get()
    assert call(ida.key, "delete", f"/collections/secret/access/{kept.pk}").status_code == 204
    assert statuses(otto.key, ida) == (404, 404, 404, 404)


def test_a_group_may_what_it_is_granted(ida: Tenant, otto: Tenant) -> None:
    team = Group.objects.create(name="team")
    assert grant(ida, "reader", group="team").status_code == 201
    assert statuses(otto.key, ida)[0] == 404
    otto.user.groups.add(team)
    assert statuses(otto.key, ida)[0] == 200


def test_a_public_collection_is_read_by_all_and_written_by_its_own(
    ida: Tenant, otto: Tenant
) -> None:
    opened = call(ida.key, "patch", "/collections/secret/access", is_public=True)
    assert opened.json() == {"owner": "ida", "is_public": True, "grants": []}
    assert statuses(otto.key, ida) == (200, 403, 403, 403)
    found = call(otto.key, "post", "/search", query="marigold", collection="secret")
    assert found.json()["results"]


def ask(asker: Tenant) -> str:
    """Return the id of an answer from Ida's collection."""
    asked = {"question": LIGHTHOUSE_QUESTION, "collection": "secret@ida"}
    told = call(asker.key, "post", "/ask", **asked).json()
    assert "Orsolya" in told["answer"], told
    with acting_as(principal_of(asker.user)):
        return str(Answer.objects.order_by("-created_at")[0].pk)


def test_answers_are_their_askers_alone_and_close_with_their_grant(
    ida: Tenant, otto: Tenant
) -> None:
    grant(ida, "reader", user="otto")
    answer = ask(otto)
    assert call(otto.key, "get", f"/answers/{answer}").status_code == 200
    assert call(ida.key, "get", f"/answers/{answer}").status_code == 404
    assert call(otto.key, "get", f"/answers/{ida.ids['answer_id']}").status_code == 404
    Grant.objects.all().delete()
    assert call(otto.key, "get", f"/answers/{answer}").status_code == 404


def test_a_document_goes_with_what_others_were_told_of_it(ida: Tenant, otto: Tenant) -> None:
    grant(ida, "reader", user="otto")
    answer = ask(otto)
    assert call(otto.key, "delete", f"/documents/{ida.ids['document_id']}").status_code == 403
    assert call(ida.key, "delete", f"/documents/{ida.ids['document_id']}").status_code == 204
    shown = call(otto.key, "get", f"/answers/{answer}").json()
    assert "Orsolya" not in str(shown)
    assert call(ida.key, "delete", "/collections/secret").status_code == 204
    assert not Collection.objects.filter(name="secret").exists()


def test_a_version_takes_the_place_of_one_that_others_cite(ida: Tenant, otto: Tenant) -> None:
    grant(ida, "reader", user="otto")
    asked = {"question": LIGHTHOUSE_QUESTION, "collection": "secret@ida"}
    call(otto.key, "post", "/ask", **asked)
    new = {"text": OTTOS, "source_uri": f"{ADDRESS}tower"}
    assert call(ida.key, "post", "/ingest", collection="secret", **new).status_code == 200


def test_names_are_each_owners_own(ida: Tenant, otto: Tenant) -> None:
    assert call(otto.key, "post", "/collections", name="secret").status_code == 201
    headers = {"Authorization": f"Bearer {otto.key}", "Idempotency-Key": "k1"}
    body = {"text": OTTOS, "collection": "secret", "tags": ["ottermol"]}
    added = CALLER.post("/ingest", body, format="json", headers=headers)
    assert (added.status_code, added.json()["tags"]) == (201, ["ottermol"])
    tags = {key: call(key, "get", "/tags/ottermol").json() for key in (ida.key, otto.key)}
    assert [tags[key]["document_count"] for key in (ida.key, otto.key)] == [1, 1]
    assert call(otto.key, "delete", "/tags/ottermol").status_code == 204
    assert call(ida.key, "get", "/tags/ottermol").status_code == 200
    listed = call(otto.key, "get", "/collections").json()["results"]
    assert [each["name"] for each in listed] == ["secret"]


def test_a_session_id_of_another_leads_to_a_session_of_ones_own(ida: Tenant, otto: Tenant) -> None:
    call(otto.key, "post", "/collections", name="default")
    asked = {"question": LIGHTHOUSE_QUESTION, "collection": "default"}
    ids = {
        given: {
            call(otto.key, "post", "/ask", session_id=given, **asked).json()["session_id"]
            for _ in range(2)
        }
        for given in (ida.ids["session_id"], str(uuid4()))
    }
    assert [len(each) for each in ids.values()] == [1, 1]
    assert not any(given in own for given, own in ids.items())
    with acting_as(principal_of(ida.user)):
        assert Session.objects.get(pk=ida.ids["session_id"]).messages.count() == 0


def test_who_has_no_collection_gets_one_by_adding_to_it(ida: Tenant, otto: Tenant) -> None:
    asked = {"query": "tower"}
    assert call(otto.key, "post", "/search", **asked).status_code == 404
    assert call(otto.key, "post", "/ingest", text=OTTOS).status_code == 201
    assert call(otto.key, "post", "/search", **asked).status_code == 200


def test_a_key_is_bound_to_collections(ida: Tenant) -> None:
    with acting_as(principal_of(ida.user)):
        create_collection("open")
    bound = make_key(ida.user, name="bound", scopes=["read", "ingest"], collections=["open"])[1]
    listed = call(bound, "get", "/collections").json()["results"]
    assert [each["name"] for each in listed] == ["open"]
    assert statuses(bound, ida) == (404, 404, 404, 404)
    assert call(bound, "post", "/collections", name="third").status_code == 403
    assert call(bound, "post", "/ingest", text=OTTOS, collection="open").status_code == 201


def test_superusers_own_what_was_there_before_users_were(ida: Tenant, otto: Tenant) -> None:
    root = get_user_model().objects.create_superuser("root")
    key = make_key(root, name="root's", scopes=["read", "ingest"])[1]
    listed = call(key, "get", "/collections").json()["results"]
    assert [(each["name"], each["owner"], each["role"]) for each in listed] == [
        ("default", None, "owner")
    ]
    assert call(key, "patch", "/collections/default/access", is_public=True).status_code == 200
    call(otto.key, "post", "/collections", name="notes")
    shown = {each["name"] for each in call(otto.key, "get", "/collections").json()["results"]}
    assert shown == {"default@", "notes"}
    found = call(otto.key, "get", "/collections/default@").json()
    assert (found["role"], found["is_public"]) == ("reader", True)
