"""`manage.py load` and `manage.py embed`: a folder to an artifact, an artifact to the corpus."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from corpus.embedders import get_embedder
from corpus.errors import BackendError
from corpus.invariants import find_violations
from corpus.models import Chunk, Collection, Document
from tests.support import commands
from tests.support.documents import BAKERY, long_text
from tests.support.sync_tree import sync_tree

pytestmark = pytest.mark.usefixtures("no_violations")

Artifact = dict[str, Any]


@pytest.fixture
def chunks(tmp_path: Path) -> Path:
    return tmp_path / "chunks.json"


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch, collection: Collection) -> list[int]:
    """How many texts the model was given at each call."""
    sizes: list[int] = []
    embedder = type(get_embedder(collection.embedding_model))
    encode = embedder.embed_passages

    def embed_passages(self: Any, texts: Sequence[str]) -> Any:
        if texts:
            sizes.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(embedder, "embed_passages", embed_passages)
    return sizes


def run(*arguments: object) -> tuple[int, str]:
    """Return the exit code, and all that was said."""
    try:
        out, err, code = commands.run(*arguments)
    except CommandError as refusal:
        return refusal.returncode, str(refusal)
    return code, out + err


def load(folder: Path, chunks: Path, *options: str) -> Artifact:
    code, said = run("load", folder, "--output", chunks, *options)
    assert code == 0, said
    return read(chunks)


def read(chunks: Path) -> Artifact:
    artifact: Artifact = json.loads(chunks.read_text())
    return artifact


def entry(artifact: Artifact, name: str) -> Artifact:
    found: Artifact = next(
        entry for entry in artifact["documents"] if entry["file_path"].endswith(f"/{name}")
    )
    return found


def test_the_artifact_holds_documents_whose_chunks_are_spans_of_their_text(
    folder: Path, chunks: Path
) -> None:
    artifact = load(folder, chunks, "--tag", "Demo")
    assert (artifact["version"], artifact["collection"]) == (1, "default")
    assert artifact["failed"] == []
    assert len(artifact["documents"]) == 3
    for document in artifact["documents"]:
        for place, chunk in enumerate(document["chunks"]):
            assert chunk["ordinal"] == place
            assert document["text"][chunk["start_char"] : chunk["end_char"]] == chunk["text"]
    lighthouse = entry(artifact, "a.md")
    assert lighthouse["source_uri"] == (folder / "a.md").as_uri()
    assert lighthouse["media_type"] == "text/markdown"
    assert lighthouse["tags"] == ["demo", "coast"]
    assert lighthouse["chunks"][0]["heading_path"] == ["Bavoke"]
    assert lighthouse["outline"]["headings"][0][2:] == [1, "Bavoke"]


def test_loading_stores_nothing(folder: Path, chunks: Path) -> None:
    load(folder, chunks)
    assert not Document.objects.exists()


def test_a_file_that_fails_is_named_and_the_rest_is_loaded(folder: Path, chunks: Path) -> None:
    (folder / "empty.txt").write_text(" \n")
    code, said = run("load", folder, "--output", chunks)
    assert code == 1
    assert "4 files: 3 loaded, 1 failed" in said
    artifact = read(chunks)
    assert len(artifact["documents"]) == 3
    assert artifact["failed"] == [
        {"path": str(folder / "empty.txt"), "reason": "The file is empty."}
    ]


def test_an_artifact_inside_the_folder_is_not_loaded_the_next_time(folder: Path) -> None:
    inside = folder / "chunks.json"
    first = load(folder, inside)
    assert load(folder, inside) == first


@pytest.mark.parametrize(
    "arguments",
    [
        ["load", "{folder}/missing", "--output", "{folder}/chunks.json"],
        ["load", "{folder}", "--output", "{folder}/missing/chunks.json"],
        ["load", "{folder}", "--output", "{folder}/chunks.json", "--collection", "missing"],
        ["load", "{folder}", "--output", "{folder}/chunks.json", "--tag", "t" * 65],
        ["embed", "{folder}/missing.json"],
        ["embed", "{folder}/a.md", "--batch-size", "0"],
    ],
    ids=["no_folder", "no_output_folder", "no_collection", "long_tag", "no_file", "batch_size"],
)
def test_wrong_usage_exits_2(folder: Path, arguments: list[str]) -> None:
    code, said = run(*[argument.replace("{folder}", str(folder)) for argument in arguments])
    assert code == 2
    assert said
    assert not (folder / "chunks.json").exists()


def test_embedding_stores_what_a_sync_would(
    folder: Path, chunks: Path, collection: Collection
) -> None:
    load(folder, chunks)
    code, said = run("embed", chunks)
    assert code == 0
    assert said.startswith("3 documents: 3 added, 0 replaced, 0 unchanged; ")
    assert list(find_violations()) == []
    lighthouse = Document.objects.get(file_path__endswith="/a.md")
    assert (lighthouse.status, lighthouse.source) == ("completed", "pipeline")
    assert [tag.name for tag in lighthouse.tags.all()] == ["coast"]
    job = sync_tree(folder, collection=collection)
    assert {item.outcome for item in job.items.all()} == {"unchanged"}


def test_embedding_twice_changes_nothing_and_encodes_nothing_again(
    folder: Path, chunks: Path, encoded: list[int]
) -> None:
    (folder / "twin.txt").write_text(BAKERY)
    load(folder, chunks)
    run("embed", chunks)
    before = list(Document.objects.order_by("pk").values())
    ids = set(Chunk.objects.values_list("pk", flat=True))
    encoded.clear()
    code, said = run("embed", chunks)
    assert (code, encoded) == (0, [])
    assert "0 added, 0 replaced, 4 unchanged; 0 chunks encoded" in said
    assert list(Document.objects.order_by("pk").values()) == before
    assert set(Chunk.objects.values_list("pk", flat=True)) == ids


def test_documents_share_batches_of_the_size_asked(
    tmp_path: Path, chunks: Path, encoded: list[int]
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(10):
        (folder / f"{number}.txt").write_text(f"Note {number} is about the number {number}.")
    load(folder, chunks)
    run("embed", chunks, "--batch-size", "4")
    assert encoded == [4, 4, 2]


def test_a_changed_file_is_replaced_and_its_unchanged_chunks_stay(
    folder: Path, chunks: Path
) -> None:
    load(folder, chunks)
    run("embed", chunks)
    ids = set(Chunk.objects.values_list("pk", flat=True))
    (folder / "deep" / "c.txt").write_text(f"{long_text(4)}\n\nThe ferry has a new bell.")
    load(folder, chunks)
    _, said = run("embed", chunks)
    assert "0 added, 1 replaced, 2 unchanged; 1 chunks encoded" in said
    assert len(ids - set(Chunk.objects.values_list("pk", flat=True))) <= 1


def test_a_file_that_failed_is_listed_until_it_loads(folder: Path, chunks: Path) -> None:
    (folder / "late.txt").write_text("")
    run("load", folder, "--output", chunks)
    assert run("embed", chunks)[0] == 0
    late = Document.objects.get(file_path__endswith="/late.txt")
    assert (late.status, late.error) == ("failed", "The file is empty.")
    (folder / "late.txt").write_text("The train to Lindow was late today.")
    load(folder, chunks)
    assert "1 added, 0 replaced, 3 unchanged" in run("embed", chunks)[1]
    late.refresh_from_db()
    assert (late.status, late.error) == ("completed", "")


def reword_text(document: Artifact) -> None:
    document["text"] = document["text"].replace("five", "nine")
    document["chunks"][0]["text"] = document["chunks"][0]["text"].replace("five", "nine")


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda it: it["chunks"][0].update(start_char=1), "chunk 0 is not the text from 1 to"),
        (
            lambda it: it["chunks"][0].update(text="It is open all night."),
            "chunk 0 is not the text from 0 to",
        ),
        (reword_text, "content_sha256 is not that of its text"),
        (lambda it: it["chunks"].pop(), "the end of its text is in no chunk"),
        (lambda it: it["chunks"][0].update(ordinal=1), "chunk 0 has the ordinal 1"),
        (lambda it: it.pop("text"), "documents.1.text: Field required"),
    ],
)
def test_an_altered_artifact_is_refused_and_nothing_is_stored(
    folder: Path, chunks: Path, alter: Callable[[Artifact], object], said: str
) -> None:
    artifact = load(folder, chunks)
    alter(entry(artifact, "b.txt"))
    chunks.write_text(json.dumps(artifact))
    code, message = run("embed", chunks)
    assert code == 1
    assert said in message
    assert "Nothing was stored." in message
    assert not Document.objects.exists()


def test_a_file_that_is_no_artifact_is_refused(folder: Path) -> None:
    code, message = run("embed", folder / "a.md")
    assert code == 1
    assert "is no file of chunks: Invalid JSON" in message


def test_chunks_cut_by_other_settings_are_refused(folder: Path, chunks: Path) -> None:
    load(folder, chunks)
    Collection.objects.update(chunk_size=64)
    code, message = run("embed", chunks)
    assert code == 2
    assert "load them again with --collection default" in message


def test_a_model_that_fails_leaves_what_is_in_and_the_same_command_goes_on(
    folder: Path, chunks: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(folder, chunks)
    embedder = type(get_embedder(collection.embedding_model))
    encode = embedder.embed_passages
    calls: list[int] = []

    def fail_at_second_call(self: Any, texts: Sequence[str]) -> Any:
        calls.append(len(texts))
        if len(calls) > 1:
            raise BackendError("The model is gone.")
        return encode(self, texts)

    with monkeypatch.context() as patched:
        patched.setattr(embedder, "embed_passages", fail_at_second_call)
        code, message = run("embed", chunks, "--batch-size", "1")
    assert code == 1
    assert "The model is gone. Stored documents are kept" in message
    assert Document.objects.count() == 1
    assert run("embed", chunks)[0] == 0
    assert Document.objects.count() == 3
