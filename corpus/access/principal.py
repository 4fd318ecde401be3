"""The principal: the user, key or system on whose behalf code runs.

It is a value. Code that outlives its request (a stream, a thread) receives it and sets it again
with ``acting_as``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


class Scope(StrEnum):
    """Permissions of a key or user; none includes another."""

    READ = "read"  # search, ask, and read what is stored
    INGEST = "ingest"  # add, change and delete documents
    ADMIN = "admin"  # administer the service: metrics, audit log


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Principal:
    """The user, key or system that acts.

    Attributes:
        user_id: None for ``ANONYMOUS`` and ``SYSTEM``.
        key_id: The API key of the request; None for a session of the web app.
        collections: The only collections that the key can see; None if it is unrestricted.
        sees_all: Row-level security shows every row.
        is_superuser: Rows without an owner belong to this user.
    """

    user_id: int | None = None
    scopes: frozenset[Scope] = frozenset()
    key_id: int | None = None
    collections: tuple[int, ...] | None = None
    sees_all: bool = False
    is_superuser: bool = False

    @property
    def is_anonymous(self) -> bool:
        return self == ANONYMOUS

    def as_setting(self) -> str:
        """Return the value that policies read: empty, ``*``, ``7``, or ``7:1,2:3`` for a key."""
        if self.sees_all:
            return "*"
        if self.user_id is None:
            return ""
        if self.collections is None:
            return f"{self.user_id}"
        return f"{self.user_id}:{','.join(map(str, self.collections))}:{self.key_id or ''}"


ANONYMOUS = Principal()
# Commands and workers; every request if no login is required.
SYSTEM = Principal(scopes=ALL_SCOPES, sees_all=True)

_acting: ContextVar[Principal] = ContextVar("pkb_principal", default=ANONYMOUS)


def current_principal() -> Principal:
    """Return the acting principal; ``ANONYMOUS`` if none is set."""
    return _acting.get()


def current_user_id() -> int | None:
    return _acting.get().user_id


def current_creator_id() -> int | None:
    """Return the user id for new rows; None for admins and the system."""
    principal = _acting.get()
    return None if principal.sees_all else principal.user_id


def current_key_collections() -> list[int] | None:
    """Return the ids of the collections that the acting key is restricted to; None: any."""
    bounds = _acting.get().collections
    return None if bounds is None else list(bounds)


def current_restricted_key_id() -> int | None:
    """Return the id of the acting key if it is restricted to collections."""
    principal = _acting.get()
    return None if principal.collections is None else principal.key_id


def bind_principal(work: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Return ``work`` bound to the current principal, for use in another thread or later."""
    principal = current_principal()

    def run(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        with acting_as(principal):
            return work(*args, **kwargs)

    return run


@contextmanager
def acting_as(principal: Principal) -> Iterator[None]:
    """Set the principal for the block; nothing else sets it."""
    token = _acting.set(principal)
    try:
        yield
    finally:
        _acting.reset(token)
