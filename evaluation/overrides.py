"""Override settings temporarily."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.signals import setting_changed


@contextmanager
def overridden(values: Mapping[str, Any]) -> Iterator[None]:
    """Override Django settings by name for a while.

    Backend registries rebuild changed backends. For commands only: other threads of the process see
    the values too.
    """
    before = {name: getattr(settings, name) for name in values}
    _put(values)
    try:
        yield
    finally:
        _put(before)


def _put(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(settings, name, value)
    for name, value in values.items():
        setting_changed.send(sender=overridden, setting=name, value=value, enter=True)
