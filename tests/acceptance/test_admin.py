"""The admin: what the corpus holds, and the re-ingest action."""

import json
import re
from hashlib import sha256
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from corpus.models import Chunk, Collection, Document, DocumentContent, Embedding, Job, JobItem
from evaluation.models import Question
from qa.models import Answer, Session
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest, long_text


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
    admin_client: Client, api: Api, stored: Any, name: str, shown: str
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
    assert "1 documents were re-chunked and re-embedded." in page.content.decode()
    assert Document.objects.get().chunk_count > stored.chunk_count
    Document.objects.update(status="failed", content_sha256="")
    page = admin_client.post(url, chosen, follow=True)
    assert "The document was never read. Upload it again." in page.content.decode()
    assert "0 documents were re-chunked and re-embedded." in page.content.decode()


def test_the_environment_makes_a_first_superuser_once(settings: Any) -> None:
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
    settings: Any, monkeypatch: pytest.MonkeyPatch, password: str, reason: str
) -> None:
    chosen = {"username": "ida-of-the-library", "email": "ida@example.org", "password": password}
    settings.PKB_SUPERUSER = chosen
    for name, value in chosen.items():
        monkeypatch.setenv(f"DJANGO_SUPERUSER_{name.upper()}", value)
    for command in (["ensure_superuser"], ["createsuperuser", "--noinput"]):
        with pytest.raises(CommandError, match=f"^DJANGO_SUPERUSER_PASSWORD: .*{reason}"):
            call_command(*command)
    assert not get_user_model().objects.exists()


def test_createsuperuser_with_a_password_by_the_rules_makes_a_superuser(
    settings: Any, monkeypatch: pytest.MonkeyPatch
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


@pytest.mark.parametrize("name", ["username", "first_name", "last_name", "email"])
def test_the_inputs_of_a_user_can_be_seen(admin_client: Client, name: str) -> None:
    user = get_user_model().objects.get()
    page = admin_client.get(reverse("admin:auth_user_change", args=[user.pk])).content.decode()
    (field,) = re.findall(rf'<input[^>]* name="{name}"[^>]*>', page)
    assert "border-base-200" in field


def test_documents_are_exported_with_their_text(admin_client: Client, stored: Any) -> None:
    url = reverse("admin:corpus_document_changelist")
    chosen = {"action": "export", "_selected_action": [stored.document_id]}
    exported = json.loads(admin_client.post(url, chosen).content)
    assert exported["tags"] == ["coast"]
    assert exported["text"].endswith("was built by Orsolya Quill.")


def test_documents_and_answers_are_linked(admin_client: Client, api: Api, stored: Any) -> None:
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
    assert "Automatic backups are off: PKB_BACKUP_DIR is not set." in page
    assert "Feedback" in page
    assert "0 to review" in page
    assert f">{stored.chunk_count}<" in page


def listed(admin_client: Client, name: str, **lookups: str) -> str:
    return admin_client.get(reverse(f"admin:{name}_changelist"), lookups).content.decode()


def test_documents_are_listed_newest_first_with_tags_and_path(
    admin_client: Client, ingest: Ingest
) -> None:
    ingest(LIGHTHOUSE, title="Old", tags=("coast", "towers"), source_uri="note:1")
    ingest(BAKERY, title="New", source_uri="https://example.org/deep/lindow.html")
    page = listed(admin_client, "corpus_document")
    assert page.index(">New<") < page.index(">Old<")
    assert "coast, towers" in page
    assert 'title="https://example.org/deep/lindow.html">…/deep/lindow.html<' in page
    assert ">note:1<" in page


def test_a_document_begins_with_its_links_and_keeps_its_line_breaks(
    admin_client: Client, ingest: Ingest
) -> None:
    stored = ingest(LIGHTHOUSE, title="Bavoke", tags=("coast",))
    url = reverse("admin:corpus_document_change", args=[stored.document_id])
    page = admin_client.get(url).content.decode()
    places = [
        page.index(part)
        for part in (f"/ui/documents/{stored.document_id}", "citations__document", "Completed",
                     "white-space: pre-wrap", LIGHTHOUSE[-200:])
    ]  # fmt: skip
    assert places == sorted(places)
    assert LIGHTHOUSE in page


def test_of_a_long_text_the_beginning_is_shown(
    admin_client: Client, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus.admin.document_admin.TEXT_SHOWN_CHARS", 100)
    stored = ingest(LIGHTHOUSE)
    url = reverse("admin:corpus_document_change", args=[stored.document_id])
    page = admin_client.get(url).content.decode()
    assert f"{LIGHTHOUSE[:100]}\n\n… and {len(LIGHTHOUSE) - 100:,} more characters" in page
    assert LIGHTHOUSE[:101] not in page


def test_chunks_and_embeddings_are_called_by_title_and_headings(
    admin_client: Client, ingest: Ingest
) -> None:
    ingest(BAKERY)
    ingest(LIGHTHOUSE, title="Bavoke")
    Chunk.objects.filter(context="Bavoke").update(context="Bavoke > The tower")
    chunk = Chunk.objects.get(text__contains="basalt")
    name = f"Bavoke › The tower [{chunk.start_char}:{chunk.end_char}]"
    found = listed(admin_client, "corpus_embedding", q="bavoke")
    assert f">{name}<" in found
    assert "The bakery in Lindow" not in found
    assert "The bakery in Lindow" in listed(admin_client, "corpus_embedding")
    url = reverse("admin:corpus_chunk_change", args=[chunk.pk])
    assert name in admin_client.get(url).content.decode()


def test_confidence_has_two_digits(admin_client: Client, collection: Collection) -> None:
    answer = Answer.objects.create(
        question="Who?", kind="abstained", collection=collection, confidence=0.41807950426404855
    )
    shown = admin_client.get(reverse("admin:qa_answer_change", args=[answer.pk])).content.decode()
    for page in (listed(admin_client, "qa_answer"), shown):
        assert "0.42" in page
        assert "0.418" not in page


def test_the_fate_of_each_statement_of_a_draft_is_shown(
    admin_client: Client, collection: Collection
) -> None:
    draft = {
        "answerer": "openai/m", "text": "A. B.", "note": "", "prompt_tokens": 8,
        "completion_tokens": 2,
    }  # fmt: skip
    fate = {"text": "It is <tall>.", "quoted": "31 metres", "outcome": "quoted", "reason": "why"}
    before = {"text": "It is old.", "outcome": "dropped", "reason": ""}
    pages = []
    for told in ({"statements": [fate]}, {"sentences": [before], "cited": []}):
        answer = Answer.objects.create(
            question="Who?", kind="abstained", collection=collection, confidence=0.4,
            draft={**draft, **told},
        )  # fmt: skip
        url = reverse("admin:qa_answer_change", args=[answer.pk])
        pages.append(admin_client.get(url).content.decode())
    newer, older = pages
    cells = re.findall(r'<td class="[^"]*" style="white-space: pre-line">(.*?)</td>', newer)
    assert cells == ["It is &lt;tall&gt;.", "31 metres", "quoted", "why"]
    assert "openai/m, 8 + 2 tokens" in newer
    assert ">It is old.</td>" in older


def test_conversations_are_called_by_their_first_question(
    admin_client: Client, api: Api, stored: Any
) -> None:
    api.post("/ask", {"question": LIGHTHOUSE_QUESTION})
    assert LIGHTHOUSE_QUESTION in listed(admin_client, "qa_session")


def test_sections_come_by_use(admin_client: Client) -> None:
    sections = admin_client.get(reverse("admin:index")).context["app_list"]
    assert [section["name"] for section in sections] == [
        "Knowledge base", "Questions and answers", "Evaluation",
        "Authentication and Authorization", "Accounts", "Procrastinate",
    ]  # fmt: skip
    assert [str(model["name"]) for model in sections[0]["models"]][:3] == [
        "Documents", "Collections", "Tags",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "corpus_document", "corpus_collection", "corpus_tag", "corpus_chunk", "corpus_embedding",
        "corpus_job", "corpus_jobitem", "qa_answer", "qa_session", "evaluation_question",
    ],
)  # fmt: skip
def test_a_list_asks_the_database_no_more_often_for_more_rows(
    admin_client: Client, collection: Collection, name: str
) -> None:
    asked = []
    for count in (1, 4):
        for number in range(count):
            fill(collection, f"{count}-{number}")
        with CaptureQueriesContext(connection) as queries:
            listed(admin_client, name)
        asked.append(len(queries))
    assert asked[0] == asked[1]


def fill(collection: Collection, name: str) -> None:
    """A row of each kind; nothing of it is searched."""
    digest = sha256(name.encode()).hexdigest()
    document = Document.objects.create(collection=collection, title=name, content_sha256=digest)
    DocumentContent.objects.create(document=document, text=name, outline={})
    tag = Collection.objects.get_named("default").own_tags.create(name=name)
    document.tags.add(tag)
    chunk = Chunk.objects.create(
        document=document, collection=collection, ordinal=0, start_char=0, end_char=len(name),
        text=name, chunk_sha256=digest, token_count=1,
    )  # fmt: skip
    chunk.tags.add(tag)
    Embedding.objects.create(
        chunk=chunk, collection=collection, model="m", dimension=2, vector=[0, 1]
    )
    job = Job.objects.create(kind=Job.Kind.SYNC, collection=collection, total=1)
    JobItem.objects.create(job=job, key=f"/{name}", path=f"/{name}")
    answer = Answer.objects.create(
        collection=collection, question=name, kind="abstained", confidence=0
    )
    Session.objects.create().messages.create(answer=answer, searched=name)
    Question.objects.create(collection=collection, text=name)


def test_a_deletion_is_told_by_counts(admin_client: Client, stored: Any) -> None:
    url = reverse("admin:corpus_document_delete", args=[stored.document_id])
    page = admin_client.get(url).content.decode()
    assert f"Chunks: {stored.chunk_count}" in " ".join(page.split())
    admin_client.post(url, {"post": "yes"})
    assert not Document.objects.exists()


def test_the_default_collection_cannot_be_deleted(
    admin_client: Client, collection: Collection
) -> None:
    url = reverse("admin:corpus_collection_delete", args=[collection.pk])
    assert "protected" in admin_client.post(url, {"post": "yes"}).content.decode()
    assert Collection.objects.filter(pk=collection.pk).exists()
