"""Webhooks: what happened is sent once it is so, signed, to whom may read it, and again if lost."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from corpus import webhooks
from corpus.catalogue import delete_document
from corpus.ingestion.vectors import complete_document
from corpus.jobs.states import cancel_job
from corpus.models import Collection, Document, Embedding, Job, Webhook, WebhookDelivery
from corpus.webhooks import RETRY_DELAYS_S, WebhookEvent, send_due, tell
from qa.retention import purge
from qa.standing_questions import ask_changed_questions
from tests.support.client import Api
from tests.support.database import execute
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.ports import free_port
from tests.support.site_server import Site, serving
from tests.support.sync_tree import sync_tree
from tests.support.users import Tenant, call

ADDRESS = "https://bavoke.example/lighthouse"
OTHER_BUILDER = LIGHTHOUSE.replace("Orsolya Quill", "Maren Holt")
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "webhooks.md"
EVERY_EVENT = list(WebhookEvent.values)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Site]:
    settings.PKB_WEBHOOK_HOSTS = {"localhost"}
    with serving() as site:
        site.says("/hook", b"")
        yield site


@pytest.fixture
def hook(api: Api, receiver: Site) -> Any:
    reply = api.post("/webhooks", {"url": f"{receiver.url}/hook", "events": EVERY_EVENT})
    assert reply.status_code == 201, reply.content
    return reply.json()


def ingest(api: Api, text: str, **attributes: Any) -> str:
    """Store a text as in a transaction of its own: triggers tell of one change in each."""
    execute("SELECT set_config('pkb.changed_collections', '', true)")
    return api.ingest(text, **attributes).document_id


def sent(receiver: Site) -> list[Any]:
    """Send what is due; return all that the receiver was sent."""
    assert send_due()
    return [json.loads(body) for body in receiver.bodies]


def deliveries(api: Api, hook: Any) -> Any:
    return api.get(f"/webhooks/{hook['id']}/deliveries").json()["results"]


def make_due() -> None:
    WebhookDelivery.objects.update(next_at=timezone.now())
    Webhook.objects.update(paused_until=None)


def test_a_document_is_told_from_storing_to_deletion(api: Api, hook: Any, receiver: Site) -> None:
    key = ingest(api, LIGHTHOUSE, title="Bavoke", source_uri=ADDRESS)
    (ready,) = sent(receiver)
    place = {"id": key, "path": f"/documents/{key}", "collection": "default"}
    assert ready["type"] == "document.ready"
    assert ready["data"] == {**place, "title": "Bavoke", "status": "completed"}
    ingest(api, OTHER_BUILDER, title="Tower", source_uri=ADDRESS)
    assert [(each["type"], each["data"]["title"]) for each in sent(receiver)[1:]] == [
        ("document.replaced", "Tower")
    ]
    delete_document(Document.objects.get().pk)
    gone = sent(receiver)[-1]
    assert (gone["type"], gone["data"]) == ("document.deleted", place)
    assert b"Orsolya" not in b"".join(receiver.bodies)
    shown = deliveries(api, hook)
    assert [(each["event"], each["state"], each["status"], each["attempts"]) for each in shown] == [
        ("document.deleted", "sent", 200, 1),
        ("document.replaced", "sent", 200, 1),
        ("document.ready", "sent", 200, 1),
    ]


def test_signatures_hold_by_the_guide(api: Api, hook: Any, receiver: Site) -> None:
    ingest(api, LIGHTHOUSE, title="Bavoke – façade")
    assert sent(receiver)
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    headers, body = receiver.headers[0], receiver.bodies[0]
    assert names["is_genuine"](headers, body, hook["secret"])
    assert not names["is_genuine"](headers, body + b" ", hook["secret"])
    assert not names["is_genuine"](headers, body, webhooks.SECRET_PREFIX + "AAAA")
    old = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 3_600)}
    assert not names["is_genuine"](old, body, hook["secret"])
    assert headers["webhook-id"] == deliveries(api, hook)[0]["id"]


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The example of the specification's own libraries."""
    with patch.object(webhooks, "time", return_value=1614265330):
        headers = webhooks.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}',
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        )  # fmt: skip
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_what_was_undone_is_not_told(api: Api, hook: Any, receiver: Site) -> None:
    with suppress(ZeroDivisionError), transaction.atomic():
        ingest(api, LIGHTHOUSE)
        assert WebhookDelivery.objects.count() == 1
        raise ZeroDivisionError
    assert sent(receiver) == []


def test_a_failed_delivery_is_sent_again_with_its_id(api: Api, hook: Any, receiver: Site) -> None:
    receiver.says("/hook", b"", 503)
    ingest(api, LIGHTHOUSE)
    assert len(sent(receiver)) == 1
    (shown,) = deliveries(api, hook)
    assert (shown["state"], shown["status"], shown["attempts"]) == ("waiting", 503, 1)
    assert len(sent(receiver)) == 1  # not due yet
    receiver.says("/hook", b"", 204)
    make_due()
    assert len(sent(receiver)) == 2
    (shown,) = deliveries(api, hook)
    assert (shown["state"], shown["status"], shown["attempts"]) == ("sent", 204, 2)
    assert len({headers["webhook-id"] for headers in receiver.headers}) == 1


def test_delays_grow_until_it_is_given_up(api: Api, hook: Any, receiver: Site) -> None:
    receiver.says("/hook", b"", 500)
    ingest(api, LIGHTHOUSE)
    for delay_s in RETRY_DELAYS_S:
        sent(receiver)
        row = WebhookDelivery.objects.get()
        assert row.attempted_at is not None
        assert row.next_at - row.attempted_at == timedelta(seconds=delay_s)
        assert row.state == "waiting"
        make_due()
    assert len(sent(receiver)) == len(RETRY_DELAYS_S) + 1
    assert deliveries(api, hook)[0]["state"] == "failed"
    make_due()
    assert len(sent(receiver)) == len(RETRY_DELAYS_S) + 1
    assert api.get(f"/webhooks/{hook['id']}").json()["is_active"] is True
    again = api.post(f"/webhooks/{hook['id']}/deliveries/{row.pk}/send")
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    receiver.says("/hook", b"")
    sent(receiver)
    assert deliveries(api, hook)[0]["state"] == "sent"


def test_an_address_that_is_down_is_tried_for_one_delivery(api: Api, hook: Any) -> None:
    path = f"/webhooks/{hook['id']}"
    api.patch(path, {"url": f"http://localhost:{free_port()}/"})
    ingest(api, LIGHTHOUSE)
    ingest(api, BAKERY)
    send_due()
    newer, older = deliveries(api, hook)
    assert (older["attempts"], newer["attempts"]) == (1, 0)
    assert (older["status"], "cannot be reached" in older["reason"]) == (None, True)
    assert api.get(path).json()["paused_until"] == older["next_at"]
    WebhookDelivery.objects.update(attempts=len(RETRY_DELAYS_S))
    make_due()
    send_due()
    shown = api.get(path).json()
    assert (shown["is_active"], deliveries(api, hook)[1]["state"]) == (False, "failed")


def test_a_receiver_that_is_gone_is_told_no_more(api: Api, hook: Any, receiver: Site) -> None:
    receiver.says("/hook", b"", 410)
    ingest(api, LIGHTHOUSE)
    sent(receiver)
    ingest(api, BAKERY)
    assert len(sent(receiver)) == 1
    assert api.get(f"/webhooks/{hook['id']}").json()["is_active"] is False


def test_redirects_are_not_followed(api: Api, hook: Any, receiver: Site) -> None:
    receiver.leads("/hook", "/elsewhere", 307)
    ingest(api, LIGHTHOUSE)
    sent(receiver)
    assert receiver.asked == ["/hook"]
    assert deliveries(api, hook)[0]["status"] == 307


def test_only_what_was_asked_for_is_told(api: Api, hook: Any, receiver: Site) -> None:
    changed = api.patch(f"/webhooks/{hook['id']}", {"events": ["document.deleted"]}).json()
    assert changed["events"] == ["document.deleted"]
    key = ingest(api, LIGHTHOUSE)
    api.patch(f"/webhooks/{hook['id']}", {"is_active": False})
    delete_document(Document.objects.get(pk=key).pk)
    assert sent(receiver) == []


def test_an_event_of_what_is_gone_is_not_sent(api: Api, hook: Any, receiver: Site) -> None:
    key = ingest(api, LIGHTHOUSE)
    delete_document(Document.objects.get(pk=key).pk)
    assert [each["type"] for each in sent(receiver)] == ["document.deleted"]


def test_without_webhooks_an_event_costs_one_query(collection: Collection) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        tell(WebhookEvent.DOCUMENT_READY, Document.objects.filter(collection=collection))
    assert len(asked) == 1


def test_a_failed_file_is_told_once(
    hook: Any, receiver: Site, collection: Collection, tmp_path: Path
) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7\nthis is no pdf at all")
    sync_tree(tmp_path, collection=collection)
    (failed,) = sent(receiver)
    assert (failed["type"], failed["data"]["title"]) == ("document.failed", "bad.pdf")
    assert failed["data"]["status"] == "failed"
    sync_tree(tmp_path, collection=collection)
    assert len(sent(receiver)) == 1


def test_a_document_is_ready_when_it_has_all_its_vectors(
    api: Api, hook: Any, receiver: Site
) -> None:
    key = ingest(api, LIGHTHOUSE)
    sent(receiver)
    Embedding.objects.all().delete()
    Document.objects.update(status="processing")
    document = Document.objects.select_related("collection").get(pk=key)
    assert complete_document(document) > 0
    assert [each["type"] for each in sent(receiver)] == ["document.ready"] * 2
    complete_document(document)
    assert len(sent(receiver)) == 2


def test_the_end_of_a_job_is_told(hook: Any, receiver: Site, collection: Collection) -> None:
    job = Job.objects.create(kind="edit", collection=collection)
    cancel_job(job.pk)
    (ended,) = sent(receiver)
    assert (ended["type"], ended["data"]["status"]) == ("job.ended", "cancelled")
    assert ended["data"]["path"] == f"/jobs/{job.pk}"


def test_answers_that_change_are_told_to_who_asked(api: Api, hook: Any, receiver: Site) -> None:
    ingest(api, LIGHTHOUSE, title="Bavoke", source_uri=ADDRESS)
    asked = api.answer()["id"]
    api.post("/standing-questions", {"answer_id": asked})
    ask_changed_questions(should_stop=lambda: False)
    sent(receiver)
    receiver.forget()
    ingest(api, f"{LIGHTHOUSE}\n\n{BAKERY}", title="Bavoke", source_uri=ADDRESS)
    assert [each["type"] for each in sent(receiver)] == ["document.replaced"]
    receiver.forget()
    ingest(api, OTHER_BUILDER, title="Bavoke", source_uri=ADDRESS)
    ask_changed_questions(should_stop=lambda: False)
    told = {each["type"]: each["data"] for each in sent(receiver)}
    assert set(told) == {"document.replaced", "answer.stale", "standing_question.changed"}
    assert told["answer.stale"]["path"].startswith("/answers/")
    assert told["standing_question.changed"]["title"] == LIGHTHOUSE_QUESTION
    assert api.get(told["answer.stale"]["path"]).status_code == 200
    assert api.get(told["standing_question.changed"]["path"]).status_code == 200
    receiver.forget()
    delete_document(Document.objects.get().pk)
    types = [each["type"] for each in sent(receiver)]
    assert "answer.stale" in types
    assert b"Maren" not in b"".join(receiver.bodies)


def test_documents_that_disagree_are_told(api: Api, hook: Any, receiver: Site) -> None:
    ingest(api, LIGHTHOUSE, title="Bavoke")
    ingest(api, LIGHTHOUSE.replace("1874", "1881"), title="Bavoke, new")
    asked = api.answer("When was the lighthouse at Bavoke built?")
    assert asked["disagreement"]
    assert sent(receiver)[-1]["type"] == "answer.disagreement"


@pytest.mark.usefixtures("login_required")
def test_who_may_not_read_it_any_more_is_told_nothing(
    ida: Tenant, otto: Tenant, receiver: Site
) -> None:
    access = "/collections/secret/access"
    grant = call(ida.key, "post", access, role="reader", user="otto").json()
    made = {"url": f"{receiver.url}/hook", "events": EVERY_EVENT, "collection": "secret@ida"}
    hook = call(otto.key, "post", "/webhooks", **made).json()
    path = f"/webhooks/{hook['id']}"
    assert call(ida.key, "get", path).status_code == 404
    call(ida.key, "post", "/ingest", text=BAKERY, collection="secret")
    assert [each["type"] for each in sent(receiver)] == ["document.ready"]
    receiver.forget()
    # Answers are of who asked.
    call(ida.key, "get", "/answer", q=LIGHTHOUSE_QUESTION, collection="secret")
    call(ida.key, "delete", f"/documents/{ida.ids['document_id']}")
    assert {each["type"] for each in sent(receiver)} == {"document.deleted"}
    receiver.forget()
    call(ida.key, "post", "/ingest", text=LIGHTHOUSE, collection="secret")
    waiting = str(WebhookDelivery.objects.get(state="waiting").pk)
    assert call(ida.key, "delete", f"{access}/{grant['id']}").status_code == 204
    assert sent(receiver) == []
    assert not WebhookDelivery.objects.filter(pk=waiting).exists()
    assert call(otto.key, "get", path).status_code == 404
    assert call(otto.key, "get", f"{path}/deliveries").status_code == 404


@pytest.mark.usefixtures("login_required")
def test_a_deactivated_user_is_told_nothing(ida: Tenant, receiver: Site) -> None:
    made = {"url": f"{receiver.url}/hook", "events": EVERY_EVENT, "collection": "secret"}
    call(ida.key, "post", "/webhooks", **made)
    call(ida.key, "post", "/ingest", text=BAKERY, collection="secret")
    ida.user.is_active = False
    ida.user.save()
    assert sent(receiver) == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"url": "https://10.0.0.1:99999/"}, 422),
        ({"url": "ftp://localhost/"}, 422),
        ({"url": "https://coast.example/"}, 403),
        ({"events": []}, 400),
        ({"events": ["document.read"]}, 400),
        ({"collection": "nowhere"}, 404),
    ],
    ids=["no URL", "no scheme", "fetching is off", "no event", "unknown event", "no collection"],
)
def test_wrong_webhooks_are_refused(
    api: Api, receiver: Site, fields: dict[str, Any], code: int
) -> None:
    right = {"url": receiver.url, "events": ["job.ended"]}
    assert api.post("/webhooks", {**right, **fields}).status_code == code
    assert not Webhook.objects.exists()


def test_a_host_that_is_not_allowed_any_more_is_not_reached(
    api: Api, hook: Any, receiver: Site, settings: Any
) -> None:
    settings.PKB_WEBHOOK_HOSTS = set()
    ingest(api, LIGHTHOUSE)
    assert sent(receiver) == []
    assert "PKB_FETCH is off" in deliveries(api, hook)[0]["reason"]
    path = f"/webhooks/{hook['id']}"
    assert api.patch(path, {"is_active": False}).status_code == 200
    assert api.patch(path, {"is_active": True}).status_code == 403


def test_the_secret_is_shown_once(api: Api, hook: Any) -> None:
    assert hook["secret"].startswith("whsec_")
    for shown in (api.get(f"/webhooks/{hook['id']}"), api.get("/webhooks")):
        assert hook["secret"] not in shown.content.decode()


def test_a_webhook_is_deleted_with_its_deliveries(api: Api, hook: Any, receiver: Site) -> None:
    ingest(api, LIGHTHOUSE)
    assert api.delete(f"/webhooks/{hook['id']}").status_code == 204
    assert api.delete(f"/webhooks/{hook['id']}").status_code == 404
    assert sent(receiver) == []
    assert not WebhookDelivery.objects.exists()


def test_a_collection_is_deleted_with_its_webhooks(api: Api, receiver: Site) -> None:
    api.post("/create", {"index_name": "coast"})
    api.post("/webhooks", {"url": receiver.url, "events": EVERY_EVENT, "collection": "coast"})
    api.post("/ingest", {"text": LIGHTHOUSE, "collection": "coast"})
    assert api.delete("/collections/coast").status_code == 204
    assert not Webhook.objects.exists()
    assert sent(receiver) == []


def test_a_user_has_a_limited_number(api: Api, hook: Any, receiver: Site) -> None:
    with patch.object(webhooks, "MAX_WEBHOOKS", 1):
        made = api.post("/webhooks", {"url": receiver.url, "events": ["job.ended"]})
    assert made.status_code == 400


def test_an_unknown_delivery_is_not_found(api: Api, hook: Any) -> None:
    path = f"/webhooks/{hook['id']}/deliveries/{uuid4()}/send"
    assert api.post(path).status_code == 404


def test_old_deliveries_are_purged(api: Api, hook: Any) -> None:
    ingest(api, LIGHTHOUSE)
    assert purge()["deliveries"] == 0
    WebhookDelivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert purge()["deliveries"] == 1


def test_a_worker_stops_between_deliveries(api: Api, hook: Any, receiver: Site) -> None:
    ingest(api, LIGHTHOUSE)
    assert not send_due(should_stop=lambda: True)
    assert receiver.bodies == []


def test_pages_set_up_show_and_send_again(api: Api, receiver: Site) -> None:
    form = {"url": f"{receiver.url}/hook", "events": ["document.ready"], "collection": "default"}
    made = api.post("/ui/webhooks", form, format="multipart").content.decode()
    hook = Webhook.objects.get()
    assert hook.secret in made
    assert hook.secret not in api.page("/ui/webhooks")
    receiver.says("/hook", b"", 418)
    ingest(api, LIGHTHOUSE)
    sent(receiver)
    page = f"/ui/webhooks/{hook.pk}"
    shown = api.page(page)
    assert "418" in shown
    assert "document.ready" in shown
    receiver.says("/hook", b"")
    again = {"send": str(hook.deliveries.get().pk)}
    assert api.post(page, again, format="multipart").status_code == 302
    assert len(sent(receiver)) == 2
    api.post(page, {"is_active": "false"}, format="multipart")
    hook.refresh_from_db()
    assert not hook.is_active
    api.post(page, {"delete": "true"}, format="multipart")
    assert not Webhook.objects.exists()


def test_a_page_refuses_a_webhook_without_events(api: Api, receiver: Site) -> None:
    form = {"url": receiver.url, "collection": "default"}
    assert api.post("/ui/webhooks", form, format="multipart").status_code == 400
