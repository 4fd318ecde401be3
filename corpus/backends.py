"""The registries of swappable parts, configured like Django's ``CACHES``."""

from threading import Lock
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string


class BackendRegistry:
    """Build each configured backend once per process, on first use.

    The setting maps a name to ``{"BACKEND": dotted path, "OPTIONS": {...}}``.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._instances: dict[str, Any] = {}
        self._lock = Lock()
        setting_changed.connect(self._forget)

    def __getitem__(self, name: str) -> Any:
        with self._lock:
            if name not in self._instances:
                self._instances[name] = self._build(name)
            return self._instances[name]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @property
    def names(self) -> list[str]:
        return sorted(getattr(settings, self._setting))

    @property
    def loaded(self) -> list[str]:
        return sorted(self._instances)

    def _build(self, name: str) -> Any:
        specs: dict[str, Any] = getattr(settings, self._setting)
        if name not in specs:
            raise ImproperlyConfigured(
                f"{self._setting} has no {name!r}; it has {', '.join(sorted(specs))}."
            )
        try:
            return import_string(specs[name]["BACKEND"])(**specs[name].get("OPTIONS", {}))
        except (KeyError, ImportError, TypeError) as exc:
            raise ImproperlyConfigured(f"{self._setting}[{name!r}]: {exc!r}") from exc

    def _forget(self, *, setting: str, **kwargs: Any) -> None:
        if setting == self._setting:
            with self._lock:
                self._instances.clear()
