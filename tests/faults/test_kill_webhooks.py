"""Kill -9 the worker that sends webhooks: each event is told, under its one id, and no other."""

import json
import signal
from threading import Event
from typing import Any

import pytest

from corpus.models import Collection, Webhook
from corpus.webhooks import WebhookEvent, create_webhook
from tests.support.documents import ingest_text_of, long_text
from tests.support.processes import connected_to, find_broken, manage, name_of, read
from tests.support.site_server import Handler, serving
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("small_models")]

COUNT = 6
HOSTS = {"PKB_WEBHOOK_HOSTS": "localhost"}


def test_killed_worker_loses_no_event(database: str, settings: Any) -> None:
    settings.PKB_WEBHOOK_HOSTS = {"localhost"}
    is_killed = Event()
    with serving() as receiver:
        receiver.says("/", b"")
        answer = receiver.pages["/"]

        def hold_third(handler: Handler) -> None:
            if len(receiver.bodies) == 3:
                is_killed.wait(60)
            answer(handler)

        receiver.pages["/"] = hold_third
        with connected_to(name_of(database)):
            collection = Collection.objects.get_named("default")
            create_webhook(receiver.url, [WebhookEvent.DOCUMENT_READY], collection=collection)
            for number in range(COUNT):
                ingest_text_of(collection)(long_text(3).replace("Entry", f"Note {number}"))
        worker = manage("worker", database=database, **HOSTS)
        wait_until(lambda: len(receiver.bodies) == 3)
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=60)
        is_killed.set()
        assert states(database) == {"sent": 2, "waiting": COUNT - 2}
        with connected_to(name_of(database)):  # the minute until the next attempt
            Webhook.objects.get().deliveries.update(next_at="2026-01-01T00:00Z")
        worker = manage("worker", database=database, **HOSTS)
        wait_until(lambda: states(database) == {"sent": COUNT})
        worker.send_signal(signal.SIGTERM)
        worker.communicate(timeout=60)
        told = [json.loads(body)["data"]["id"] for body in receiver.bodies]
        ids = [headers["webhook-id"] for headers in receiver.headers]
    stored = {str(key) for (key,) in read(database, "SELECT id FROM corpus_document")}
    assert set(told) == stored
    assert (len(told), len(set(ids))) == (COUNT + 1, COUNT)  # the third came twice, and is known
    assert find_broken(database) == []


def states(database: str) -> dict[str, int]:
    query = "SELECT state, count(*)::int FROM corpus_webhookdelivery GROUP BY state"
    rows: Any = read(database, query)
    return dict(rows)
