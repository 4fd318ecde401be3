"""Read the configured sources: the file of ``PKB_SOURCES``, and the settings of each kind."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)

from corpus.errors import SourceUnavailable
from corpus.sources.source import Source

# The module of each kind, with its ``Settings``; imported if one is configured. Other kinds
# are names of such modules.
KINDS = {
    "imap": "corpus.sources.mail.imap",
    "maildir": "corpus.sources.mail.maildir",
    "mbox": "corpus.sources.mail.mbox",
    "paperless": "corpus.sources.paperless",
    "storage": "corpus.sources.storage",
}

_NAME = r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}$"
_UNITS_S = {"m": 60, "h": 3_600, "d": 86_400}
# A task that runs once a minute starts due syncs.
_MIN_EVERY_S = 60
_MAX_SECRET_BYTES = 64 * 2**10


def _read_span(value: Any) -> Any:
    """Read ``90m``, ``1h`` or ``2d`` as seconds."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})\s*([mhd])", str(value).strip())
    if match is None:
        raise ValueError("a span of time is written as 30m, 1h or 2d")
    return int(match[1]) * _UNITS_S[match[2]]


class SourceSettings(BaseModel):
    """Settings of every kind of source; a kind adds its own, and opens the source.

    Attributes:
        every: Seconds between syncs; None: on demand.
        tags: Tags of all its documents.
        secret_env: The variable with its token or password, read at the start.
        secret_file: Or the file with it, read when the source is opened.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: str = Field(pattern=_NAME)
    kind: str
    collection: str = Field(default="default", pattern=_NAME)
    every: Annotated[int, BeforeValidator(_read_span), Field(ge=_MIN_EVERY_S)] | None = None
    tags: tuple[Annotated[str, Field(max_length=64)], ...] = ()
    secret_env: str = Field(
        default="", validation_alias=AliasChoices("secret_env", "token_env", "password_env")
    )
    secret_file: Path | None = Field(
        default=None, validation_alias=AliasChoices("secret_file", "token_file", "password_file")
    )
    secret: SecretStr = Field(default=SecretStr(""), exclude=True, repr=False)

    @property
    def address(self) -> str:
        """Return its location for display."""
        raise NotImplementedError

    def open(self, *, max_bytes: int) -> Source:
        """Return the source; no request is sent yet.

        Args:
            max_bytes: Maximum size of a file.
        """
        raise NotImplementedError

    def credential(self) -> str:
        """Return its token or password.

        Raises:
            SourceUnavailable: The configured variable or file has none.
        """
        if self.secret_file is None:
            if not self.secret.get_secret_value():
                origin = self.secret_env or "its secret_env or secret_file"
                raise SourceUnavailable(f"{self.name}: {origin} is not set.")
            return self.secret.get_secret_value()
        try:
            with self.secret_file.open(encoding="utf-8") as file:
                secret = file.read(_MAX_SECRET_BYTES).strip()
        except (OSError, ValueError) as exc:
            message = f"{self.name}: {self.secret_file.name} cannot be read."
            raise SourceUnavailable(message) from exc
        if not secret:
            raise SourceUnavailable(f"{self.name}: {self.secret_file.name} is empty.")
        return secret


def read_sources(path: Path, *, environment: Mapping[str, str | None]) -> list[SourceSettings]:
    """Read a YAML file: a list of sources, each a mapping.

    Args:
        environment: Variables with the secrets that the file names.

    Raises:
        ValueError: It cannot be read or is invalid; the message contains no secret.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise ValueError(f"{path.name} cannot be read: {type(exc).__name__}") from exc
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise ValueError(f"{path.name} is no list of sources")
    sources = []
    for entry in entries:
        name, kind = entry.get("name", "a source"), str(entry.get("kind"))
        try:
            settings = import_module(KINDS.get(kind, kind)).Settings
        except (ImportError, AttributeError, ValueError) as exc:
            known = ", ".join(sorted(KINDS))
            raise ValueError(f"{name}: the kind is one of {known}, or your module: {exc}") from exc
        if "secret" in entry:
            raise ValueError(
                f"{name}: a secret is named by secret_env or secret_file, never written"
            )
        try:
            source: SourceSettings = settings(**entry)
        except ValidationError as exc:
            errors = exc.errors(include_input=False, include_url=False)
            problems = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in errors)
            raise ValueError(f"{name}: {'; '.join(problems)}") from None
        secret = SecretStr(environment.get(source.secret_env) or "")
        sources.append(source.model_copy(update={"secret": secret}))
    names = [each.name for each in sources]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ValueError(f"two sources are called {duplicate!r}")
    return sources
