"""On whose behalf something is done."""

from collections.abc import Callable
from contextvars import Context
from threading import Thread

from corpus.access.principal import (
    ANONYMOUS,
    SYSTEM,
    Principal,
    Scope,
    acting_as,
    bind_principal,
    current_principal,
    current_user_id,
)

IDA = Principal(user_id=7, scopes=frozenset({Scope.READ}), key_id=3)


def seen_by_a_thread(work: object) -> list[Principal]:
    seen: list[Principal] = []
    thread = Thread(target=lambda: seen.append(work()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return seen


def unset(work: Callable[[], object]) -> None:
    """Run where nobody was set; tests as such act as the system."""
    Context().run(work)


def test_unset_it_is_nobody_who_may_nothing() -> None:
    def look() -> None:
        assert current_principal() == ANONYMOUS
        assert ANONYMOUS.is_anonymous
        assert not any(scope in ANONYMOUS.scopes for scope in Scope)
        assert current_user_id() is None

    unset(look)


def test_it_is_set_for_a_block_and_what_was_set_before_comes_back() -> None:
    with acting_as(SYSTEM):
        with acting_as(IDA):
            assert current_user_id() == 7
            assert [scope for scope in Scope if scope in current_principal().scopes] == [Scope.READ]
        assert current_principal() == SYSTEM
    assert not SYSTEM.is_anonymous


def test_policies_read_who_acts_from_one_word() -> None:
    bound = Principal(user_id=7, key_id=3, collections=(1, 2))
    told = [each.as_setting() for each in (ANONYMOUS, SYSTEM, IDA, bound)]
    assert told == ["", "*", "7", "7:1,2:3"]
    assert Principal(user_id=7, sees_all=True).as_setting() == "*"


def test_a_thread_acts_for_somebody_only_where_it_is_handed_them() -> None:
    with acting_as(IDA):
        handed_over = bind_principal(current_principal)
        assert seen_by_a_thread(current_principal) == [ANONYMOUS]
    assert seen_by_a_thread(handed_over) == [IDA]
    assert handed_over() == IDA
