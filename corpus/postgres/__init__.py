"""Connections as the tables' owner, snapshots and the replica."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

# The tag of system checks about the privileges of the connecting role.
ROLE_CHECKS = "database_role"


@contextmanager
def default_connection(other: BaseDatabaseWrapper) -> Iterator[None]:
    """Make another connection this thread's ``connection``, which the ORM and plain SQL use."""
    usual = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = other
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = usual
