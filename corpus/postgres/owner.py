"""Connect as the tables' owner; the serving role owns nothing."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.db import DEFAULT_DB_ALIAS, connections

# The tag of system checks about the privileges of the connecting role.
ROLE_CHECKS = "database_role"


def application_role() -> str:
    """Return the role that this process connects as by default."""
    return str(connections.settings[DEFAULT_DB_ALIAS]["USER"])


@contextmanager
def as_owner() -> Iterator[None]:
    """Make this thread's ``connection`` one of the tables' owner, ``OWNER`` in DATABASES.

    Do nothing if there is no ``OWNER``, if it is connected already, or in a transaction, which
    belongs to one connection.
    """
    serving = connections[DEFAULT_DB_ALIAS]
    owner = serving.settings_dict.get("OWNER") or serving.settings_dict
    if owner["USER"] == serving.settings_dict["USER"] or serving.in_atomic_block:
        yield
        return
    # The pool of the alias has connections of the application's role.
    options = {k: v for k, v in serving.settings_dict["OPTIONS"].items() if k != "pool"}
    settings = {**serving.settings_dict, **owner, "OPTIONS": options}
    owning = type(serving)(settings, DEFAULT_DB_ALIAS)
    connections[DEFAULT_DB_ALIAS] = owning
    try:
        with closing(owning):
            yield
    finally:
        connections[DEFAULT_DB_ALIAS] = serving
