"""A second web process, with a data folder of its own, shares nothing with the first but Postgres.

The first is this process, behind Django's own client.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import settings as configured
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client, override_settings

from accounts.keys import create_key
from corpus.models.installation import KEY_CHANGED, Installation
from tests.support.client import read
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.support.processes import MODELS, SMALL_MODELS, database_url, served

PASSWORD = "a green book of weather"


@pytest.fixture
def second(
    transactional_db: None, cheap_model: None, tmp_path: Path, settings: Any
) -> Iterator[httpx2.Client]:
    """A client of the second, by a key of Ida's."""
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_RERANKER_MODEL = settings.PKB_READER_MODEL = "none"
    user = get_user_model().objects.create_user("ida", password=PASSWORD, is_superuser=True)
    key = create_key(user, name="ida's", scopes=["read", "ingest"])[1]
    own = {
        "PKB_DATA_DIR": str(tmp_path / "second"),
        "PKB_MODEL_DIR": str(MODELS),
        "PKB_SECRET_KEY": configured.SECRET_KEY,
        "PKB_AUTH": "required",
    }
    database = database_url(str(connection.settings_dict["NAME"]))
    with (
        served(database, **SMALL_MODELS, **own) as url,
        httpx2.Client(base_url=url, headers={"X-API-Key": key}, timeout=60) as client,
    ):
        yield client


@pytest.mark.campaign
def test_a_second_service_shares_nothing_but_postgres(second: httpx2.Client) -> None:
    key = second.headers["X-API-Key"]
    first = Client(headers={"X-API-Key": key, "Idempotency-Key": "once"})
    sent = {"text": LIGHTHOUSE, "title": "Coast"}
    stored = first.post("/ingest", sent, "application/json")
    assert stored.status_code == 201
    # What was acknowledged by one is found by the other, and done once by both.
    again = second.post("/ingest", json=sent, headers={"Idempotency-Key": "once"})
    assert again.json() == stored.json()
    question = {"q": LIGHTHOUSE_QUESTION}
    said = [second.get("/answer", params=question).json() for _ in range(2)]
    assert [step["name"] for step in said[1]["debug"]["steps"]] == ["cache"]
    assert said[1]["citations"]
    # A stream that one began is read on from the other.
    asked = read("post", "/chat", {"question": LIGHTHOUSE_QUESTION}, **as_ida(key))
    assert asked.kinds[-1] == "done"
    replayed = second.get(asked.headers["Location"])
    assert replayed.text.count("event: ") == len(asked.kinds)
    # What one deleted the other does not answer, though it keeps answers in its memory.
    gone = first.delete(f"/documents/{stored.json()['document_id']}")
    assert gone.status_code == 204
    after = second.get("/answer", params=question)
    assert (after.status_code, "Orsolya" in after.text) == (200, False)
    lets_in_whom_the_other_knows(second)


def as_ida(key: str) -> dict[str, Any]:
    return {"content_type": "application/json", "headers": {"X-API-Key": key}}


def lets_in_whom_the_other_knows(second: httpx2.Client) -> None:
    pages = Client()
    pages.force_login(get_user_model().objects.get())
    cookies = {"sessionid": pages.cookies["sessionid"].value}
    shown = httpx2.get(f"{second.base_url}/ui/library", cookies=cookies)
    assert shown.status_code == 200


def test_a_process_with_another_secret_key_is_told(transactional_db: None) -> None:
    assert Installation.objects.register_key()
    with override_settings(SECRET_KEY="another" * 10):
        assert not Installation.objects.register_key()
        # Whoever changed it is told once.
        assert Installation.objects.register_key()
    assert "docs/guides/hosts.md" in KEY_CHANGED
