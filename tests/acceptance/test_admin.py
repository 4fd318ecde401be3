"""The admin: what the corpus holds, and the re-ingest action."""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from corpus.models import Chunk, Collection, Document
from qa.models import Answer
from tests.factories import LIGHTHOUSE_QUESTION, Ingest, long_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(ingest: Ingest) -> Any:
    return ingest(
        f"{long_text(2)}\n\nThe lighthouse at Bavoke was built by Orsolya Quill.",
        title="<script>alert(1)</script>",
        tags=("coast",),
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("corpus_collection", "bge-small-en-v1.5+all-MiniLM-L6-v2"),
        ("corpus_document", "completed"),
        ("corpus_chunk", "Entry 0.0 says"),
        ("corpus_embedding", "768"),
        ("corpus_tag", "coast"),
        ("qa_answer", "Bavoke"),
    ],
)
def test_each_list_shows_its_rows(
    admin_client: Client, api: APIClient, stored: Any, name: str, shown: str
) -> None:
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION})
    page = admin_client.get(reverse(f"admin:{name}_changelist"))
    assert page.status_code == 200
    assert shown in page.content.decode()
    assert b"<script>alert(1)" not in page.content


def test_a_chunk_shows_span_and_tags_and_cannot_be_changed(
    admin_client: Client, stored: Any
) -> None:
    chunk = Chunk.objects.first()
    assert chunk is not None
    listed = admin_client.get(reverse("admin:corpus_chunk_changelist")).content.decode()
    assert f"{chunk.start_char}-{chunk.end_char}" in listed
    assert "coast" in listed
    url = reverse("admin:corpus_chunk_change", args=[chunk.pk])
    assert admin_client.get(url).status_code == 200
    assert admin_client.post(url, {"text": "altered"}).status_code == 403


def test_the_action_cuts_and_embeds_again(
    admin_client: Client, stored: Any, collection: Collection
) -> None:
    Collection.objects.filter(pk=collection.pk).update(chunk_size=64)
    url = reverse("admin:corpus_document_changelist")
    chosen = {"action": "reingest", "_selected_action": [stored.document_id]}
    page = admin_client.post(url, chosen, follow=True)
    assert "1 documents were cut and embedded again." in page.content.decode()
    assert Document.objects.get().chunk_count > stored.chunk_count


def test_the_admin_is_for_staff_only(client: Client, db: None) -> None:
    assert client.get(reverse("admin:corpus_document_changelist")).status_code == 302


def test_the_environment_makes_a_first_superuser_once(db: None, settings: Any) -> None:
    settings.PKB_SUPERUSER = {"username": "ida", "email": "", "password": "long-enough-1"}
    call_command("ensure_superuser")
    call_command("ensure_superuser")
    user = get_user_model().objects.get(username="ida")
    assert user.is_superuser
    assert user.check_password("long-enough-1")


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "too short"),
        ("long-enough", "too short. It must contain at least 12 characters."),
        ("qwertyuiop123", "too common"),
        ("ida-of-the-library", "too similar to the username"),
    ],
)
def test_a_superuser_with_a_weak_password_is_refused(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch, password: str, reason: str
) -> None:
    chosen = {"username": "ida-of-the-library", "email": "ida@example.org", "password": password}
    settings.PKB_SUPERUSER = chosen
    for name, value in chosen.items():
        monkeypatch.setenv(f"DJANGO_SUPERUSER_{name.upper()}", value)
    for command in (["ensure_superuser"], ["createsuperuser", "--noinput"]):
        with pytest.raises(CommandError, match=f"^DJANGO_SUPERUSER_PASSWORD: .*{reason}"):
            call_command(*command)
    assert not get_user_model().objects.exists()


def test_a_superuser_with_a_password_by_the_rules_is_made_by_djangos_command(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {"username": "ida", "email": "ida@example.org", "password": "long-enough-1"}
    settings.PKB_SUPERUSER = chosen
    for name, value in chosen.items():
        monkeypatch.setenv(f"DJANGO_SUPERUSER_{name.upper()}", value)
    call_command("createsuperuser", "--noinput")
    assert get_user_model().objects.get().check_password("long-enough-1")


def test_a_weak_password_cannot_be_set_in_the_admin(admin_client: Client) -> None:
    user = get_user_model().objects.get()
    passwords = dict.fromkeys(("password1", "password2"), "short")
    url = reverse("admin:auth_user_password_change", args=[user.pk])
    page = admin_client.post(url, {"usable_password": "true", **passwords})
    assert "This password is too short." in page.content.decode()
    assert user.check_password("password")


def test_documents_are_exported_with_their_text(admin_client: Client, stored: Any) -> None:
    url = reverse("admin:corpus_document_changelist")
    chosen = {"action": "export", "_selected_action": [stored.document_id]}
    exported = json.loads(admin_client.post(url, chosen).content)
    assert exported["tags"] == ["coast"]
    assert exported["text"].endswith("was built by Orsolya Quill.")


def test_documents_and_answers_are_linked(
    admin_client: Client, api: APIClient, stored: Any
) -> None:
    api.get("/answer", {"q": LIGHTHOUSE_QUESTION})
    document_url = reverse("admin:corpus_document_change", args=[stored.document_id])
    page = admin_client.get(document_url).content.decode()
    listed = f"/admin/qa/answer/?citations__document__id__exact={stored.document_id}"
    assert listed in page
    answers = admin_client.get(listed).content.decode()
    assert LIGHTHOUSE_QUESTION in answers
    answer = Answer.objects.get()
    shown = admin_client.get(reverse("admin:qa_answer_change", args=[answer.pk])).content.decode()
    assert document_url in shown


def test_answers_are_filtered_by_kind_and_say_who_stood_in(
    admin_client: Client, collection: Collection
) -> None:
    common = {"collection": collection, "confidence": 0.4, "answerer": "extractive"}
    unsure = Answer.objects.create(
        question="Who keeps it?", kind="unsure", fallback="m failed: no reply", **common
    )
    Answer.objects.create(question="Who built it?", kind="answer", text="She did.", **common)
    url = reverse("admin:qa_answer_changelist")
    listed = admin_client.get(url, {"kind__exact": "unsure"}).content.decode()
    assert unsure.question in listed
    assert "Who built it?" not in listed
    shown = admin_client.get(reverse("admin:qa_answer_change", args=[unsure.pk])).content.decode()
    assert "m failed: no reply" in shown
    assert "Unsure" in shown


def test_the_first_page_counts(admin_client: Client, stored: Any) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert "Feedback" in page
    assert "0 to review" in page
    assert f">{stored.chunk_count}<" in page
