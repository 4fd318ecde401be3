"""Who is locked out after wrong passwords, who is not, and what is recorded of it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.models import F, Sum
from django.test import Client

from accounts.lockouts import MAX_NAME_FAILURES, NAME_WINDOW, WINDOW, purge_logins
from accounts.models import Event, FailedLogin, KnownClient
from corpus.access.principal import SYSTEM, acting_as

pytestmark = pytest.mark.usefixtures("login_required")
PASSWORD = "a green book of weather"
SHARED = "192.0.2.7"
HOME = "198.51.100.4"


@pytest.fixture
def ida(db: None) -> Any:
    return get_user_model().objects.create_user("ida", password=PASSWORD)


def at(address: str) -> Client:
    return Client(REMOTE_ADDR=address)


def log_in(client: Client, password: str = PASSWORD, *, name: str = "ida") -> int:
    reply = client.post("/ui/login", {"username": name, "password": password})
    return int(reply.status_code)


def log_in_and_out(client: Client, *, name: str = "ida") -> None:
    assert log_in(client, name=name) == 302
    client.post("/ui/logout")


def guess(client: Client, times: int, *, name: str = "ida") -> list[int]:
    return [log_in(client, "wrong", name=name) for _ in range(times)]


def guess_from_everywhere() -> None:
    """Fail as often as a name may in an hour, twice from each address."""
    for number in range(MAX_NAME_FAILURES // 2 - 1):
        assert guess(at(f"203.0.113.{number}"), 2) == [200, 200]
    assert guess(at("203.0.113.100"), 2) == [200, 429]


def wait(time: timedelta) -> None:
    """Let what failed have failed so much earlier."""
    FailedLogin.objects.update(created_at=F("created_at") - time)


def recorded(action: str) -> list[Any]:
    events = Event.objects.filter(action=action).order_by("pk")
    return list(events.values_list("subject", "address", "count"))


def test_known_browser_is_not_locked_out_by_others_at_its_address(ida: Any) -> None:
    browser, stranger = at(SHARED), at(SHARED)
    log_in_and_out(browser)
    cookie = browser.cookies["known_browser"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/ui/login")
    assert guess(stranger, 6) == [200, 200, 200, 200, 429, 429]
    assert log_in(stranger) == 429
    assert log_in(browser) == 302
    assert cookie.value not in str(list(KnownClient.objects.values()))


def test_a_known_browser_has_five_guesses_too_wherever_it_is(ida: Any) -> None:
    browser = at(SHARED)
    log_in_and_out(browser)
    assert guess(browser, 4) == [200] * 4
    browser.defaults["REMOTE_ADDR"] = HOME
    assert guess(browser, 1) == [429]
    assert log_in(browser) == 429
    assert log_in(at(HOME)) == 302
    wait(WINDOW)
    assert log_in(browser) == 302


def test_a_known_browser_of_one_user_is_none_of_another(ida: Any) -> None:
    get_user_model().objects.create_user("eve", password=PASSWORD)
    eve = at(SHARED)
    log_in_and_out(eve, name="eve")
    guess(at(SHARED), 5)
    assert log_in(eve) == 429
    # Both log in by this browser: it is known for both.
    wait(WINDOW)
    log_in_and_out(eve)
    guess(at(SHARED), 5)
    guess(at(SHARED), 5, name="eve")
    log_in_and_out(eve)
    assert log_in(eve, name="eve") == 302


def test_a_made_up_cookie_does_not_make_a_browser_known(ida: Any) -> None:
    stranger = at(SHARED)
    guess(stranger, 5)
    stranger.cookies["known_browser"] = "a" * 43
    assert log_in(stranger) == 429
    wait(WINDOW)
    log_in_and_out(stranger)
    assert stranger.cookies["known_browser"].value != "a" * 43


def test_the_addresses_of_a_64_are_one_machine(ida: Any) -> None:
    statuses = [guess(at(f"2001:db8:0:1::{number}"), 1)[0] for number in range(1, 6)]
    assert statuses == [200, 200, 200, 200, 429]
    assert log_in(at("2001:db8:0:1:ffff::9")) == 429
    assert log_in(at("2001:db8:0:2::1")) == 302
    assert recorded("lock_out") == [("ida", "2001:db8:0:1::/64", 1)]


def test_guesses_from_everywhere_make_new_addresses_wait_and_no_others(ida: Any) -> None:
    log_in_and_out(at(HOME))
    browser = at(SHARED)
    log_in_and_out(browser)
    guess_from_everywhere()
    assert recorded("lock_out") == [("ida", "", 1)]
    assert log_in(at("203.0.113.200")) == 429
    assert log_in(at(HOME)) == 302
    browser.defaults["REMOTE_ADDR"] = "203.0.113.201"
    assert log_in(browser) == 302
    get_user_model().objects.create_user("bob", password=PASSWORD)
    assert log_in(at("203.0.113.200"), name="bob") == 302
    wait(NAME_WINDOW)
    assert log_in(at("203.0.113.200")) == 302


def test_failed_logins_are_told_at_the_next_good_one(ida: Any) -> None:
    client = at(HOME)
    log_in_and_out(client)
    guess(at("2001:db8::1"), 3)
    guess(at("2001:db8::1"), 1, name="bob")
    told = client.post("/ui/login", {"username": "ida", "password": PASSWORD}, follow=True)
    page = told.content.decode()
    last = FailedLogin.objects.filter(name="ida").latest("created_at").created_at
    assert "3 logins with your user name failed since your last login" in page
    assert f"the last on {last:%d %b %Y at %H:%M} UTC from 2001:db8::/64." in page
    assert "failed since" not in client.get("/ui/ask").content.decode()
    client.post("/ui/logout")
    log_in(client)
    assert "failed since" not in client.get("/ui/ask").content.decode()


def test_what_is_refused_after_a_lock_out_is_not_recorded(ida: Any) -> None:
    stranger = at(SHARED)
    guess(stranger, 5)
    before = Event.objects.count()
    assert guess(stranger, 20) == [429] * 20
    assert (recorded("lock_out"), Event.objects.count()) == ([("ida", SHARED, 1)], before)
    # A name that nobody has locks nobody out.
    guess(at(HOME), 5, name="nobody")
    assert len(recorded("lock_out")) == 1


def test_failures_are_recorded_by_address_and_minute(ida: Any) -> None:
    for number in range(30):
        guess(at(SHARED), 1, name=f"name {number}")
    assert recorded("log_in_failed")[0] == ("name 0", SHARED, 1)
    wait(timedelta(minutes=1))
    guess(at(HOME), 1)
    events = Event.objects.filter(action="log_in_failed", address=SHARED)
    assert events.aggregate(Sum("count")) == {"count__sum": 30}
    # Two a minute, and all may have taken up to a second one.
    assert events.count() <= 4
    assert "name 28, name 29" in str(list(events.values_list("subject")))


@pytest.mark.django_db(transaction=True)
def test_failures_at_the_same_time_are_recorded_once(ida: Any) -> None:
    def fail(number: int) -> None:
        guess(at(SHARED), 4, name=f"name {number}")
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fail, range(4)))
    assert len(recorded("log_in_failed")) <= 3
    wait(timedelta(minutes=1))
    with acting_as(SYSTEM):
        purge_logins()
    assert sum(count for *_, count in recorded("log_in_failed")) == 16


def test_what_nobody_needs_any_more_is_forgotten(ida: Any, settings: Any) -> None:
    guess(at(SHARED), 3, name="nobody")
    guess(at(SHARED), 2)
    wait(NAME_WINDOW)
    guess(at(HOME), 1)
    assert set(FailedLogin.objects.values_list("name", flat=True)) == {"ida"}
    wait(timedelta(days=settings.PKB_AUDIT_DAYS))
    assert purge_logins(dry_run=True) == purge_logins() == 3
    log_in(at(HOME))
    KnownClient.objects.update(logged_in_at=F("logged_in_at") - timedelta(days=400))
    assert purge_logins(dry_run=True) == purge_logins() == 2


def test_a_command_lets_in_at_once(ida: Any) -> None:
    guess(at(SHARED), 5)
    guess(at(HOME), 5)
    call_command("axes_reset_ip", SHARED)
    assert (log_in(at(SHARED)), log_in(at(HOME))) == (302, 429)
    call_command("axes_reset_username", "ida")
    assert log_in(at(HOME)) == 302
    assert sum(count for *_, count in recorded("log_in_failed")) == 10
