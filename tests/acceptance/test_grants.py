"""What owners let others do, and whose names, answers and sessions are whose."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import DatabaseError, transaction
from django.test import Client
from django.utils import timezone

from accounts.authentication import principal_of
from accounts.keys import create_key
from corpus.access.principal import acting_as
from corpus.catalogue import create_collection
from corpus.models import Collection, Document, Grant, Job
from qa.models import Answer, Session
from tests.support.documents import LIGHTHOUSE_QUESTION
from tests.support.users import ADDRESS, CALLER, Tenant, call

pytestmark = pytest.mark.usefixtures("login_required")
OTTOS = "Otto writes that the ferry to Lindow leaves at noon, and comes back before dark."


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


def test_pages_offer_readers_no_change_of_a_document(ida: Tenant, otto: Tenant) -> None:
    document = f"/ui/documents/{ida.ids['document_id']}"
    bulk = {"id": ida.ids["document_id"], "act": "delete"}
    Job.objects.all().delete()  # lacks what pages show of one
    offers = ("Delete document", "Re-embed", "Save tags")
    client = Client()
    client.force_login(otto.user)
    for role, may_change in (("reader", False), ("writer", True)):
        grant(ida, role, user="otto")
        page = client.get(document).content.decode()
        assert [offer in page for offer in offers] == [may_change] * 3
        boxes = client.get("/ui/library").content.decode().count('form="bulk"')
        assert boxes == may_change
        expected = 200 if may_change else 403
        assert client.get(f"{document}/delete").status_code == expected
        assert client.post("/ui/library/bulk", bulk).status_code == expected


def test_pages_offer_a_job_only_to_who_may_change_its_collection(ida: Tenant, otto: Tenant) -> None:
    grant(ida, "writer", user="otto")
    job = Job.objects.get(collection__owner=ida.user)
    ended = {
        "kind": Job.Kind.REEMBED,
        "status": Job.Status.FAILED,
        "finished_at": timezone.now(),
        "errors": [],
    }
    Job.objects.filter(pk=job.pk).update(made_by=otto.user, **ended)
    client = Client()
    client.force_login(otto.user)
    for role, may_retry in (("writer", True), ("reader", False)):
        grant(ida, role, user="otto")
        for page in ("/ui/jobs", f"/ui/jobs/{job.pk}"):
            shown = client.get(page).content.decode()
            assert (f"/ui/jobs/{job.pk}/retry" in shown) == may_retry


def test_a_group_may_what_it_is_granted(ida: Tenant, otto: Tenant) -> None:
    team = Group.objects.create(name="team")
    unknown = grant(ida, "reader", group="nosuch").json()
    refused = grant(ida, "reader", group="team")
    # Of a group of others is not told that it is there.
    assert str(refused.json()).replace("team", "nosuch") == str(unknown)
    assert refused.status_code == 400
    ida.user.groups.add(team)
    assert grant(ida, "reader", group="team").status_code == 201
    assert statuses(otto.key, ida)[0] == 404
    otto.user.groups.add(team)
    assert statuses(otto.key, ida)[0] == 200


def test_a_public_collection_is_read_by_all_and_written_by_its_own(
    ida: Tenant, otto: Tenant
) -> None:
    number = call(ida.key, "patch", "/collections/secret/access", is_public=1)
    assert number.status_code == 400
    opened = call(ida.key, "patch", "/collections/secret/access", is_public=True)
    assert opened.json() == {"owner": "ida", "is_public": True, "grants": []}
    assert statuses(otto.key, ida) == (200, 403, 403, 403)
    found = call(otto.key, "post", "/search", query="marigold", collection="secret@ida")
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
    added = CALLER.post("/ingest", body, headers=headers)
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
    bound = create_key(ida.user, name="bound", scopes=["read", "ingest"], collections=["open"])[1]
    listed = call(bound, "get", "/collections").json()["results"]
    assert [each["name"] for each in listed] == ["open"]
    assert statuses(bound, ida) == (404, 404, 404, 404)
    assert call(bound, "post", "/collections", name="third").status_code == 403
    assert call(bound, "post", "/ingest", text=OTTOS, collection="open").status_code == 201
    no_default = call(bound, "post", "/ingest", text=OTTOS)
    assert (no_default.status_code, no_default.json()["detail"]) == (
        403,
        "This API key is limited to some collections and cannot create others. Use one of them.",
    )


def test_a_bound_key_lets_nobody_else_in(ida: Tenant, otto: Tenant) -> None:
    bound = create_key(ida.user, name="bound", scopes=["read", "ingest"], collections=["secret"])[1]
    kept = grant(ida, "reader", user="otto").json()["id"]
    replies = [
        call(bound, "post", "/collections/secret/access", role="owner", user="otto"),
        call(bound, "patch", "/collections/secret/access", is_public=True),
        call(bound, "delete", f"/collections/secret/access/{kept}"),
    ]
    assert [reply.status_code for reply in replies] == [403, 403, 403]
    assert "limited to collections" in replies[0].json()["detail"]
    assert call(bound, "get", "/collections/secret/access").json() == {
        "owner": "ida", "is_public": False, "grants": call(ida.key, "get",
        "/collections/secret/access").json()["grants"],
    }  # fmt: skip
    assert statuses(otto.key, ida) == (200, 403, 403, 403)


def test_superusers_own_what_was_there_before_users_were(ida: Tenant, otto: Tenant) -> None:
    root = get_user_model().objects.create_superuser("root")
    key = create_key(root, name="root's", scopes=["read", "ingest"])[1]
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


def test_texts_go_to_another_users_collection_only_where_they_are_named(
    ida: Tenant, otto: Tenant
) -> None:
    with acting_as(principal_of(ida.user)):
        create_collection("default")
    granted = call(ida.key, "post", "/collections/default/access", role="writer", user="otto")
    assert granted.status_code == 201
    added = call(otto.key, "post", "/ingest", text=OTTOS)
    assert (added.status_code, added.json()["collection"]) == (201, "default")
    with acting_as(principal_of(ida.user)):
        assert not Collection.objects.get_named("default").documents.exists()
    named = call(otto.key, "post", "/ingest", text=OTTOS, collection="default@ida")
    assert (named.status_code, named.json()["collection"]) == (201, "default@ida")


def test_who_may_read_a_row_moves_it_nowhere(ida: Tenant, otto: Tenant) -> None:
    grant(ida, "reader", user="otto")
    call(ida.key, "patch", "/collections/secret/access", is_public=True)
    with acting_as(principal_of(otto.user)):
        own = create_collection("own")
        documents = Document.objects.exclude(collection=own)
        collections = Collection.objects.filter(name="secret")
        with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
            documents.update(collection=own)
        with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
            documents.update(title="mine")
        with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
            collections.update(owner=otto.user)


def test_a_bound_key_sees_of_conversations_those_it_began(ida: Tenant) -> None:
    with acting_as(principal_of(ida.user)):
        create_collection("open")
    bound = create_key(ida.user, name="bound", scopes=["read"], collections=["open"])[1]
    assert call(bound, "get", "/sessions").json()["results"] == []
    assert call(bound, "get", f"/chat/{ida.ids['chat_id']}").status_code == 404
    assert call(bound, "delete", f"/sessions/{ida.ids['session_id']}").status_code == 404
    asked = {"question": LIGHTHOUSE_QUESTION, "collection": "open", "session_id": str(uuid4())}
    ids = {call(bound, "post", "/ask", **asked).json()["session_id"] for _ in range(2)}
    assert len(ids) == 1
    with acting_as(principal_of(ida.user)):
        assert Session.objects.filter(pk__in=ids).exists()


def test_a_user_who_goes_leaves_collections_to_the_superusers(ida: Tenant, otto: Tenant) -> None:
    for tenant in (ida, otto):
        with acting_as(principal_of(tenant.user)):
            create_collection("default")
        tenant.user.delete()
    left = Collection.objects.filter(owner=None).values_list("name", flat=True)
    assert set(left) == {"default", "default-ida", "default-otto", "secret"}


def test_pages_say_what_a_user_without_a_collection_can_do(
    client: Client, ida: Tenant, otto: Tenant
) -> None:
    Collection.objects.get(name="default").delete()
    client.force_login(otto.user)
    pages = ("/ui/ask", "/ui/search", "/ui/quality")
    for page in pages:
        assert "No collection is shared with you yet" in client.get(page).content.decode()
    grant(ida, "reader", user="otto")
    for page in pages:
        shown = client.get(page).content.decode()
        assert re.search(r'value="secret@ida" selected[^>]*>secret\b(?!@)', shown)
    with acting_as(principal_of(otto.user)):
        create_collection("secret")
    assert re.search(r">secret@ida\b", client.get("/ui/ask").content.decode())
    assert "Share secret<" in client.get("/ui/library").content.decode()
