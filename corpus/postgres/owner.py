"""Be the owner of the tables for a moment: the role that serves owns nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections


def application_role() -> str:
    """Return the role by which this process connects unless it says otherwise."""
    return str(connections.settings[DEFAULT_DB_ALIAS]["USER"])


@contextmanager
def as_owner() -> Iterator[None]:
    """Let ``connection`` of this thread be one of the tables' owner: DATABASES names it ``OWNER``.

    Nothing changes where none is named, where it is the owner's already, or in a transaction,
    which is of one connection.
    """
    serving = connections[DEFAULT_DB_ALIAS]
    owner = serving.settings_dict.get("OWNER") or serving.settings_dict
    if owner["USER"] == serving.settings_dict["USER"] or serving.in_atomic_block:
        yield
        return
    # The pool is one for each alias, and its connections are the application's.
    options = {k: v for k, v in serving.settings_dict["OPTIONS"].items() if k != "pool"}
    settings = {**serving.settings_dict, **owner, "OPTIONS": options}
    owning = type(serving)(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = owning
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = serving
        owning.close()
