"""The examples of docs/guides/extend.md, as they stand there."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from corpus.models import Collection
from pkb.env import read_env
from pkb.own_backends import read_own_backends
from pkb.product_settings import product_settings
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rerankers: {a: {}}", "rerankers.a.BACKEND: Field required"),
        ("rerankers: {a: {BACKEND: plain}}", "rerankers.a.BACKEND"),
        ("loaders: {}", "loaders: Extra inputs"),
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
