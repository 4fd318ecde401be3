"""The pool of connections to Postgres."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections


@pytest.fixture
def unblocked(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """No transaction of a test's own: that would allow no other connection."""
    with django_db_blocker.unblock():
        yield


def test_a_connection_that_was_cut_in_the_pool_is_not_handed_on(
    unblocked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_own = connections[DEFAULT_DB_ALIAS]
    options = {**tests_own.settings_dict["OPTIONS"], "pool": {"min_size": 0, "max_size": 1}}
    of_pool = {**tests_own.settings_dict, "OPTIONS": options}
    monkeypatch.setitem(connections.settings, "of_pool", of_pool)
    pooled: Any = connections["of_pool"]
    try:
        with pooled.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
        pooled.close()
        with tests_own.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
            assert cursor.fetchone() == (True,)
        with pooled.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() <> %s", [pid])
            assert cursor.fetchone() == (True,)
    finally:
        pooled.close()
        pooled.close_pool()
        del connections["of_pool"]
        tests_own.close()
