"""Files of a storage service, by an fsspec driver: S3, GCS, Azure, WebDAV, SFTP, SMB and others."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Literal

import fsspec
from fsspec.core import url_to_fs
from pydantic import Field, field_validator

from corpus.converter import readable_extensions
from corpus.errors import SourceUnavailable, TooLarge
from corpus.file_selection import Selection
from corpus.sources.source import Entry, EntryContent, EntryFile
from corpus.sources.source_settings import SourceSettings

Info = Mapping[str, Any]

# The drivers' names for a hash or number of the content, then for its time. An access time is
# none of them: reading would change it.
_VERSIONS = ("ETag", "etag", "content_md5", "md5Hash", "sha", "generation")
_TIMES = ("LastModified", "last_modified", "modified", "mtime", "updated", "last_write_time")
# Errors of drivers that are no OSError, by the module that defines them.
_DRIVER_ERRORS = {
    "botocore.exceptions": "BotoCoreError",
    "httpx": "HTTPError",
    "paramiko": "SSHException",
    "webdav4.client": "ClientError",
}


class Settings(SourceSettings):
    """A folder of a storage service.

    Attributes:
        url: Its address as fsspec writes it, such as ``s3://bucket/folder``, without credentials.
        options: Arguments of the driver, such as ``endpoint_url`` or ``username``.
        secret_option: The driver's argument that takes the secret, if one is configured; ``auth``
            takes the option ``username`` with it.
        include: Patterns of the files to take; by default as of a folder.
        exclude: Patterns of files and folders to leave out.
    """

    kind: Literal["storage"]
    url: str = Field(pattern=r"^[a-z][a-z0-9+]*://[^?#@\s]+$")
    options: dict[str, Any] = {}
    secret_option: str = "password"  # noqa: S105  (the name of an argument)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @field_validator("url")
    @classmethod
    def _is_elsewhere(cls, url: str) -> str:
        if url.startswith(("file://", "local://")):
            raise ValueError("a folder of this machine is synced as a folder")
        return url

    @property
    def address(self) -> str:
        """Return its location; of a driver that is told a server, with the server."""
        if server := str(self.options.get("base_url", "")):
            return f"{server.rstrip('/')}/{self.url.partition('://')[2]}".rstrip("/")
        return self.url.rstrip("/")

    def open(self, *, max_bytes: int) -> "Storage":
        return Storage(self, max_bytes=max_bytes)


class Storage:
    """The files below a folder of a storage service that a loader or the converter reads."""

    def __init__(self, settings: Settings, *, max_bytes: int) -> None:
        self._settings = settings
        self._max_bytes = max_bytes
        self._selection = Selection(settings.include, settings.exclude)
        self._extensions = {f".{extension}" for extension in readable_extensions()}

    def list_entries(self) -> Iterator[Entry]:
        driver, root = self._driver
        with self._told():
            driver.invalidate_cache()
            # Not by the driver's own ``walk``, for which a folder that it cannot list is empty.
            waiting = [root]
            while waiting:
                folder = waiting.pop()
                for info in driver.ls(folder, detail=True):
                    path = info["name"].rstrip("/")
                    relative = PurePosixPath(path).relative_to(root)
                    if info["type"] == "directory":
                        # Some list the folder in itself.
                        is_entered = path != folder and self._selection.enters(relative)
                        waiting += (
                            [path] if is_entered and not relative.name.startswith(".") else []
                        )
                    elif relative.suffix.lower() in self._extensions:
                        is_taken = self._selection.takes(relative)
                        if is_taken and not relative.name.startswith("."):
                            yield Entry(f"{self._settings.address}/{relative}", _version(info))

    def read(self, uri: str) -> EntryContent:
        driver, root = self._driver
        relative = uri.removeprefix(f"{self._settings.address}/")
        path = f"{root}/{relative}"
        with self._told():
            driver.invalidate_cache()
            info = driver.info(path)  # before the content, which may change meanwhile
            with driver.open(path, "rb") as file:
                content = file.read(self._max_bytes + 1)
        if len(content) > self._max_bytes:
            raise TooLarge(f"The file has more than {self._max_bytes:,} bytes.")
        moment = next((info[key] for key in _TIMES if info.get(key)), None)
        if isinstance(moment, int | float):
            moment = datetime.fromtimestamp(moment, UTC)
        elif isinstance(moment, datetime):
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        else:
            moment = None
        return EntryContent(_version(info), EntryFile(content, relative, modified_at=moment))

    def close(self) -> None:
        driver, _ = self.__dict__.pop("_driver", (None, ""))
        # The connection of SFTP's driver, and of WebDAV's; others close their own.
        client: Any = getattr(driver, "client", None)
        client = getattr(client, "http", client)
        if hasattr(client, "close"):
            client.close()

    @cached_property
    def _driver(self) -> tuple[fsspec.AbstractFileSystem, str]:
        """Return the driver, and the path of the folder.

        Raises:
            SourceUnavailable: It is not installed, rejects its options, or finds no server.
        """
        options = dict(self._settings.options)
        if self._settings.secret_env or self._settings.secret_file:
            secret = self._settings.credential()
            name = self._settings.secret_option
            # WebDAV's driver wants both in one.
            options[name] = (options.pop("username", ""), secret) if name == "auth" else secret
        with self._told():
            try:
                driver, root = url_to_fs(self._settings.url, skip_instance_cache=True, **options)
            except (ImportError, TypeError, ValueError) as exc:
                raise SourceUnavailable(f"{self._settings.name}: {exc}") from exc
        return driver, str(root).rstrip("/")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise the errors of a driver as ``SourceUnavailable``."""
        of_drivers = [
            getattr(sys.modules[module], name)
            for module, name in _DRIVER_ERRORS.items()
            if module in sys.modules
        ]
        try:
            yield
        except (OSError, *of_drivers) as exc:
            name = self._settings.name
            raise SourceUnavailable(f"{name}: {exc or type(exc).__name__}") from exc


def _version(info: Info) -> str:
    """Return a hash of all that the driver tells of the content."""
    known = {key: str(info[key]) for key in (*_VERSIONS, *_TIMES) if info.get(key)}
    return sha256(repr([info.get("size"), known or sorted(info.items())]).encode()).hexdigest()
