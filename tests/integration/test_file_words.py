"""A passage is found by the words that only its file's path has."""

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from corpus.ingestion.submission import Attributes
from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice_for_creator
from corpus.jobs.uploads import start_upload
from corpus.models import Collection, Document
from qa.search.hybrid import default_retriever
from qa.types import Passage, Query
from tests.support import commands
from tests.support.documents import ingest_file
from tests.support.sync_tree import sync_tree

RULE = "# Taking leave\n\nWho wants to take leave asks {whom} {days} days before it begins.\n"
QUESTION = Query("How early do I ask for leave at Lindow?", collection="default")


def store(name: str, *, whom: str, days: int, collection: Collection, title: str = "") -> Document:
    content = RULE.format(whom=whom, days=days).encode()
    stored = ingest_file(
        content, filename=name, collection=collection, attributes=Attributes(title=title)
    )
    return Document.objects.get(pk=stored.document_id)


def find() -> list[Passage]:
    return default_retriever().retrieve(QUESTION, limit=3).passages


@pytest.fixture
def rules(collection: Collection) -> None:
    store("bavoke-leave.md", whom="the harbour master", days=30, collection=collection)
    store("lindow-leave.md", whom="the miller", days=14, collection=collection)
    store("quarry-leave.md", whom="the overseer", days=7, collection=collection)


@pytest.mark.usefixtures("rules")
def test_the_document_of_the_named_organization_comes_first() -> None:
    first = find()[0]
    assert "14 days" in first.text
    assert (first.title, first.breadcrumb) == ("Taking leave", "lindow: Taking leave")
    assert list(find_violations()) == []


def test_a_title_that_says_it_already_stays(collection: Collection) -> None:
    document = store("lindow.md", whom="me", days=2, collection=collection, title="Leave in Lindow")
    assert (document.file_words, document.title) == ("", "Leave in Lindow")


def test_the_folders_below_the_synced_one_count(collection: Collection, tmp_path: Path) -> None:
    folder = tmp_path / "lindow" / "rules"
    folder.mkdir(parents=True)
    (folder / "leave.md").write_text(RULE.format(whom="me", days=2))
    sync_tree(tmp_path, collection=collection)
    document = Document.objects.get()
    assert (document.file_words, document.title) == ("lindow rules", "Taking leave")
    commands.run("load", tmp_path, "--output", tmp_path / "chunks.json")
    (loaded,) = json.loads((tmp_path / "chunks.json").read_bytes())["documents"]
    assert loaded["file_words"] == document.file_words


def test_the_made_up_folder_of_an_upload_does_not(collection: Collection) -> None:
    content = RULE.format(whom="me", days=2).encode()
    job = start_upload([SimpleUploadedFile("lindow.md", content)], collection=collection)
    run_job_slice_for_creator(job.pk, should_stop=lambda: False, is_slice_over=lambda: False)
    assert Document.objects.get().file_words == "lindow"
