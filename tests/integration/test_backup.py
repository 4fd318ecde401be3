"""What is taken out comes back as it was: all of it, or nothing, and never damaged."""

import gzip
import json
import resource
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import authenticate, get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command, load_command_class
from django.db import OperationalError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import JSONField, Value
from django.http import HttpRequest
from django.utils import timezone

from corpus import invariants
from corpus.access.principal import bind_principal
from corpus.jobs.run import run_job_slice
from corpus.jobs.uploads import start_upload
from corpus.models import (
    Collection,
    Document,
    DocumentContent,
    Embedding,
    IdempotentRequest,
    Installation,
    Tag,
    Tombstone,
)
from pkb.backup.export import export_to
from pkb.backup.manifest import BackupError, read_manifest
from pkb.backup.restore import migration_targets, restore_from
from pkb.backup.rotation import make_backup, read_backups
from pkb.backup.table_selection import (
    EXCLUDED,
    EXCLUDED_APPS,
    VECTOR_TABLES,
    Selection,
    exported_tables,
)
from pkb.backup.tasks import back_up
from qa import models
from tests.support.commands import run
from tests.support.database import POLL_S, fingerprint, places_of, tables
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("cheap_model")]

# What COPY, JSON or a reader of lines could take for something else.
AWKWARD = 'Tab\t, "quotes", \\backslash\\n, {braces}, \u2028 and \x85, 😀, N\u0303, \\. and \x01.'
PASSWORD = "correct horse battery"


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "one"
    settings.PKB_TOKEN_VECTORS = "off"
    settings.DATA_DIR.mkdir()
    return tmp_path


@pytest.fixture
def stored(home: Path, ingest: Ingest, collection: Collection) -> Collection:
    """Something in every kind of table; returns a second collection."""
    ingest(LIGHTHOUSE, title=AWKWARD, tags=("coast",), metadata={"note": AWKWARD, "none": None})
    job = start_upload([SimpleUploadedFile("bakery.txt", BAKERY.encode())], collection=collection)
    assert run_job_slice(job.pk)
    other = Collection.objects.create(
        name="other", embedding_model="hashing-64", dimension=64, chunk_size=200
    )
    ingest_text_of(other)(BAKERY, title="Elsewhere", tags=("bread",))
    _answer(collection)
    null = Value(None, JSONField())
    IdempotentRequest.objects.create(key="k", request_sha256="0" * 64, status=201, body=null)
    Tombstone.objects.create(
        content_sha256="1" * 64, seal=b"\x00\xff345678", width=8, hashes=b"12345678"
    )
    get_user_model().objects.create_user("ada", password=PASSWORD)
    return other


def _answer(collection: Collection) -> None:
    document = collection.documents.get(title=AWKWARD)
    answer = models.Answer.objects.create(
        collection=collection, question="Who?", text="Orsolya Quill.", kind="answer",
        confidence=0.1 + 0.2, steps=[{"ms": 0.30000000000000004}],
    )  # fmt: skip
    models.Citation.objects.create(
        answer=answer, ordinal=0, document=document, chunk=document.chunks.first(),
        content_sha256=document.content_sha256, quote=document.content.text[:12], start_char=0,
        end_char=12, answer_start=0, answer_end=5, score=1 / 3, support="quoted",
    )  # fmt: skip
    session = models.Session.objects.create(is_kept=True, name=AWKWARD)
    models.Message.objects.create(session=session, answer=answer, searched="Who?")
    models.Feedback.objects.create(answer=answer, rating="up", comment=AWKWARD)


def destroy() -> None:
    """Leave an installation as the first start makes it."""
    call_command("flush", interactive=False, verbosity=0)


def rows() -> dict[str, str]:
    """A hash of the rows of each table that is carried."""
    names = {f'"{t.name}"' if not t.name.islower() else t.name for t in exported_tables(EVERYTHING)}
    return {name: digest for name, digest in fingerprint().items() if name in names}


EVERYTHING = Selection(vectors=True, secrets=True)


def test_a_restored_backup_is_what_was_backed_up(
    home: Path, stored: Collection, settings: Any, ingest: Ingest
) -> None:
    settings.PKB_BACKUP_DIR = home / "backups"
    (settings.DATA_DIR / "secret_key").write_text("a key")
    before = rows()
    back_up(timestamp=0)
    (backup,) = settings.PKB_BACKUP_DIR.iterdir()
    destroy()
    shutil.rmtree(settings.DATA_DIR)
    out, _, _ = run("restore", backup, "--trusted")
    assert "3 documents" in out
    assert "Delete again what was deleted since then" in out
    assert rows() == before
    assert (settings.DATA_DIR / "secret_key").read_text() == "a key"
    (upload,) = (settings.DATA_DIR / "uploads").rglob("*.txt")
    assert upload.read_text() == BAKERY
    assert authenticate(HttpRequest(), username="ada", password=PASSWORD)
    assert Installation.objects.get().has_had_samples
    assert list(invariants.find_violations()) == []
    # Rows that come now get numbers of their own.
    ingest("The mill at Orrow grinds buckwheat and oats for the whole valley.", tags=("new",))
    assert list(invariants.find_violations()) == []


def test_an_export_moves_without_secrets_and_is_embedded_where_it_comes(
    home: Path, stored: Collection, settings: Any
) -> None:
    vectors = Embedding.objects.order_by("chunk_id").values_list("chunk_id", "vector")
    before = [(key, tuple(vector)) for key, vector in vectors]
    run("export", home / "export")
    files = [path.read_bytes() for path in (home / "export").rglob("*") if path.is_file()]
    user = get_user_model().objects.get(username="ada")
    assert not any(user.password.encode() in content for content in files)
    destroy()
    settings.DATA_DIR = home / "two"
    out, _, _ = run("restore", home / "export")
    assert "Embedding 3 documents" in out
    assert "changepassword" in out
    assert [(key, tuple(vector)) for key, vector in vectors.all()] == before
    upload = Document.objects.get(file_path__endswith="/bakery.txt")
    assert Path(upload.file_path).read_text() == BAKERY
    assert upload.source_uri == Path(upload.file_path).as_uri()
    assert places_of(f"{home}/one") == set()
    assert not get_user_model().objects.get(username="ada").has_usable_password()
    assert list(invariants.find_violations()) == []


def test_one_collection_takes_what_belongs_to_it_and_no_more(
    home: Path, stored: Collection
) -> None:
    default = Collection.objects.get(name="default")
    assert export_to(home / "default", vectors=True, collection=default).upload_count == 1
    assert export_to(home / "export", vectors=True, collection=stored).upload_count == 0
    destroy()
    restore_from(home / "export")
    assert list(Document.objects.values_list("title", flat=True)) == ["Elsewhere"]
    assert list(Tag.objects.values_list("name", flat=True)) == ["bread"]
    assert set(Collection.objects.values_list("name", flat=True)) == {"default", "other"}
    assert not models.Session.objects.exists()
    assert not get_user_model().objects.exists()
    assert list(invariants.find_violations()) == []


def test_what_is_not_whole_is_refused_by_name_and_changes_nothing(
    home: Path, stored: Collection
) -> None:
    folder = home / "export"
    export_to(folder, vectors=True)
    upload = next((folder / "uploads").rglob("*.txt"))
    chunks = folder / "tables" / "corpus_chunk.jsonl.gz"
    before = rows()

    def refused(match: str) -> None:
        with pytest.raises(BackupError, match=match):
            restore_from(folder)
        assert rows() == before

    refused("not empty .*corpus_document")
    destroy()
    before = rows()
    Collection.objects.create(name="mine", embedding_model="m", dimension=8, chunk_size=200)
    with pytest.raises(BackupError, match=r"not empty \(corpus_collection\)"):
        restore_from(folder)
    Collection.objects.get(name="mine").delete()
    for path, damaged in (
        (chunks, chunks.read_bytes().replace(b"\x00", b"\x01", 1)),
        (chunks, chunks.read_bytes()[:100]),
        (upload, b"another"),
        (folder / "manifest.json", b"{}"),
        (folder / "manifest.json", b'{"format": 2}'),
    ):
        with changed(path, damaged):
            refused(path.name)
    with changed(upload, None):
        refused(upload.name)
    with changed(folder / "manifest.json", None):
        refused("not a complete export")
    newer = json.loads((folder / "manifest.json").read_text())
    newer["migrations"]["corpus"] = "9999_later"
    with changed(folder / "manifest.json", json.dumps(newer).encode()):
        refused("another version of pkb.*corpus.9999_later")


@contextmanager
def changed(path: Path, content: bytes | None) -> Iterator[None]:
    """Put other bytes into a file, or none there at all, until the block ends."""
    former = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    yield
    path.write_bytes(former)


def test_a_restore_that_is_cut_off_leaves_nothing_and_can_be_run_again(
    home: Path, stored: Collection
) -> None:
    before = rows()
    export_to(home / "export", vectors=True, secrets=True)
    destroy()
    empty = rows()
    restore = partial(restore_from, home / "export", is_trusted=lambda contents: True)
    cut_off(restore, at="qa_feedback")
    assert rows() == empty
    restore()
    assert rows() == before


def cut_off(act: Callable[[], object], *, at: str) -> None:
    """Run ``act`` on another connection, and end that when it comes to a table."""

    def act_elsewhere() -> None:
        try:
            act()
        finally:
            connection.close()

    waiting = "SELECT pid FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {at}")
            begun = pool.submit(bind_principal(act_elsewhere))
            cursor.execute(waiting, [at])
            while (found := cursor.fetchone()) is None:
                assert not begun.done(), begun.result()
                sleep(POLL_S)
                cursor.execute(waiting, [at])
            cursor.execute("SELECT pg_terminate_backend(%s)", found)
        with pytest.raises(OperationalError):
            begun.result()


def test_a_backup_that_fails_leaves_the_last_good_ones_and_says_so(
    home: Path, stored: Collection, settings: Any
) -> None:
    settings.PKB_BACKUP_DIR = folder = home / "backups"
    old, older = ((timezone.now() - timedelta(days=days)) for days in (1, 2))
    for time in (old, older):
        (folder / time.strftime("pkb-%Y%m%dT%H%M%SZ")).mkdir(parents=True)
    # Not below: what Python compiles then is cut off, too, and fails the next run.
    load_command_class("pkb", "backup")
    # As a disk that is full, half-way through the rows of a table.
    with (
        largest_file(2_000),
        pytest.raises(CommandError, match=r"No backup was written\. .*too large"),
    ):
        run("backup", folder)
    found = read_backups(folder)
    assert len(found.times) == 2
    assert "too large" in found.failure
    assert not found.is_due(timedelta(hours=1))
    assert not list(folder.glob(".*"))
    # What a killed one left is in nobody's way, and of three two stay.
    (folder / ".backup.partial").mkdir()
    (folder / ".backup.partial" / "half").write_text("of a file")
    made, manifest = make_backup(folder, keep=2)
    assert read_manifest(made) == manifest
    assert not (made / "half").exists()
    found = read_backups(folder)
    assert len(found.times) == 2
    assert found.failure == ""
    assert not found.is_due(timedelta(hours=1))
    assert found.is_due(timedelta(0))


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


def test_rows_from_before_an_app_was_there_are_migrated(home: Path, stored: Collection) -> None:
    get_user_model().objects.update(is_staff=True)
    export_to(home / "export", vectors=True)
    path = home / "export" / "manifest.json"
    older = json.loads(path.read_text())
    del older["migrations"]["evaluation"]
    older["tables"] = [each for each in older["tables"] if "evaluation" not in each["name"]]
    path.write_text(json.dumps(older))
    destroy()
    with pytest.raises(BackupError, match="staff"):
        restore_from(home / "export")
    assert not get_user_model().objects.exists()
    assert Collection.objects.get().name == "default"
    restore_from(home / "export", is_trusted=lambda contents: True)
    assert models.Citation.objects.count() == 1
    assert migration_targets(read_manifest(path.parent).migrations) == [("evaluation", None)]
    assert list(invariants.find_violations()) == []


def test_rows_of_migrations_that_were_squashed_are_restored(home: Path, stored: Collection) -> None:
    texts = set(DocumentContent.objects.values_list("document__title", "text"))
    export_to(home / "export", vectors=True)
    path = home / "export" / "manifest.json"
    older = json.loads(path.read_text())
    put_texts_into_documents(home / "export", older)
    for migration in MigrationLoader(None).disk_migrations.values():
        if migration.name == "0001_tables":
            ((app, older["migrations"][migration.app_label]), *_) = migration.replaces[-1:]
            assert app == migration.app_label
    path.write_text(json.dumps(older))
    destroy()
    restore_from(home / "export")
    assert models.Citation.objects.count() == 1
    assert set(DocumentContent.objects.values_list("document__title", "text")) == texts
    assert list(invariants.find_violations()) == []


LATER_COLUMNS = {
    "corpus_document": {"file_words"},
    "corpus_collection": {"max_wrong_percent", "learns_confidence", "learned_confidence"},
    "qa_answer": {
        "estimate", "not_about", "made_with", "quoted_collections", "asked_tags",
        "asked_document_id", "asked_sha256", "grid_id",
    },
}  # fmt: skip


def put_texts_into_documents(folder: Path, manifest: Any) -> None:
    """Make an export one of a version without later tables and columns."""
    tables = {each["name"]: each for each in manifest["tables"]}
    contents = tables["corpus_documentcontent"]
    with gzip.open(folder / contents["file"]["path"]) as lines:
        content_of = {row["document_id"]: row for row in map(json.loads, lines)}
    for name, later in LATER_COLUMNS.items():
        file = tables[name]["file"]
        with gzip.open(folder / file["path"]) as lines:
            rows = list(map(json.loads, lines))
        for row in rows:
            if name == "corpus_document":
                content = content_of[row["id"]]
                row |= {"raw_text": content["text"], "outline": content["outline"]}
            for column in later:
                del row[column]
        packed = gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode())
        (folder / file["path"]).write_bytes(packed)
        file |= {"bytes": len(packed), "sha256": sha256(packed).hexdigest()}
        tables[name]["columns"] = [
            column for column in tables[name]["columns"] if column not in later
        ]
    tables["corpus_document"]["columns"] += ["raw_text", "outline"]
    newer = (
        "qa_grid", "qa_standingquestion", "corpus_webhook", "evaluation_collectionbenchmark",
    )  # fmt: skip
    for table in (contents, *(tables[name] for name in newer if name in tables)):
        manifest["tables"].remove(table)


def test_every_table_is_carried_or_named() -> None:
    """A table that comes later fails this where it looks like one of secrets: it is to be named."""
    all_models = [m._meta for m in apps.get_models(include_auto_created=True)]
    all_tables = {meta.db_table for meta in all_models if meta.managed and not meta.proxy}
    in_database = {name.strip('"') for name in tables()}
    elsewhere = {name for name in in_database if name.startswith("procrastinate_")}
    assert in_database - elsewhere - {"django_migrations"} == all_tables
    backed_up = {table.name for table in exported_tables(EVERYTHING)}
    by_app = [apps.get_app_config(label) for label in EXCLUDED_APPS if apps.is_installed(label)]
    of_moment = {model._meta.db_table for app in by_app for model in app.get_models()}
    assert all_tables - backed_up == {*EXCLUDED, *of_moment, "qa_chatevent"}
    exported = {t.name for t in exported_tables(Selection(vectors=False, secrets=False))}
    assert backed_up - exported == VECTOR_TABLES | {"accounts_apikey", "corpus_webhook"}
