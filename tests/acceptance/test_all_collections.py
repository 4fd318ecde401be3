"""Questions to all collections that one may read, and to a single document."""

from inspect import unwrap
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model

from accounts.authentication import principal_of
from accounts.grants import grant_role, revoke_grant
from accounts.keys import create_key
from corpus.access.principal import SYSTEM, acting_as
from corpus.catalogue import create_collection, delete_collection
from corpus.errors import CollectionNotFound, DocumentNotFound
from corpus.ingestion.document_writer import StoredDocument
from corpus.models import Collection, Grant
from qa.answer_question import answer_question
from qa.api.mcp.tools import search
from qa.context import build_context
from qa.models import Answer
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, ingest_text_of
from tests.support.users import Tenant, call

BAKERY_QUESTION = "When does the bakery in Lindow open?"


@pytest.fixture
def shore(collection: Collection) -> StoredDocument:
    return ingest_text_of(create_collection("shore"))(LIGHTHOUSE, title="Bavoke", tags=("coast",))


@pytest.fixture
def village(collection: Collection) -> StoredDocument:
    # Words are stemmed otherwise here, so this is searched for itself.
    return ingest_text_of(create_collection("village", language="simple"))(BAKERY, title="Lindow")


def test_an_answer_from_all_names_the_collection_of_its_source(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    for question, document, name in (
        (LIGHTHOUSE_QUESTION, shore, "shore"),
        (BAKERY_QUESTION, village, "village"),
    ):
        shown = api.answer(question, collection="*")
        (cited,) = {(each["document_id"], each["collection"]) for each in shown["citations"]}
        assert cited == (document.document_id, name)
        stored = api.get(f"/answers/{shown['id']}").json()
        assert [each["collection"] for each in stored["citations"]] == [name]
        assert name in api.page(f"/ui/answers/{shown['id']}")
    assert api.answer(collection="shore")["citations"][0]["collection"] == ""


def test_a_search_of_all_finds_and_names_each_collection(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    found = {each["document_id"]: each["collection"] for each in api.search("Who", collection="*")}
    assert found == {shore.document_id: "shore", village.document_id: "village"}
    assert {each["title"] for each in unwrap(search)("lighthouse", "*")["results"]} == {
        "Bavoke",
        "Lindow",
    }
    page = api.page("/ui/search", q="lighthouse", collection="*")
    assert '<span class="in-collection">shore</span>' in page
    assert all("collection" not in each for each in api.search("Who", collection="shore"))


def test_tags_narrow_a_search_of_all(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    found = api.search("Who", collection="*", tags=["coast"])
    assert [each["document_id"] for each in found] == [shore.document_id]


def test_a_new_document_in_any_collection_makes_a_new_answer(
    api: Api, shore: StoredDocument, village: StoredDocument, settings: Any
) -> None:
    settings.PKB_ANSWER_CACHE = 10
    api.answer("Who owns the ferry to Rodabu?", collection="*")
    text = "The ferry to Rodabu is owned by Wiebke Aldag. It sails at nine in the morning."
    ingest_text_of(Collection.objects.get_named("village"))(text, title="Ferry")
    shown = api.answer("Who owns the ferry to Rodabu?", collection="*")
    assert "Wiebke Aldag" in shown["answer"]


def test_deleting_a_collection_leaves_chats_over_all(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    session = str(uuid4())
    asked = {"collection": "*", "session_id": session}
    tower = api.ask(LIGHTHOUSE_QUESTION, **asked)["id"]
    bread = api.ask(BAKERY_QUESTION, **asked)["id"]
    delete_collection("shore")
    with acting_as(SYSTEM):
        assert Answer.objects.get(pk=tower).kind == "erased"
        assert Answer.objects.get(pk=tower).quoted_collections == []
    assert "five in the morning" in api.get(f"/answers/{bread}").json()["answer"]


def test_where_nothing_may_be_read_all_is_not_found(otto: Tenant) -> None:
    refused = pytest.raises(CollectionNotFound, match="no collection that you may read")
    with acting_as(principal_of(otto.user)), refused:
        Collection.objects.get_asked("*")


@pytest.mark.usefixtures("login_required")
def test_all_is_what_one_may_read_and_no_more(ida: Tenant, otto: Tenant) -> None:
    with acting_as(principal_of(otto.user)):
        bread = ingest_text_of(create_collection("village"))(BAKERY, title="Lindow")
    found = call(otto.key, "post", "/search", query="lighthouse", collection="*").json()
    assert {each["document_id"] for each in found["results"]} == {bread.document_id}
    refused = call(otto.key, "get", "/answer", q="lighthouse", document_id=ida.ids["document_id"])
    assert refused.status_code == 404


@pytest.mark.usefixtures("login_required")
def test_an_answer_from_all_is_hidden_with_what_it_quotes(ida: Tenant, otto: Tenant) -> None:
    with acting_as(principal_of(ida.user)):
        secret = Collection.objects.get_named("secret")
        grant = grant_role(secret, Grant.Role.READER, user="otto")
    asked = call(otto.key, "get", "/answer", q=LIGHTHOUSE_QUESTION, collection="*").json()
    assert [each["collection"] for each in asked["citations"]] == ["secret@ida"]
    address = f"/answers/{asked['id']}"
    assert call(otto.key, "get", address).status_code == 200
    assert call(ida.key, "get", address).status_code == 404
    with acting_as(principal_of(ida.user)):
        revoke_grant(secret, grant.pk)
    assert call(otto.key, "get", address).status_code == 404


@pytest.mark.usefixtures("login_required")
def test_a_bound_key_sees_its_own_answers_from_all_alone(ida: Tenant) -> None:
    with acting_as(principal_of(ida.user)):
        ingest_text_of(create_collection("village"))(BAKERY, title="Lindow")
    user = get_user_model().objects.get(username="ida")
    _, bound = create_key(user, name="bound", scopes=["read"], collections=["village"])
    asked = call(ida.key, "get", "/answer", q="Who has the oars?", collection="*").json()
    assert call(bound, "get", f"/answers/{asked['id']}").status_code == 404
    own = call(bound, "get", "/answer", q=BAKERY_QUESTION, collection="*").json()
    assert [each["collection"] for each in own["citations"]] == ["village"]
    assert call(bound, "get", f"/answers/{own['id']}").status_code == 200


def test_a_question_to_one_document_stays_in_it(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    bread = {"document_id": village.document_id}
    assert "five in the morning" in api.answer(BAKERY_QUESTION, **bread)["answer"]
    assert api.answer(LIGHTHOUSE_QUESTION, **bread)["abstained"]
    about = api.ask("What are these documents about?", **bread)
    assert {each["document_id"] for each in about["citations"]} == {village.document_id}
    for body in ({"document_id": str(uuid4())}, {"document_id": shore.chunk_ids[0]}):
        reply = api.post("/ask", {"question": BAKERY_QUESTION, **body})
        assert reply.status_code == 404
    assert api.get("/answer", {"q": "Who?", "document_id": "1"}).status_code == 400
    with pytest.raises(DocumentNotFound):
        answer_question("Who?", collection="*", document_id=uuid4(), k=5, context=build_context())


def test_a_chat_goes_on_with_the_scope_of_its_last_question(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    session = api.ask(LIGHTHOUSE_QUESTION, collection="*")["session_id"]
    Answer.objects.get().message.session.__class__.objects.filter(pk=session).update(is_kept=True)
    assert '<option value="*" selected' in api.page(f"/ui/chats/{session}")
    api.ask(LIGHTHOUSE_QUESTION, document_id=shore.document_id, session_id=session)
    page = api.page(f"/ui/chats/{session}")
    assert f'name="document" value="{shore.document_id}"' in page
    page = api.page(f"/ui/chats/{session}", collection="village")
    assert 'name="document"' not in page
    assert '<option value="village" selected' in page


def test_the_pages_ask_all_until_one_collection_is_asked(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    assert '<option value="*" selected' in api.page("/ui/ask")
    api.page("/ui/search", q="lighthouse", collection="shore")
    assert '<option value="shore" selected' in api.page("/ui/ask")
    api.page("/ui/search", q="lighthouse", collection="*")
    assert '<option value="*" selected' in api.page("/ui/ask")
    only = api.page("/ui/search", q="Who", document=village.document_id)
    assert "Lindow" in only
    assert "Bavoke" not in only.partition('id="results"')[2]


def test_mentions_are_counted_in_all_collections_or_one_document(
    api: Api, shore: StoredDocument, village: StoredDocument
) -> None:
    shown = api.answer("How many documents mention the lamp?", collection="*")
    assert "1 of 2 documents mention" in shown["answer"]
    assert [each["collection"] for each in shown["citations"]] == ["shore"]
    only = {"document_id": village.document_id}
    assert api.answer("How many documents mention rye bread?", **only)["answerer"] == "count"
    assert api.answer("How many documents mention the lamp?", **only)["answerer"] != "count"
