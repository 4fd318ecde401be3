"""Attack a service in the ways that one client can, and tell what was tried and what held.

    scripts/attack                                   a service of its own, with nothing to lose
    scripts/attack --only halves chunks --seconds 20
    scripts/attack --url http://127.0.0.1:8000       one that runs; it is filled with rubbish

Memory, threads and open files are those of the process that listens there, where it is one of
this machine.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable

from tests.attacks.content import damage_requests, poison, send_hostile_texts
from tests.attacks.crowding import crowd_out, service_with_users
from tests.attacks.deletion import read_deleted
from tests.attacks.documented import draw_requests
from tests.attacks.overload import (
    QUESTION,
    TEXT,
    ask_64,
    ask_500,
    leave_answers_unread,
    leave_streams,
    send_chunks,
    send_halves,
    send_one_key,
)
from tests.attacks.reach import read_elsewhere, write_from_elsewhere
from tests.attacks.target import Outcome, Target, find_process
from tests.support.own_service import own_service

ATTACKS: dict[str, Callable[[Target], Awaitable[Outcome]]] = {
    "halves": send_halves,
    "chunks": send_chunks,
    "clients-64": ask_64,
    "clients-500": ask_500,
    "key": send_one_key,
    "streams": leave_streams,
    "unread": leave_answers_unread,
    "texts": send_hostile_texts,
    "values": poison,
    "damage": damage_requests,
    "sites": write_from_elsewhere,
    "files": read_elsewhere,
    "deletion": read_deleted,
    "schema": draw_requests,
}
# Of two clients, on a service that requires a login.
CROWDING = "crowding"
SHOWN_FAILURES = 5


async def attack(target: Target, names: list[str]) -> bool:
    """Run the attacks and print a line of each; tells whether all of them held."""
    async with target.client() as client:
        await client.post("/ingest", json={"text": TEXT, "source_uri": "note:attack"})
        await client.get("/answer", params={"q": QUESTION})
    print(f"{'':12} {'tried':>6} {'held':>6}")
    held = True
    for name in names:
        held = show(name, await ATTACKS[name](target)) and held
    return held


def crowd() -> bool:
    """Have one client crowd in each way, and print how a second one fares."""
    with service_with_users() as users:
        shown = [show(name, outcome) for name, outcome in crowd_out(users)]
        return all(shown)


def show(name: str, outcome: Outcome) -> bool:
    """Print an outcome; tells whether it held."""
    print(f"{name:12} {outcome.tried:6} {outcome.held:6}  {outcome.seen}", flush=True)
    for failure in list(dict.fromkeys(outcome.failures))[:SHOWN_FAILURES]:
        print(f"{'':12} FAILED  {failure}", flush=True)
    return not outcome.failures


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="of a running service; without it one is started")
    parser.add_argument(
        "--only", nargs="+", choices=[*ATTACKS, CROWDING], default=[*ATTACKS, CROWDING]
    )
    parser.add_argument("--seconds", type=float, default=60, help="for attacks that go on")
    chosen = parser.parse_args()
    names = [name for name in chosen.only if name != CROWDING]
    if chosen.url:
        target = Target(chosen.url, chosen.seconds)
        target.process = find_process(target.port)
        return not asyncio.run(attack(target, names))
    held = CROWDING not in chosen.only or crowd()
    if not names:
        return not held
    # One question again and again is to cost what others cost.
    with own_service(PKB_ANSWER_CACHE="0") as service:
        target = Target(service.url, chosen.seconds, service.process, service.inbox)
        target.process = find_process(target.port)
        return not (asyncio.run(attack(target, names)) and held)


if __name__ == "__main__":
    sys.exit(main())
