"""Which sources there are: the file that ``PKB_SOURCES`` names, and what each kind takes."""

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
from corpus.sources.base import Source

# The module of each kind, which has its ``Settings``: imported where one is configured.
KINDS = {
    "imap": "corpus.sources.mail.imap",
    "maildir": "corpus.sources.mail.maildir",
    "mbox": "corpus.sources.mail.mbox",
    "paperless": "corpus.sources.paperless",
}

_NAME = r"^[a-zA-Z][a-zA-Z0-9_-]{0,99}$"
_UNITS_S = {"m": 60, "h": 3_600, "d": 86_400}
# A source is looked after by a task that runs once a minute.
_MIN_EVERY_S = 60
_MAX_SECRET_BYTES = 64 * 2**10


def _read_span(given: Any) -> Any:
    """Read ``90m``, ``1h`` or ``2d`` as seconds."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})\s*([mhd])", str(given).strip())
    if found is None:
        raise ValueError("a span of time is written as 30m, 1h or 2d")
    return int(found[1]) * _UNITS_S[found[2]]


class SourceSettings(BaseModel):
    """What every kind of source takes; a kind adds its own, and says how it is opened.

    Attributes:
        every: Seconds after which workers sync it again; None: only when somebody asks.
        tags: Put on all its documents.
        secret_env: The variable that holds its token or password, read at the start.
        secret_file: Or the file that does, read when the source is opened.
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
        """Where it is, as people are shown it."""
        raise NotImplementedError

    def open(self, *, max_bytes: int) -> Source:
        """Return the source; nothing is asked of it yet.

        Args:
            max_bytes: The largest file that is read of it.
        """
        raise NotImplementedError

    def credential(self) -> str:
        """Return its token or password.

        Raises:
            SourceUnavailable: There is none where it is said to be.
        """
        if self.secret_file is None:
            if not self.secret.get_secret_value():
                named = self.secret_env or "its secret_env or secret_file"
                raise SourceUnavailable(f"{self.name}: {named} is not set.")
            return self.secret.get_secret_value()
        try:
            with self.secret_file.open(encoding="utf-8") as file:
                found = file.read(_MAX_SECRET_BYTES).strip()
        except (OSError, ValueError) as exc:
            message = f"{self.name}: {self.secret_file.name} cannot be read."
            raise SourceUnavailable(message) from exc
        if not found:
            raise SourceUnavailable(f"{self.name}: {self.secret_file.name} is empty.")
        return found


def read_sources(path: Path, *, environment: Mapping[str, str | None]) -> list[SourceSettings]:
    """Read a YAML file: a list of sources, each a mapping.

    Args:
        environment: Where the secrets are that the file names.

    Raises:
        ValueError: It cannot be read, or says something that no source takes; no secret is told.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise ValueError(f"{path.name} cannot be read: {type(exc).__name__}") from exc
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise ValueError(f"{path.name} is no list of sources")
    found = [_read_one(each, environment) for each in given]
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two sources are called {twice!r}")
    return found


def _read_one(given: dict[str, Any], environment: Mapping[str, str | None]) -> SourceSettings:
    name, kind = given.get("name", "a source"), given.get("kind")
    if kind not in KINDS:
        raise ValueError(f"{name}: the kind is one of {', '.join(sorted(KINDS))}")
    if "secret" in given:
        raise ValueError(f"{name}: a secret is named by secret_env or secret_file, never written")
    try:
        read: SourceSettings = import_module(KINDS[kind]).Settings(**given)
    except ValidationError as exc:
        wrong = exc.errors(include_input=False, include_url=False)
        told = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong)
        raise ValueError(f"{name}: {'; '.join(told)}") from None
    secret = SecretStr(environment.get(read.secret_env) or "")
    return read.model_copy(update={"secret": secret})
