"""Make a Python package of the packaged models' graphs from their published weights.

    scripts/build_models TARGET [--from FOLDER]

The weights are fetched at the revisions of ``corpus/embedders/packaged_models.json``, or taken from
folders of the models' names in FOLDER. Each graph has weights of 7 bits with a scale for each
channel, and is compared with the published floats. TARGET gets the package, and a manifest for it.
"""

import argparse
import json
import shutil
import sys
from dataclasses import asdict, replace
from hashlib import file_digest
from pathlib import Path

from corpus.embedders.model_files import (
    GRAPH,
    MANIFEST,
    PACKAGED_MODELS,
    QUANTIZED_GRAPH,
    PackagedModel,
)
from corpus.embedders.model_sources import find_model
from corpus.embedders.onnx_export import check_agreement, export, load_model
from corpus.errors import BackendError

PACKAGE, MODULE = "pkb-models", "pkb_models"
PROJECT = """\
[project]
name = "{package}"
version = "{version}"
description = "Graphs of pkb's default models; packaged_models.json names their sources"
requires-python = ">=3.11"

[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["{module}"]
package-data."{module}" = ["**/*"]
"""


def build(target: Path, *, version: str, weights: Path | None = None) -> None:
    """Write the package.

    Args:
        weights: Folder of the models' folders; by default, they are fetched.

    Raises:
        BackendError: Published weights are missing or others, or a graph differs from them.
    """
    entries = {
        name: _build_model(
            find_model(f"hf:{model.source}@{model.revision}")
            if weights is None
            else weights / name,
            target / MODULE / name,
            replace(model, package=f"{PACKAGE}=={version}", module=MODULE, folder=name),
        )
        for name, model in PACKAGED_MODELS.items()
    }
    manifest = json.dumps({name: asdict(entry) for name, entry in entries.items()}, indent=1)
    for folder in (target, target / MODULE):
        (folder / MANIFEST.name).write_text(f"{manifest}\n")
    (target / MODULE / "__init__.py").touch()
    project = PROJECT.format(package=PACKAGE, module=MODULE, version=version)
    (target / "pyproject.toml").write_text(project)


def _build_model(source: Path, folder: Path, model: PackagedModel) -> PackagedModel:
    """Write one model's folder; return its entry of the manifest."""
    published = _sha256(source / "model.safetensors")
    if model.published_sha256 not in {None, published}:
        raise BackendError(
            f"The weights in {source} have the sha256 {published}, "
            f"and not {model.published_sha256}."
        )
    export(source, folder / QUANTIZED_GRAPH)
    graph = (folder / QUANTIZED_GRAPH).rename(folder / GRAPH)
    (folder / "lock").unlink()
    for path in source.rglob("*.json"):
        copy = folder / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    agreement = check_agreement(load_model(source), source, graph, quantized=True)
    return replace(
        model,
        published_sha256=published,
        weights=GRAPH,
        sha256=_sha256(graph),
        compared=f"with the published floats: {agreement}",
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise BackendError(f"The weights {path} cannot be read: {exc}") from exc


if __name__ == "__main__":
    import django

    django.setup()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--from", dest="weights", type=Path, help="folder of the models' folders")
    parser.add_argument("--version", default="1.0.0", help="of the package (default: %(default)s)")
    given = parser.parse_args()
    try:
        build(given.target, version=given.version, weights=given.weights)
    except BackendError as exc:
        sys.exit(f"build_models: {exc}")
