"""Registries of replaceable backends, configured like Django's ``CACHES``."""

import re
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string
from pydantic import SecretStr


class LoadableModel(Protocol):
    """A model that is cheap to build and loads at its first use."""

    @property
    def name(self) -> str: ...

    @property
    def is_loaded(self) -> bool: ...

    def load(self) -> None:
        """Make ready to work at once.

        Raises:
            BackendError: It is missing or does not load.
        """
        ...


T = TypeVar("T")


class LazyLoader(Generic[T]):
    """Caches the result of ``load``; a failed load is retried at the next call."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = Lock()
        self._loaded: list[T] = []

    @property
    def is_loaded(self) -> bool:
        return bool(self._loaded)

    def __call__(self) -> T:
        # Checked before the lock is taken, so that loaded models never wait.
        if not self._loaded:
            with self._lock:
                if not self._loaded:
                    self._loaded.append(self._load())
        return self._loaded[0]


class LazyModel(Generic[T]):
    """Base of local models, whose weights load once, at the first use."""

    def __init__(self, load: Callable[[], T]) -> None:
        self._loaded = LazyLoader(load)

    @property
    def is_loaded(self) -> bool:
        return self._loaded.is_loaded

    def load(self) -> None:
        """Load the weights and run them once.

        Raises:
            BackendError: The model is missing or does not load.
        """
        self._loaded()


class BackendRegistry(Generic[T]):
    """Builds each configured backend once per process, at its first use.

    The setting maps a name to ``{"BACKEND": dotted path, "OPTIONS": {...}}``. An entry with a
    ``PATTERN``, a regular expression, applies to every name that fully matches it; its named groups
    are options too, as text. Secrets are revealed only to the backend.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._instances: dict[str, T] = {}
        self._lock = Lock()
        setting_changed.connect(self._forget)

    def __getitem__(self, name: str) -> T:
        with self._lock:
            if name in self._instances:
                return self._instances[name]
            spec = self.find_spec(name)
            if spec is None:
                raise ImproperlyConfigured(
                    f"{self._setting} has no {name!r}; it has {', '.join(self.names)}."
                )
            options = {
                key: value.get_secret_value() if isinstance(value, SecretStr) else value
                for key, value in spec.get("OPTIONS", {}).items()
            }
            try:
                self._instances[name] = import_string(spec["BACKEND"])(**options)
            except (KeyError, ImportError, TypeError) as exc:
                raise ImproperlyConfigured(f"{self._setting}[{name!r}]: {exc!r}") from exc
            return self._instances[name]

    def __contains__(self, name: str) -> bool:
        return self.find_spec(name) is not None

    @property
    def names(self) -> list[str]:
        return sorted(getattr(settings, self._setting))

    @property
    def loaded(self) -> list[str]:
        return sorted(self._instances)

    def find_spec(self, name: str) -> dict[str, Any] | None:
        """Return the configuration of a backend, or None."""
        specs: dict[str, dict[str, Any]] = getattr(settings, self._setting)
        if name in specs and "PATTERN" not in specs[name]:
            return specs[name]
        for spec in specs.values():
            if "PATTERN" in spec and (match := re.fullmatch(spec["PATTERN"], name)):
                groups = {key: text for key, text in match.groupdict().items() if text is not None}
                return {**spec, "OPTIONS": {**spec.get("OPTIONS", {}), **groups}}
        return None

    def _forget(self, *, setting: str, **kwargs: Any) -> None:
        if setting == self._setting:
            with self._lock:
                self._instances.clear()
