"""Read the file that names models, answerers and loaders of one's own."""

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Specs = dict[str, dict[str, Any]]


class Backend(BaseModel):
    """A class by its dotted path, and its arguments, as in Django's ``CACHES``."""

    model_config = ConfigDict(extra="forbid")

    BACKEND: str = Field(pattern=r"^\w+(\.\w+)+$")
    OPTIONS: dict[str, Any] = {}


class LoaderBackend(Backend):
    """A loader, and the files that it reads."""

    EXTENSIONS: list[Annotated[str, Field(pattern=r"^[a-z0-9]{1,20}$")]] = Field(min_length=1)
    NAME: str = ""


class OwnBackends(BaseModel):
    """The backends of one's own by their names; loaders by media type."""

    model_config = ConfigDict(extra="forbid")

    embedders: dict[str, Backend] = {}
    rerankers: dict[str, Backend] = {}
    readers: dict[str, Backend] = {}
    answerers: dict[str, Backend] = {}
    loaders: dict[Annotated[str, Field(pattern=r"^[a-z]+/[a-z0-9.+-]+$")], LoaderBackend] = {}

    def specs(self, kind: str) -> Specs:
        """Return the backends of a kind in the form of Django's settings."""
        backends: dict[str, Backend] = getattr(self, kind)
        return {name: backend.model_dump() for name, backend in backends.items()}


def read_own_backends(path: Path | None) -> OwnBackends:
    """Read a YAML file; without one there are none.

    Raises:
        ValueError: It cannot be read, or is not of that form.
    """
    if path is None:
        return OwnBackends()
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return OwnBackends.model_validate({} if content is None else content)
    except ValidationError as exc:
        wrong = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in exc.errors())
        raise ValueError(f"{path.name}: {'; '.join(wrong)}") from exc
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise ValueError(f"{path.name} cannot be read: {exc}") from exc
