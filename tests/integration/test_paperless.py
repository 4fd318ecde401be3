"""A collection mirrors a paperless-ngx."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from pydantic import SecretStr

from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice
from corpus.jobs.states import retry_job
from corpus.models import Chunk, Document, Job, JobItem
from corpus.sources import web_client
from corpus.sources.paperless import Settings
from corpus.watched.due_syncs import source_states, start_due_syncs, sync_source
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.jobs import run_job
from tests.support.paperless import TOKEN, Paperless, serve_paperless

pytestmark = pytest.mark.usefixtures("cheap_model", "no_violations")


@pytest.fixture
def paperless(settings: Any) -> Iterator[Paperless]:
    with serve_paperless() as served:
        configure(settings, served)
        yield served


def configure(settings: Any, served: Paperless, **changed: Any) -> None:
    given = {"name": "office", "kind": "paperless", "url": served.url, **changed}
    secret = SecretStr(changed.pop("secret", TOKEN))
    settings.PKB_SOURCES = [Settings(**given).model_copy(update={"secret": secret})]


def sync(**options: Any) -> Job:
    job = sync_source("office", **options)
    return run_job(job)


def outcomes(job: Job) -> list[str]:
    return sorted(job.items.values_list("outcome", flat=True))


def stored() -> dict[str, str]:
    """Each document's number in paperless, and how its text begins."""
    rows = Document.objects.stored().values_list("source_uri", "content__text")
    return {uri.rpartition("/")[2]: text[:20] for uri, text in rows}


def fill(paperless: Paperless, count: int) -> None:
    for number in range(1, count + 1):
        paperless.put(number, f"Letter of the {number}. day: the ferry to Bavoke is late again.")


def test_documents_come_with_what_paperless_knows_of_them(paperless: Paperless) -> None:
    paperless.put(12, LIGHTHOUSE, title="Bavoke", tags=[2, 1], archive_serial_number=99)
    assert outcomes(sync()) == ["added"]
    document = Document.objects.get()
    host = paperless.url.removeprefix("http://")
    assert document.source_uri == f"paperless://{host}/documents/12"
    assert (document.title, document.source, document.file_path) == ("Bavoke", "office", "")
    assert set(document.tags.values_list("name", flat=True)) == {
        "coast", "to do", "harbour office", "invoice",
    }  # fmt: skip
    assert (
        document.metadata
        | {
            "correspondent": "Harbour Office",
            "document_type": "Invoice",
            "archive_serial_number": 99,
            "url": f"{paperless.url}/documents/12/details",
        }
        == document.metadata
    )
    assert document.user_created_at is not None
    assert document.user_created_at.date().isoformat() == "2026-11-02"
    assert document.content.text == LIGHTHOUSE


def test_all_pages_are_listed_and_what_is_unchanged_is_not_read_again(
    paperless: Paperless,
) -> None:
    fill(paperless, 3)
    assert outcomes(sync()) == ["added"] * 3
    assert len(paperless.asked_for("documents/\\?page=")) == 2
    paperless.asked.clear()
    assert outcomes(sync()) == ["unchanged"] * 3
    assert paperless.asked_for(r"/documents/\d") == []


def test_what_changed_is_replaced_and_what_vanished_goes(paperless: Paperless) -> None:
    fill(paperless, 3)
    sync()
    kept = set(Chunk.objects.filter(document__source_uri__endswith="/1").values_list("pk"))
    paperless.put(2, BAKERY, modified="2026-11-09T08:00:00Z")
    del paperless.documents[3], paperless.files[3]
    paperless.put(6, LIGHTHOUSE)
    paperless.asked.clear()
    assert outcomes(sync()) == ["added", "removed", "replaced", "unchanged"]
    assert len(paperless.asked_for("/download/")) == 2
    assert sorted(stored()) == ["1", "2", "6"]
    assert stored()["2"] == BAKERY[:20]
    assert set(Chunk.objects.filter(document__source_uri__endswith="/1").values_list("pk")) == kept


def test_a_renamed_tag_reaches_documents_that_did_not_change(paperless: Paperless) -> None:
    paperless.put(1, LIGHTHOUSE)
    sync()
    before = set(Chunk.objects.values_list("pk"))
    paperless.tags[1] = "Shore"
    assert outcomes(sync()) == ["replaced"]
    assert "shore" in Document.objects.get().tags.values_list("name", flat=True)
    assert set(Chunk.objects.values_list("pk")) == before


def test_a_scan_comes_by_the_text_that_paperless_read(paperless: Paperless) -> None:
    paperless.put(1, LIGHTHOUSE, original_file_name="scan.png")
    paperless.files[1] = b"\x89PNG\r\n\x1a\n" + bytes(500)
    assert outcomes(sync()) == ["added"]
    assert Document.objects.get().content.text == LIGHTHOUSE


def test_the_archived_version_goes_before_the_original(paperless: Paperless) -> None:
    paperless.put(1, LIGHTHOUSE, archived_file_name="2026-11-02 Letter.txt")
    paperless.put(2, BAKERY)
    sync()
    assert len(paperless.asked_for("/1/download/$")) == 1
    assert len(paperless.asked_for(r"/2/download/\?original=true$")) == 1


def test_content_that_goes_from_one_document_to_another_is_never_lost(
    paperless: Paperless,
) -> None:
    paperless.put(1, LIGHTHOUSE)
    sync()
    paperless.put(1, BAKERY, modified="2026-11-09T08:00:00Z")
    paperless.put(2, LIGHTHOUSE)
    assert outcomes(sync()) == ["added", "replaced"]
    assert stored() == {"1": BAKERY[:20], "2": LIGHTHOUSE[:20]}


def test_a_refused_document_says_why_and_is_not_read_again(paperless: Paperless) -> None:
    paperless.put(1, "", original_file_name="empty.txt")
    job = sync()
    assert (job.status, outcomes(job)) == ("succeeded", ["refused"])
    document = Document.objects.get()
    assert (document.status, document.error) == ("failed", "The file is empty.")
    paperless.asked.clear()
    assert outcomes(sync()) == ["refused"]
    assert paperless.asked_for("/download/") == []
    paperless.put(1, LIGHTHOUSE, modified="2026-11-09T08:00:00Z")
    assert outcomes(sync()) == ["added"]


# What cannot be reached removes nothing


FAILURES: list[tuple[str, int | str, str]] = [
    ("/api/documents/", 401, "it answers 401: the token is not taken"),
    ("/api/documents/", 500, "it answers 500"),
    ("/api/documents/", 302, "it answers 302"),
    ("/api/documents/", "slow", "it cannot be reached: ReadTimeout"),
    ("/api/documents/", "cut", "it cannot be reached: RemoteProtocolError"),
    ("/api/tags/", 500, "it answers 500"),
]


def test_a_source_that_cannot_be_listed_removes_nothing(
    paperless: Paperless, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(paperless, 1)
    sync()
    paperless.documents.clear()
    paperless.put(9, LIGHTHOUSE)
    monkeypatch.setattr(web_client, "STEP_S", 0.2)
    for path, failure, told in FAILURES:
        paperless.broken = {path: failure}
        job = sync()
        assert (job.status, list(stored())) == ("failed", ["1"]), told
        assert told in job.errors[0]["reason"]
        assert TOKEN not in f"{job.errors}{job.arguments}{caplog.text}{source_states()}"
    paperless.broken.clear()
    sync()
    assert list(stored()) == ["9"]


def test_a_server_that_is_not_there_removes_nothing(paperless: Paperless, settings: Any) -> None:
    fill(paperless, 1)
    sync()
    configure(settings, paperless, url="http://127.0.0.1:9")
    job = sync()
    assert (job.status, list(stored())) == ("failed", ["1"])
    assert job.errors[0]["reason"] == "office: it cannot be reached: ConnectError."


def test_an_empty_answer_removes_nothing_unless_it_was_emptied_on_purpose(
    paperless: Paperless,
) -> None:
    fill(paperless, 2)
    sync()
    paperless.documents.clear()
    job = sync()
    assert job.status == "failed"
    assert "office has nothing now" in job.errors[0]["reason"]
    assert len(stored()) == 2
    assert outcomes(sync(emptied=True)) == ["removed"] * 2
    assert stored() == {}


def test_one_document_that_cannot_be_read_keeps_its_last_version(paperless: Paperless) -> None:
    fill(paperless, 3)
    sync()
    for number in (1, 2):
        paperless.put(number, f"{BAKERY} {number}", modified="2026-11-09T08:00:00Z")
    paperless.broken["/2/download/"] = "cut"
    job = sync()
    assert (job.status, outcomes(job)) == ("failed", ["failed", "replaced", "unchanged"])
    assert stored()["2"].startswith("Letter of the 2.")
    assert Document.objects.get(source_uri__endswith="/2").status == "completed"
    paperless.broken.clear()
    assert run_job_slice(retry_job(job.pk).pk)
    assert outcomes(job) == ["replaced", "replaced", "unchanged"]
    assert stored()["2"].startswith(BAKERY[:20])


def test_source_that_goes_away_half_way_is_not_waited_for_again(
    paperless: Paperless,
) -> None:
    fill(paperless, 5)
    paperless.broken["/download/"] = 500
    job = sync()
    assert (job.status, job.total, job.failed) == ("failed", 5, 5)
    assert len(paperless.asked_for("/download/")) == 3


def test_a_document_that_a_page_turned_over_is_not_taken_for_gone(
    paperless: Paperless, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(paperless, 4)
    sync()
    whole = paperless.answer

    def answer(path: str, query: dict[str, str]) -> tuple[int, bytes]:
        found = whole(path, query)
        if query.get("page") == "1" and 1 in paperless.documents and path.endswith("documents/"):
            # Everything behind it moves up by one, and the third is on no page that is read.
            del paperless.documents[1]
        return found

    monkeypatch.setattr(paperless, "answer", answer)
    assert outcomes(sync()) == ["unchanged"] * 3
    assert sorted(stored()) == ["1", "2", "3", "4"]
    assert outcomes(sync()) == ["removed", *["unchanged"] * 3]
    assert sorted(stored()) == ["2", "3", "4"]


def test_a_file_over_the_limit_is_not_read_to_its_end(paperless: Paperless, settings: Any) -> None:
    settings.PKB_MAX_FILE_BYTES = 1_000
    paperless.put(1, "")
    paperless.files[1] = b"x" * 5_000
    job = sync()
    assert (outcomes(job), len(stored())) == (["refused"], 0)
    assert "more than the allowed 1,000 bytes" in job.errors[0]["reason"]


# Broken off


def test_a_job_that_was_broken_off_goes_on_to_the_exact_mirror(paperless: Paperless) -> None:
    fill(paperless, 4)
    job = sync_source("office")
    turns = iter([False, True])
    assert not run_job_slice(job.pk, is_slice_over=lambda: next(turns))
    assert 0 < len(stored()) < 4
    assert list(find_violations()) == []
    # Another process, which has listed nothing.
    from corpus.jobs.kinds import source_job  # noqa: PLC0415

    source_job._close(job.pk)
    del paperless.documents[4], paperless.files[4]
    assert run_job_slice(job.pk)
    job = sync()
    assert sorted(stored()) == ["1", "2", "3"]
    assert list(find_violations()) == []
    assert job.status == "succeeded"


def test_a_deleted_document_leaves_no_address_behind(paperless: Paperless) -> None:
    fill(paperless, 1)
    sync()
    document = Document.objects.get()
    document.delete()
    assert not JobItem.objects.filter(key__contains=document.source_uri).exists()
    assert outcomes(sync()) == ["added"]


# Command and schedule


def test_the_command_mirrors_and_foretells(paperless: Paperless) -> None:
    fill(paperless, 2)
    said = StringIO()
    call_command("sync_source", "office", dry_run=True, stdout=said)
    assert "2 entries would be: 2 added" in said.getvalue()
    assert not Document.objects.exists()
    waiting = sync_source("office")
    call_command("sync_source", "office", stdout=said)
    assert "2 files: 2 added" in said.getvalue()
    assert Job.objects.get().pk == waiting.pk
    del paperless.documents[1]
    call_command("sync_source", "office", dry_run=True, stdout=said)
    assert "2 entries would be: 1 removed, 1 unchanged" in said.getvalue()
    assert len(stored()) == 2


def test_a_source_that_is_due_is_synced_once(paperless: Paperless, settings: Any) -> None:
    fill(paperless, 1)
    configure(settings, paperless)
    start_due_syncs()
    assert not Job.objects.exists()
    configure(settings, paperless, every="1h")
    start_due_syncs()
    start_due_syncs()
    job = Job.objects.get()
    run_job_slice(job.pk)
    start_due_syncs()
    assert Job.objects.count() == 1
    Job.objects.update(created_at=job.created_at.replace(year=job.created_at.year - 1))
    start_due_syncs()
    assert Job.objects.count() == 2
