"""Play rounds of a family, and count what became of them."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import httpx2
import psycopg

from tests.campaign.families import FAMILIES
from tests.campaign.installation import Installation
from tests.campaign.ledger import Ledger
from tests.campaign.rounds import Round

LOG_LINES = 40


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


def run_family(name: str, seeds: Iterable[int], tally: Tally) -> None:
    """Play rounds of a family on one service; a failed one leaves it to a fresh one."""
    left = iter(seeds)
    is_over = False
    while not is_over:
        try:
            with FAMILIES[name].open() as installation:
                is_over = play_until_failure(name, installation, left, tally)
        except AssertionError as error:
            print(f"{name}: the service did not start: {error}", flush=True)
            tally.failed.append(0)
            break


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
        except (AssertionError, httpx2.HTTPError, psycopg.Error) as error:
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
        f"{name} {played.seed}: {played.fault}; faults: {played.faults};"
        f" {acknowledged} acknowledged, {in_doubt} not; {outcome} ({took_s:.0f} s)",
        flush=True,
    )
    for failure in played.failures:
        print(f"    {failure}", flush=True)
    if played.failures:
        log = played.installation.folder / "service.log"
        print("    " + "\n    ".join(log.read_text().splitlines()[-LOG_LINES:]), flush=True)
