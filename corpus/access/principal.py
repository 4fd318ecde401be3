"""On whose behalf something is done, from the door to the database.

It is a value: what goes on after a request has ended (a stream, a thread) is handed it and enters
it anew with ``acting_as``.
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
    """What somebody may do; none of them includes another."""

    READ = "read"  # search, ask, and read what is stored
    INGEST = "ingest"  # take in, change and delete
    ADMIN = "admin"  # look after the service: metrics, the record of who did what


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts.

    Attributes:
        user_id: None for ``ANONYMOUS`` and ``SYSTEM``.
        key_id: The API key by which the user came; None for a session of the pages.
        collections: Beyond which the key shows nothing; None where it is not bound to any.
        sees_all: Rows of every collection and user.
        is_superuser: What has no owner is theirs.
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

    def has_scope(self, scope: Scope) -> bool:
        return scope in self.scopes

    def as_setting(self) -> str:
        """Return what policies of rows read: empty, ``*``, ``7``, or of a bound key ``7:1,2:3``."""
        if self.sees_all:
            return "*"
        if self.user_id is None:
            return ""
        if self.collections is None:
            return f"{self.user_id}"
        return f"{self.user_id}:{','.join(map(str, self.collections))}:{self.key_id or ''}"


ANONYMOUS = Principal()
# Commands and workers; every request where no login is asked for.
SYSTEM = Principal(scopes=ALL_SCOPES, sees_all=True)

_acting: ContextVar[Principal] = ContextVar("pkb_principal", default=ANONYMOUS)


def current_principal() -> Principal:
    """Return who acts; ``ANONYMOUS`` where nobody was set."""
    return _acting.get()


def current_user_id() -> int | None:
    return _acting.get().user_id


def current_creator_id() -> int | None:
    """Return whose what is made now is to be; of nobody who sees all, as of what an admin does."""
    principal = _acting.get()
    return None if principal.sees_all else principal.user_id


def current_key_collections() -> list[int] | None:
    """Return the collections that the key is bound to by which somebody acts."""
    bounds = _acting.get().collections
    return None if bounds is None else list(bounds)


def current_restricted_key_id() -> int | None:
    """Return the key by which somebody acts, if it is bound to collections."""
    principal = _acting.get()
    return None if principal.collections is None else principal.key_id


def bind_principal(work: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Return ``work`` as done for who acts now, whenever and on whichever thread it is done."""
    principal = current_principal()

    def run(*args: Given.args, **kwargs: Given.kwargs) -> Returned:
        with acting_as(principal):
            return work(*args, **kwargs)

    return run


@contextmanager
def acting_as(principal: Principal) -> Iterator[None]:
    """Do what follows on behalf of ``principal``: the one way to set it."""
    token = _acting.set(principal)
    try:
        yield
    finally:
        _acting.reset(token)
