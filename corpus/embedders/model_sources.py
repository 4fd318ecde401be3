"""Find a model by its name in settings: packaged, a folder, or of the Hugging Face hub."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from hashlib import file_digest
from pathlib import Path

from django.conf import settings

from corpus.atomic_files import write_once
from corpus.embedders.model_files import PACKAGED_MODELS, packaged_model
from corpus.errors import BackendError

HUB = "hf:"
_HUB_MODEL = re.compile(rf"{HUB}(?P<repository>[\w.-]+/[\w.-]+)@(?P<revision>[\w.-]+)")
# No code and no pickles: only weights, tokenizers, graphs, and what describes them.
HUB_FILES = ("*.json", "*.txt", "*.model", "*.safetensors", "model.onnx*", "onnx/model.onnx*")
_FETCH_TIMEOUT_S = 3_600
_FETCH = (
    "import sys; from huggingface_hub import snapshot_download;"
    " repository, revision, folder, *files = sys.argv[1:];"
    " snapshot_download(repository, revision=revision, local_dir=folder, allow_patterns=files)"
)


def find_model(model: str) -> Path:
    """Return the folder of a model: a packaged name, a folder's path, or ``hf:ORG/NAME@REVISION``.

    A model of the hub is fetched at the first use, if that is allowed. The hashes of its files are
    recorded then, and compared once in each process.

    Raises:
        BackendError: It is not there, must not be fetched, or its files are not those of its first
            use.
    """
    if not model.startswith(HUB):
        is_folder = model not in PACKAGED_MODELS and Path(model).is_dir()
        return Path(model) if is_folder else packaged_model(model)
    match = _HUB_MODEL.fullmatch(model)
    if match is None:
        raise BackendError(f"{model!r} does not have the form hf:ORG/NAME@REVISION.")
    repository, revision = match.groups()
    record = settings.DATA_DIR / "hub" / f"{repository.replace('/', '--')}@{revision}" / "sha256"
    folder = record.with_name("files")
    if not record.is_file():
        if settings.PKB_MODEL_FETCH != "hub":
            raise BackendError(
                f"The model {model} has not been fetched, and pkb fetches none by default. Run "
                "`manage.py load_models` once with PKB_MODEL_FETCH=hub, or copy the model to this "
                "machine and name its folder."
            )

        def fetch(path: Path) -> None:
            _run_fetch(repository, revision, folder)
            path.write_text(json.dumps(_hashes(folder), indent=1))

        write_once(record, fetch)
    _check_hashes(folder, record)
    return folder


def _run_fetch(repository: str, revision: str, folder: Path) -> None:
    """Fetch in a process of its own: this one is offline from its first import on."""
    command = [sys.executable, "-c", _FETCH, repository, revision, str(folder), *HUB_FILES]
    environment = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1"}
    try:
        done = subprocess.run(  # noqa: S603  (a program of ours; the names match a pattern)
            command, env=environment, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise BackendError(f"The model {repository} could not be fetched: {exc}") from exc
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise BackendError(f"The model {repository} could not be fetched: {reason}")
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # the hub's own notes


@cache
def _check_hashes(folder: Path, record: Path) -> None:
    recorded = json.loads(record.read_text())
    found = _hashes(folder)
    if changed := sorted(path for path, _ in recorded.items() ^ found.items()):
        raise BackendError(
            f"{folder / changed[0]} is not the file that was fetched; its sha256 is in {record}. "
            f"Delete {record.parent} to fetch the model again."
        )


def _hashes(folder: Path) -> dict[str, str]:
    hashes = {}
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        with path.open("rb") as file:
            hashes[path.relative_to(folder).as_posix()] = file_digest(file, "sha256").hexdigest()
    return hashes
