"""Let faults befall a service of its own, and tell what was tried, what survived, what was lost.

``scripts/faults --hours 0.5 --seed 1`` plays every family in turn; ``--only kills --rounds 20`` so
many rounds of one, ``--only kills --round 1000017`` one round again, by its seed.
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterator

from tests.campaign.families import FAMILIES
from tests.campaign.tally import Tally, run_family

# Seeds of rounds are told apart by that of the campaign.
ROUNDS_OF_A_SEED = 1_000_000
HOUR_S = 3_600


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
    tallies: dict[str, Tally] = {}
    try:
        run_families(chosen, tallies)
    finally:
        show(tallies)
    return any(tally.failed or tally.lost for tally in tallies.values())


def run_families(chosen: argparse.Namespace, tallies: dict[str, Tally]) -> None:
    shares = sum(FAMILIES[name].share for name in chosen.only)
    for name in chosen.only:
        if reason := FAMILIES[name].why_not():
            print(f"{name}: not tried here: {reason}", flush=True)
            continue
        share = FAMILIES[name].share / shares
        seeds = [chosen.round] if chosen.round is not None else seeds_of(chosen, share)
        tallies[name] = Tally()
        run_family(name, seeds, tallies[name])


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
