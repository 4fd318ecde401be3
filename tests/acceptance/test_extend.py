"""The examples of docs/guides/extend.md, as they stand there."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from corpus.loaders import registry, sandbox
from corpus.models import Collection, Document
from pkb.env import read_env
from pkb.own_backends import read_own_backends
from pkb.product_settings import product_settings
from qa.checks import check_loaders
from qa.readers import get_reader
from qa.search.rerankers import rerankers
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE

PAGE = Path(__file__).parents[2] / "docs/guides/extend.md"
CODE = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text().partition("## Sources")[0], re.S)
BACKENDS, CLASSES = (dict(CODE)[language] for language in ("yaml", "python"))


@pytest.fixture
def backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "acme_pkb.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "backends.yaml"
    path.write_text(BACKENDS)
    return path


@pytest.fixture
def _extended(backends: Path, settings: Any) -> None:
    env = read_env(PKB_BACKENDS=backends, RERANKER_MODEL="shared-words")
    for name in ("PKB_EMBEDDERS", "PKB_RERANKERS", "PKB_RERANKER_MODEL", "PKB_READERS"):
        setattr(settings, name, product_settings(env, settings.DATA_DIR)[name])
    answerers = product_settings(env, settings.DATA_DIR)["PKB_ANSWERERS"]
    settings.PKB_ANSWERERS = {**settings.PKB_ANSWERERS, **answerers}


@pytest.mark.usefixtures("_extended")
def test_own_embedder_reranker_and_answerer_answer(api: Api) -> None:
    Collection.objects.filter(name="default").update(embedding_model="letters", dimension=26)
    assert rerankers[settings.PKB_RERANKER_MODEL].name == "shared-words"
    api.ingest(LIGHTHOUSE)
    api.ingest(BAKERY)
    (first, *_) = api.search("When was the lighthouse built?", rerank=True)
    assert first["content"].split("\n")[0] in LIGHTHOUSE
    answer = api.answer("When was the lighthouse built?", lm="first-line")
    quotes = [each["quote"] for each in answer["citations"] or answer["closest"]]
    assert any(quote.split("\n")[0] in LIGHTHOUSE for quote in quotes)


@pytest.mark.usefixtures("_extended")
def test_own_reader_marks_what_answers(settings: Any) -> None:
    settings.PKB_READER_MODEL = "first-number"
    (found, none) = get_reader().read("When?", ["It opened in 1874.", "It opened late."])
    assert (found.start, found.end) == (13, 17)
    assert none.score < found.score


@pytest.fixture
def _formats_restored() -> Iterator[None]:
    dicts = (registry.FORMATS, registry.MEDIA_TYPE_OF_EXTENSION, registry.OWN)
    with ExitStack() as stack:
        for each in dicts:
            stack.enter_context(patch.dict(each))
        yield


@pytest.mark.usefixtures("_formats_restored")
def test_own_loader_reads_files_of_its_extension(
    api: Api, backends: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PKB_LOADERS = read_own_backends(backends).specs("loaders")
    registry.register(settings.PKB_LOADERS)
    # Stands for the installation: the process that reads files knows installed packages only.
    found = f"import sys; sys.path.append({str(backends.parent)!r}); {sandbox._BOOT}"
    monkeypatch.setattr(sandbox, "_BOOT", found)
    monkeypatch.setattr(sandbox, "_pool", sandbox.Pool())
    assert check_loaders() == []
    file = SimpleUploadedFile("coast.acme", f"Coast\n----\n{LIGHTHOUSE}".encode())
    assert api.post("/ingest", {"file": file}, format="multipart").status_code == 201
    sandbox._pool.close()
    document = Document.objects.get()
    assert (document.title, document.media_type) == ("Coast", "text/x-acme")


@pytest.mark.usefixtures("_formats_restored")
def test_a_loader_that_is_not_installed_is_told_at_the_start(settings: Any) -> None:
    spec = {"BACKEND": "no_such_package.Loader", "EXTENSIONS": ["acme"], "NAME": "", "OPTIONS": {}}
    settings.PKB_LOADERS = {"text/x-acme": spec}
    registry.register(settings.PKB_LOADERS)
    (error,) = check_loaders()
    assert "loaders: text/x-acme: ModuleNotFoundError" in error.msg


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rerankers: {a: {}}", "rerankers.a.BACKEND: Field required"),
        ("rerankers: {a: {BACKEND: plain}}", "rerankers.a.BACKEND"),
        ("loader: {}", "loader: Extra inputs"),
        ("loaders: {text/x-a: {BACKEND: a.B}}", "loaders.text/x-a.EXTENSIONS: Field required"),
        ("[", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_at_the_start(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "backends.yaml"
    path.write_text(content)
    with pytest.raises(SystemExit, match=f"PKB_BACKENDS.*{message}"):
        read_env(PKB_BACKENDS=path)


def test_without_a_file_there_are_none() -> None:
    assert read_own_backends(None).specs("readers") == {}
