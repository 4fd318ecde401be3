"""No address that a document names is fetched, nor, unless it is allowed, that a request does."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from corpus.catalogue import create_collection
from corpus.models import Collection
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE
from tests.support.ports import was_asked
from tests.support.processes import ROOT


@pytest.fixture(autouse=True)
def collection(db: None) -> Collection:
    """Where texts are encoded without a model: addresses are new with each run."""
    return create_collection("notes", embedding_model="hashing-64")


FILES = {
    "page.html": '<base href="{at}"><link rel=stylesheet href="{at}/a.css"><script src="{at}/a.js">'
    '</script><meta http-equiv=refresh content="0; {at}"><iframe src="{at}"></iframe>'
    '<p><img src="{at}/a.png">{text}</p>',
    "notes.md": "# Bavoke\n\n![plan]({at}/a.png) [there]({at})\n\n{text}",
    "feed.xml": '<!DOCTYPE r [<!ENTITY e SYSTEM "{at}/e">]><r xml:base="{at}"><p>{text}</p></r>',
    "notes.rst": "Bavoke\n======\n\n.. include:: {at}/a\n.. image:: {at}/a.png\n\n{text}\n",
}


@pytest.mark.parametrize("name", FILES)
def test_addresses_in_a_file_are_not_fetched(api: Api, listener: socket.socket, name: str) -> None:
    at = f"http://127.0.0.1:{listener.getsockname()[1]}"
    content = FILES[name].format(at=at, text=LIGHTHOUSE)
    sent: dict[str, Any] = {"file": SimpleUploadedFile(name, content.encode()), "source_uri": at}
    sent["collection"] = "notes"
    assert api.post("/ingest", sent, format="multipart").status_code in {201, 422}
    assert not was_asked(listener)


def test_addresses_in_a_request_are_not_fetched(api: Api, listener: socket.socket) -> None:
    at = f"http://127.0.0.1:{listener.getsockname()[1]}/document"
    sent = {"text": LIGHTHOUSE, "source_uri": at, "collection": "notes"}
    stored = api.post("/ingest", sent)
    assert stored.status_code == 201
    assert api.post("/ingest", {"content_path": at}).status_code in {400, 403, 404}
    assert api.post("/ingest", {"url": at}).status_code == 403
    assert not was_asked(listener)


def test_what_runs_the_models_tells_its_maker_nothing(tmp_path: Path) -> None:
    """A device id is what onnxruntime makes first, where it would send."""
    program = "import pkb.settings, onnxruntime"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True)
    assert list(tmp_path.rglob("deviceid")) == []
