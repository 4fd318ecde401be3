"""Let faults befall a service of its own, and tell what was tried, what survived, what was lost.

``scripts/faults --hours 0.5 --seed 1`` plays every family in turn; ``--only kills --rounds 20`` so
many rounds of one, ``--only kills --round 1000017`` one round again, by its seed.
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import httpx
import psycopg

from tests.campaign.families import FAMILIES
from tests.campaign.installation import Installation
from tests.campaign.ledger import Ledger
from tests.campaign.rounds import Round

# Seeds of rounds are told apart by that of the campaign.
ROUNDS_OF_A_SEED = 1_000_000
HOUR_S = 3_600


@dataclass
class Tally:
    """What became of a family's rounds."""

    rounds: int = 0
    faults: int = 0
    survived: int = 0
    lost: int = 0
    acknowledged: int = 0
    in_doubt: int = 0
    failed: list[int] = field(default_factory=list)

    def count(self, played: Round, before: tuple[int, int]) -> None:
        self.rounds += 1
        self.faults += played.faults
        self.survived += played.faults * (not played.failures)
        self.lost += played.lost
        self.acknowledged += played.ledger.acknowledged - before[0]
        self.in_doubt += played.ledger.in_doubt - before[1]
        if played.failures:
            self.failed.append(played.seed)


def run_family(name: str, seeds: Iterable[int]) -> Tally:
    """Play rounds of a family on one service; a failed one leaves it to a fresh one."""
    tally, left = Tally(), iter(seeds)
    is_over = False
    while not is_over:
        try:
            with FAMILIES[name].open() as installation:
                is_over = play_until_failure(name, installation, left, tally)
        except AssertionError as error:
            print(f"{name}: the service did not start: {error}", flush=True)
            tally.failed.append(0)
            break
    return tally


def play_until_failure(
    name: str, installation: Installation, seeds: Iterator[int], tally: Tally
) -> bool:
    """Play rounds; tells whether there is none left."""
    ledger = Ledger()
    for seed in seeds:
        before = (ledger.acknowledged, ledger.in_doubt)
        played = Round(seed, installation, ledger)
        started = time.monotonic()
        try:
            FAMILIES[name].play(played)
        except (AssertionError, httpx.HTTPError, psycopg.Error) as error:
            played.failures.append(f"{type(error).__name__}: {error}")
        tally.count(played, before)
        tell(name, played, before, time.monotonic() - started)
        if played.failures:
            return False
    return True


def tell(name: str, played: Round, before: tuple[int, int], took_s: float) -> None:
    acknowledged = played.ledger.acknowledged - before[0]
    in_doubt = played.ledger.in_doubt - before[1]
    outcome = "FAILED" if played.failures else "survived"
    print(
        f"{name} {played.seed}: {played.fault}; {acknowledged} acknowledged, {in_doubt} not;"
        f" {outcome} ({took_s:.0f} s)",
        flush=True,
    )
    for failure in played.failures:
        print(f"    {failure}", flush=True)
    if played.failures:
        log = played.installation.folder / "service.log"
        print("    " + "\n    ".join(log.read_text().splitlines()[-40:]), flush=True)


def seeds_of(chosen: argparse.Namespace, share: float) -> Iterator[int]:
    """Yield the seeds of a family's rounds until its time is up."""
    ends = time.monotonic() + chosen.hours * HOUR_S * share
    number = 0
    first = chosen.seed * ROUNDS_OF_A_SEED
    while number < chosen.rounds if chosen.rounds else not number or time.monotonic() < ends:
        yield first + number
        number += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, default=0.5, help="for all families together")
    parser.add_argument("--rounds", type=int, help="of each family, instead of hours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--round", type=int, help="the seed of one round, to play it again")
    chosen = parser.parse_args()
    # What was started is ended, and what was mounted is not any more, also when this is ended.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    tallies = {}
    shares = sum(FAMILIES[name].share for name in chosen.only)
    for name in chosen.only:
        if reason := FAMILIES[name].why_not():
            print(f"{name}: not tried here: {reason}", flush=True)
            continue
        share = FAMILIES[name].share / shares
        seeds = [chosen.round] if chosen.round is not None else seeds_of(chosen, share)
        tallies[name] = run_family(name, seeds)
    show(tallies)
    return any(tally.failed or tally.lost for tally in tallies.values())


def show(tallies: dict[str, Tally]) -> None:
    print(f"\n{'':18} rounds  faults survived   lost  acknowledged  in doubt")
    for name, tally in tallies.items():
        print(
            f"{name:18} {tally.rounds:6}  {tally.faults:6} {tally.survived:8} {tally.lost:6}"
            f"  {tally.acknowledged:12}  {tally.in_doubt:8}"
        )
        if tally.failed:
            print(f"{'':18} failed: --only {name} --round {' '.join(map(str, tally.failed))}")


if __name__ == "__main__":
    sys.exit(main())
