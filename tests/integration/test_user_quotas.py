"""What settings let each user have: documents, bytes and unfinished jobs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.authentication import principal_of
from corpus.access.principal import SYSTEM, acting_as
from corpus.errors import NoRoomLeft, TooManyJobs
from corpus.ingestion.folder_mirror import SyncOptions
from corpus.ingestion.ingest import move_to_collection, reingest_document
from corpus.jobs.kinds.edit_job import Act, start_edit
from corpus.jobs.kinds.job_kind import start_job
from corpus.jobs.kinds.source_job import start_source_sync
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.run import run_job_slice_for_creator
from corpus.jobs.states import cancel_job, retry_job
from corpus.jobs.uploads import start_upload
from corpus.models import Collection, Document, Job
from corpus.roots.shown_paths import uploads_folder
from corpus.sources.mail import mbox
from tests.support.database import held_up
from tests.support.documents import BAKERY, LIGHTHOUSE, ingest_text_of
from tests.support.mails import FIRST, mail, write_mbox
from tests.support.users import Tenant, call, make_otto

pytestmark = pytest.mark.usefixtures("empty_queue", "cheap_model")


@pytest.fixture
def otto(settings: Any) -> Tenant:
    settings.PKB_AUTH_REQUIRED = True
    return make_otto()


@pytest.fixture
def own(otto: Tenant) -> Iterator[Collection]:
    """A collection of Otto, who acts."""
    with acting_as(principal_of(otto.user)):
        yield Collection.objects.create(
            name="own", embedding_model="hashing-64", dimension=64, chunk_size=200
        )


def upload(*texts: str) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(f"{number}.txt", each.encode()) for number, each in enumerate(texts)]


def run(job: Job) -> Job:
    assert run_job_slice_for_creator(job.pk, should_stop=lambda: False, is_slice_over=lambda: False)
    job.refresh_from_db()
    return job


def ingest_by_key(otto: Tenant, text: str, **given: str) -> Any:
    return call(otto.key, "post", "/ingest", text=text, **given)


def test_a_document_too_many_is_refused_until_one_is_deleted(settings: Any, otto: Tenant) -> None:
    settings.PKB_USER_MAX_DOCUMENTS = 1
    first = ingest_by_key(otto, LIGHTHOUSE, source_uri="note:1").json()["document_id"]
    refused = ingest_by_key(otto, BAKERY)
    assert (refused.status_code, refused.json()["error"]) == (413, "no_room_left")
    assert "1 of the 1 documents that they may have. Delete" in refused.json()["detail"]
    # A new version of what is there is none more.
    assert ingest_by_key(otto, f"{LIGHTHOUSE} It is red.", source_uri="note:1").status_code == 200
    call(otto.key, "delete", f"/documents/{first}")
    assert ingest_by_key(otto, BAKERY).status_code == 201


def test_only_one_of_two_at_once_gets_the_last_place(
    transactional_db: None, settings: Any, own: Collection
) -> None:
    settings.PKB_USER_MAX_DOCUMENTS = 1
    ingest = ingest_text_of(own)
    with pytest.raises(NoRoomLeft), held_up(lambda: ingest(BAKERY)):
        ingest(LIGHTHOUSE)
    assert Document.objects.stored().count() == 1


def test_file_over_the_bound_fails_alone_until_there_is_room(
    settings: Any, own: Collection, tmp_path: Path
) -> None:
    settings.PKB_USER_MAX_BYTES = 1_500
    settings.DATA_DIR = tmp_path
    job = run(start_upload(upload(LIGHTHOUSE, BAKERY * 7, BAKERY), collection=own))
    assert (job.status, job.done, job.failed) == ("failed", 2, 1)
    [error] = job.errors
    assert error["path"].endswith("1.txt")
    assert "of the 1.5 KB of documents that they may have; this would be 1.1 KB" in error["reason"]
    with pytest.raises(NoRoomLeft):
        # The file that failed is kept, too, and leaves no room for others.
        start_upload(upload(f"{BAKERY} It smells."), collection=own)
    Document.objects.get(file_path__endswith="0.txt").delete()
    assert run(retry_job(job.pk)).status == "succeeded"
    assert Document.objects.stored().count() == 2


def test_a_file_of_a_folder_is_tried_again_by_the_next_sync(
    settings: Any, own: Collection, tmp_path: Path
) -> None:
    settings.PKB_USER_MAX_DOCUMENTS = 1
    for number, text in enumerate((LIGHTHOUSE, BAKERY)):
        (tmp_path / f"{number}.txt").write_text(text)
    options = SyncOptions(paths=(str(tmp_path),), mirror=True)
    assert run(start_sync(own, options)).failed == 1
    settings.PKB_USER_MAX_DOCUMENTS = 2
    assert run(start_sync(own, options)).failed == 0


def test_a_mail_over_the_bound_keeps_its_files_and_is_tried_again(
    settings: Any, own: Collection, tmp_path: Path
) -> None:
    box = mbox.Settings(name="coast", kind="mbox", path=tmp_path / "box")
    settings.PKB_SOURCES = [box]

    def sync(carried: str) -> Job:
        write_mbox(box.path, [mail(FIRST, files={"bakery.txt": carried.encode()})])
        with acting_as(SYSTEM):
            return run(start_source_sync(box, own))

    assert sync(BAKERY).status == "succeeded"
    settings.PKB_USER_MAX_BYTES = 1_024
    refused = sync(f"{BAKERY} {LIGHTHOUSE}")
    assert "this would be 345 bytes more" in refused.errors[0]["reason"]
    assert Document.objects.filter(content__text=BAKERY).exists()
    settings.PKB_USER_MAX_BYTES = 2**20
    assert sync(f"{BAKERY} {LIGHTHOUSE}").status == "succeeded"
    assert not Document.objects.filter(content__text=BAKERY).exists()


def test_what_makes_nothing_more_goes_on_under_a_lower_bound(
    settings: Any, own: Collection
) -> None:
    ingest = ingest_text_of(own)
    key = ingest(LIGHTHOUSE).document_id
    ingest(BAKERY)
    settings.PKB_USER_MAX_DOCUMENTS, settings.PKB_USER_MAX_BYTES = 1, 1_024
    other = Collection.objects.create(
        name="other", embedding_model="hashing-64", dimension=64, chunk_size=200
    )
    reingest_document(Document.objects.get(pk=key))
    move_to_collection(Document.objects.get(pk=key), other)
    assert Document.objects.get(pk=key).collection == other


def test_what_others_bring_counts_for_the_owner(settings: Any, own: Collection) -> None:
    settings.PKB_USER_MAX_DOCUMENTS = 1
    guest = get_user_model().objects.create_user("guest")
    own.grants.create(user=guest, role="writer")
    with acting_as(principal_of(guest)):
        ingest_text_of(own)(LIGHTHOUSE)
        with pytest.raises(NoRoomLeft):
            ingest_text_of(own)(BAKERY)


def test_another_job_is_refused_until_one_has_ended(
    settings: Any, own: Collection, tmp_path: Path
) -> None:
    settings.PKB_USER_MAX_JOBS = 2
    settings.DATA_DIR = tmp_path
    ended = start_job(Job.Kind.REEMBED, own.pk, {})
    cancel_job(ended.pk)
    start_job(Job.Kind.REEMBED, own.pk, {})
    document = ingest_text_of(own)(LIGHTHOUSE).document_id
    [job] = start_edit([document], Act.TAG, tags=["sea"])  # type: ignore[list-item]
    with pytest.raises(TooManyJobs, match="2 unfinished jobs, of 2"):
        start_upload(upload(BAKERY), collection=own)
    assert not [each for each in uploads_folder().iterdir() if any(each.iterdir())]
    with pytest.raises(TooManyJobs):
        retry_job(ended.pk)
    with pytest.raises(TooManyJobs):
        start_edit([document], Act.UNTAG, tags=["sea"])  # type: ignore[list-item]
    run(job)
    retry_job(ended.pk)


def test_only_one_of_two_jobs_at_once_is_made(
    transactional_db: None, settings: Any, own: Collection, tmp_path: Path
) -> None:
    settings.PKB_USER_MAX_JOBS = 1
    options = SyncOptions(paths=(str(tmp_path),))
    with pytest.raises(TooManyJobs), held_up(lambda: start_sync(own, options)):
        start_sync(own, options)
    assert Job.objects.count() == 1


@pytest.mark.parametrize("why", ["staff", "superuser", "no login", "command"])
def test_nobody_is_bounded_who_looks_after_the_installation(
    settings: Any, own: Collection, otto: Tenant, why: str
) -> None:
    settings.PKB_USER_MAX_DOCUMENTS = settings.PKB_USER_MAX_JOBS = 1
    settings.PKB_AUTH_REQUIRED = why != "no login"
    otto.user.is_staff, otto.user.is_superuser = why == "staff", why == "superuser"
    otto.user.save()
    with acting_as(SYSTEM if why == "command" else principal_of(otto.user)):
        for text in (LIGHTHOUSE, BAKERY):
            document = ingest_text_of(own)(text).document_id
            start_edit([document], Act.TAG, tags=["sea"])  # type: ignore[list-item]
    assert (Document.objects.count(), Job.objects.count()) == (2, 2)


def test_the_use_is_told_by_the_api_and_the_library(
    settings: Any, own: Collection, otto: Tenant
) -> None:
    ingest_text_of(own)(LIGHTHOUSE)
    start_job(Job.Kind.REEMBED, own.pk, {})
    asked = {"collection": "own"}
    assert "your_use" not in call(otto.key, "get", "/documents/stats", **asked).json()
    settings.PKB_USER_MAX_DOCUMENTS, settings.PKB_USER_MAX_JOBS = 10, 5
    size = len(LIGHTHOUSE.encode())
    assert call(otto.key, "get", "/documents/stats", **asked).json()["your_use"] == {
        "size_bytes": {"used": size, "bound": None},
        "documents": {"used": 1, "bound": 10},
        "jobs": {"used": 1, "bound": 5},
    }
    client = Client()
    client.force_login(otto.user)
    page = " ".join(client.get("/ui/library").content.decode().split())
    told = f"You have 1 of 10 documents, {size} bytes, and 1 of 5 unfinished jobs."
    assert told in page
