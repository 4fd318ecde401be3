"""Clocks that jump by an hour, both ways, while everything runs."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

from tests.campaign.installation import Installation, installed, own_folder
from tests.campaign.kills import change_files, check_mirror, sync_folder
from tests.campaign.load import writing
from tests.campaign.rounds import Family, Round, pause_of

SOURCE = Path(__file__).with_name("clock.c")
HOUR_S = 3_600
OFFSETS_S = (-HOUR_S, 0, HOUR_S)
JUMPS_OF_A_ROUND = 4
BETWEEN_S = 2.0


def jump(played: Round) -> None:
    """Set the clock of server and worker, not of Postgres, while clients and jobs write."""
    clock = clock_of(played.installation.folder)
    folder = played.installation.inbox / "mirror"
    with writing(played.installation, played.ledger, chance=played.chance):
        change_files(folder, played.chance)
        sync_folder(played.installation, folder)
        for _ in range(JUMPS_OF_A_ROUND):
            pause_of(played.chance, BETWEEN_S)
            now_s = int(clock.read_text())
            offset_s = played.chance.choice([each for each in OFFSETS_S if each != now_s])
            set_clock(clock, offset_s)
            played.faults += 1
            played.fault += f"{offset_s // HOUR_S:+} h, "
        time.sleep(BETWEEN_S / 2)
    played.recover()
    check_mirror(played, folder)


def clock_of(folder: Path) -> Path:
    return folder / "clock"


def set_clock(clock: Path, offset_s: int) -> None:
    """Set a clock off by so much, for all who read it at once."""
    fresh = clock.with_suffix(".new")
    fresh.write_text(str(offset_s))
    fresh.replace(clock)


def why_no_compiler() -> str:
    return "" if which("gcc") else "gcc is not installed: a clock of its own is built by it"


@contextmanager
def with_own_clock() -> Iterator[Installation]:
    with own_folder() as folder:
        set_clock(clock_of(folder), 0)
        library = folder / "clock.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        settings = {"LD_PRELOAD": str(library), "CAMPAIGN_CLOCK": str(clock_of(folder))}
        with installed(settings, folder=folder) as installation:
            yield installation


CLOCKS = Family(with_own_clock, jump, share=0.06, why_not=why_no_compiler)
