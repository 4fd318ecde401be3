"""A collection mirrors mail: an mbox file, a Maildir, a folder of an IMAP server."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pydantic import SecretStr

from corpus.errors import UnreadableFile
from corpus.invariants import find_violations
from corpus.jobs.uploads import start_upload
from corpus.loaders.formats import email_loader
from corpus.models import Collection, Document, Job
from corpus.sources.mail import imap, maildir, mbox
from corpus.sources.source_settings import SourceSettings
from corpus.watched.due_syncs import sync_source
from tests.support.documents import BAKERY, LIGHTHOUSE
from tests.support.imap_server import PASSWORD, USER, Account, serve_imap
from tests.support.jobs import run_job
from tests.support.mails import ANSWER, FIRST, OTHER, mail, three_mails, write_mbox

pytestmark = pytest.mark.usefixtures("cheap_model", "no_violations")


def sync(settings: Any, source: SourceSettings, **options: Any) -> Job:
    settings.PKB_SOURCES = [source]
    job = sync_source(source.name, **options)
    return run_job(job)


def outcomes(job: Job) -> list[str]:
    return sorted(job.items.values_list("outcome", flat=True))


def addresses() -> list[str]:
    rows = Document.objects.stored().values_list("source_uri", flat=True)
    return sorted(uri.rpartition("#")[2] for uri in rows)


@pytest.fixture
def box(tmp_path: Path) -> mbox.Settings:
    path = tmp_path / "coast.mbox"
    write_mbox(path, three_mails())
    return mbox.Settings(name="coast", kind="mbox", path=path)


# mbox


def test_an_uploaded_mbox_becomes_its_threads_and_attachments(
    settings: Any, collection: Collection, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    write_mbox(tmp_path / "coast.mbox", three_mails())
    mailbox = SimpleUploadedFile("coast.mbox", (tmp_path / "coast.mbox").read_bytes())
    job = run_job(start_upload([mailbox], collection=collection))
    assert (job.status, outcomes(job)) == ("succeeded", ["added", "added", "added", "refused"])
    threads = Document.objects.filter(media_type="message/rfc822")
    assert "Lamp oil" in set(threads.values_list("title", flat=True))
    assert threads.count() == 2


def test_an_mbox_is_not_read_as_one_message(tmp_path: Path) -> None:
    write_mbox(tmp_path / "coast.mbox", three_mails())
    with pytest.raises(UnreadableFile, match="mbox of several messages"):
        email_loader.load((tmp_path / "coast.mbox").read_bytes(), filename="coast.mbox")


def test_a_thread_is_a_document_and_so_is_each_file_it_carries(
    settings: Any, box: mbox.Settings
) -> None:
    job = sync(settings, box)
    assert (job.status, outcomes(job)) == ("succeeded", ["added", "added"])
    assert addresses() == sorted([FIRST, OTHER, f"{ANSWER};part=1"])
    thread = Document.objects.get(source_uri=f"mbox:coast#{FIRST}")
    assert (thread.title, thread.media_type) == ("Lamp oil", "message/rfc822")
    assert LIGHTHOUSE.splitlines()[0] in thread.content.text
    assert "From nine miles on it is seen." in thread.content.text
    assert BAKERY[:20] not in thread.content.text
    headings = {tuple(path) for path in thread.chunks.values_list("heading_path", flat=True)}
    assert ("Lamp oil", "Orsolya Quill, 2026-11-02") in headings
    carried = Document.objects.get(source_uri=f"mbox:coast#{ANSWER};part=1")
    assert carried.content.text == BAKERY
    stated = {
        "from": "Orsolya Quill <orsolya@example.org>", "date": "2026-11-02T09:00:00+00:00",
        "sender": "orsolya@example.org",
        "subject": "Re: Lamp oil", "thread": "lamp oil", "attached_to": thread.source_uri,
    }  # fmt: skip
    assert stated.items() <= carried.metadata.items()
    text, noise = thread.metadata["attachments"]
    assert (text["document_id"], text["filename"]) == (str(carried.pk), "bakery.txt")
    assert "not supported" in noise["error"]
    assert thread.metadata["message_count"] == 2
    assert thread.metadata["senders"] == ["orsolya@example.org"]
    assert list(find_violations()) == []
    assert outcomes(sync(settings, box)) == ["unchanged", "unchanged"]


def test_an_mbox_is_mirrored_as_it_changes(settings: Any, box: mbox.Settings) -> None:
    sync(settings, box)
    first, answer, other = three_mails()
    write_mbox(box.path, [first, other, mail("", "Weather", "From the west it blows.", day=4)])
    assert outcomes(sync(settings, box)) == ["added", "replaced", "unchanged"]
    anonymous = Document.objects.get(title="Weather")
    assert "sha256-" in anonymous.source_uri
    assert "From the west it blows." in anonymous.content.text
    # What the answer carried went with it, and comes back with it.
    assert not Document.objects.filter(content__text=BAKERY).exists()
    write_mbox(box.path, [first, answer])
    assert outcomes(sync(settings, box)) == ["removed", "removed", "replaced"]
    assert addresses() == sorted([FIRST, f"{ANSWER};part=1"])


def test_a_file_that_two_threads_carry_stays_until_both_are_gone(
    settings: Any, box: mbox.Settings
) -> None:
    files = {"bakery.txt": BAKERY.encode()}
    one = mail("1@x", "One", "The first of them.", files=files)
    other = mail("2@x", "Other", "The second of them.", files=files)
    write_mbox(box.path, [one, other])
    sync(settings, box)
    assert addresses() == ["1@x", "1@x;part=1", "2@x"]
    carried = Document.objects.get(content__text=BAKERY).pk
    write_mbox(box.path, [other])
    assert outcomes(sync(settings, box)) == ["removed", "replaced"]
    assert addresses() == ["2@x", "2@x;part=1"]
    assert Document.objects.get(content__text=BAKERY).pk == carried
    assert outcomes(sync(settings, box)) == ["unchanged"]


def test_an_mbox_that_somebody_writes_is_left_alone(settings: Any, box: mbox.Settings) -> None:
    sync(settings, box)
    write_mbox(box.path, three_mails()[:1])

    def refused() -> str:
        job = sync(settings, box)
        assert (job.status, len(addresses())) == ("failed", 3)
        return str(job.errors[0]["reason"])

    lock = box.path.with_name("coast.mbox.lock")
    lock.touch()
    assert "somebody is writing it" in refused()
    lock.unlink()
    with box.path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "somebody is writing it" in refused()
    box.path.touch()
    assert "somebody is writing it" in refused()
    moved = box.path.rename(box.path.with_name("elsewhere"))
    assert "No such file" in refused()
    box.path.write_bytes(b"")
    os.utime(box.path, (1, 1))
    assert "has nothing now" in refused()
    box.path.write_text("no mail at all\n")
    os.utime(box.path, (1, 1))
    assert "not an mbox file" in refused()
    moved.rename(box.path)
    os.utime(box.path, (1, 1))
    assert sync(settings, box).status == "succeeded"
    assert addresses() == [FIRST]


def test_a_message_over_the_limit_is_left_out_of_its_thread(
    settings: Any, box: mbox.Settings
) -> None:
    settings.PKB_MAX_FILE_BYTES = 1_500
    sync(settings, box)
    thread = Document.objects.get(source_uri__endswith=FIRST)
    assert (thread.metadata["message_count"], thread.metadata["left_out"]) == (1, 1)


# Maildir


def test_a_maildir_is_mirrored_and_what_is_delivered_is_waited_for(
    settings: Any, tmp_path: Path
) -> None:
    top = tmp_path / "Maildir"
    source = maildir.Settings(name="coast", kind="maildir", path=top)
    assert "No such file" in sync(settings, source).errors[0]["reason"]
    for name in ("cur", "new", "tmp"):
        (top / name).mkdir(parents=True)
    first, answer, other = three_mails()
    (top / "cur" / "1.a.host:2,S").write_bytes(first)
    (top / "new" / "2.b.host").write_bytes(answer)
    (top / "tmp" / "3.c.host").write_bytes(other[:100])
    (top / "new" / "link").symlink_to("/etc/passwd")
    assert outcomes(sync(settings, source)) == ["added"]
    assert addresses() == ["1.a.host", "2.b.host;part=1"]
    # Read, flagged and moved by a mail program: the same message.
    (top / "new" / "2.b.host").rename(top / "cur" / "2.b.host:2,RS")
    (top / "tmp" / "3.c.host").write_bytes(other)
    (top / "tmp" / "3.c.host").rename(top / "new" / "3.c.host")
    assert outcomes(sync(settings, source)) == ["added", "unchanged"]
    (top / "cur" / "1.a.host:2,S").unlink()
    # The thread is called by its first message, and what it carries by its own.
    assert outcomes(sync(settings, source)) == ["added", "removed", "unchanged"]
    assert addresses() == ["2.b.host", "2.b.host;part=1", "3.c.host"]


def test_a_message_that_moves_while_the_maildir_is_read_is_found_again(tmp_path: Path) -> None:
    for name in ("cur", "new"):
        (tmp_path / name).mkdir()
    (tmp_path / "new" / "1.a").write_bytes(mail(FIRST))
    folder = maildir.Maildir("coast", tmp_path)
    (head,) = folder.list_heads()
    (tmp_path / "new" / "1.a").rename(tmp_path / "cur" / "1.a:2,S")
    assert folder.read_message(head) == mail(FIRST)


# IMAP


@pytest.fixture
def account(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serve_imap(certificate) as account:
        account.messages = dict(enumerate(three_mails(), start=11))
        yield account


def folder_of(account: Account, **changed: Any) -> imap.Settings:
    given = {
        "name": "inbox", "kind": "imap", "host": "localhost", "port": account.port,
        "user": USER, "folder": "Papérs", **changed,
    }  # fmt: skip
    return imap.Settings(**given).model_copy(update={"secret": SecretStr(PASSWORD)})


def test_a_folder_of_an_imap_server_is_mirrored_and_left_as_it_is(
    settings: Any, account: Account
) -> None:
    source = folder_of(account)
    assert outcomes(sync(settings, source)) == ["added", "added"]
    prefix = f"imap://anna%40example.org@localhost:{account.port}/Pap%C3%A9rs;UIDVALIDITY=7/;UID="
    assert addresses() == [f"{prefix}{uid}" for uid in ("11", "12;part=1", "13")]
    asked = [line.partition(" ")[0] for line in account.commands]
    assert "SELECT" not in asked
    assert "STORE" not in " ".join(account.commands)
    assert account.seen == set()
    assert asked[-1] == "LOGOUT"
    account.commands.clear()
    assert outcomes(sync(settings, source)) == ["unchanged", "unchanged"]
    assert "BODY.PEEK[]" not in " ".join(account.commands)
    del account.messages[13]
    account.messages[14] = mail("4@x", "Re: Lamp oil", "Who pays for it?", answers=FIRST, day=4)
    assert outcomes(sync(settings, source)) == ["removed", "replaced"]
    assert "Who pays for it?" in Document.objects.get(source_uri__endswith="UID=11").content.text


def test_new_numbers_of_a_folder_keep_its_documents(settings: Any, account: Account) -> None:
    source = folder_of(account)
    sync(settings, source)
    before = set(Document.objects.values_list("pk"))
    account.uid_validity = 8
    account.messages = {uid - 10: content for uid, content in account.messages.items()}
    assert outcomes(sync(settings, source)) == ["renamed", "renamed"]
    assert set(Document.objects.values_list("pk")) == before
    assert all("UIDVALIDITY=8" in uri for uri in addresses())


def test_a_folder_that_cannot_be_read_keeps_its_documents_and_its_password(
    settings: Any,
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = folder_of(account)
    sync(settings, source)
    account.messages = {20: mail("5@x", "New", "Something new.")}

    def refused(source: imap.Settings) -> str:
        job = sync(settings, source)
        assert (job.status, len(addresses())) == ("failed", 3)
        told = str(job.errors[0]["reason"])
        assert "pa" + '"ss' not in f"{told}{caplog.text}{job.arguments}"
        return told

    account.failure = ("cut", "UID FETCH")
    assert "it cannot be reached: abort" in refused(source)
    account.failure = ("no", "UID SEARCH")
    assert "it cannot be reached: MailboxUidsError" in refused(source)
    account.failure = ("no", "AUTHENTICATE")
    assert "user and password are not taken" in refused(source)
    account.failure = ("", "")
    assert "there is no such folder" in refused(folder_of(account, folder="Nowhere"))
    wrong = source.model_copy(update={"secret": SecretStr("other")})
    assert "user and password are not taken" in refused(wrong)
    assert "it cannot be reached: ConnectionRefusedError" in refused(folder_of(account, port=9))
    monkeypatch.delenv("SSL_CERT_FILE")
    assert "its certificate is not trusted" in refused(source)
