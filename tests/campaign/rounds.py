"""One round: a fault, and what must hold after it."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random

import httpx2
import psycopg

from tests.campaign.installation import Installation
from tests.campaign.ledger import Ledger, find_mark
from tests.support.waiting import wait_until

# Minutes on a busy machine; a job that is stuck stays so.
JOBS_WITHIN_S = 300
# Of what is known to be gone, or to be there, so many are asked for by search.
ASKED = 4
_UNFINISHED = """
SELECT count(*) FROM corpus_job WHERE status IN ('queued', 'running') AND is_background
"""
_STORED = """
SELECT d.source_uri, t.text FROM corpus_document d
  JOIN corpus_documentcontent t ON t.document_id = d.id
  JOIN corpus_collection c ON c.id = d.collection_id
 WHERE c.name = 'default' AND d.status = 'completed'
"""


@dataclass
class Round:
    """What is drawn and seen in one round.

    Attributes:
        fault: What was done, in words.
        faults: How many faults it had.
        failures: What did not hold.
        lost: Of what was acknowledged, how much is not there; also what came back.
    """

    seed: int
    installation: Installation
    ledger: Ledger
    fault: str = ""
    faults: int = 0
    failures: list[str] = field(default_factory=list)
    lost: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)  # noqa: S311

    def check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.failures.append(otherwise)

    def recover(self) -> None:
        """Start what died, and check that all jobs end and that what is stored is right."""
        self.installation.revive()
        self.settle_jobs()
        self.verify()
        self.compare()

    def settle_jobs(self) -> None:
        """Wait until no job is under way; one that stays so is a failure."""
        try:
            wait_until(self._are_jobs_ended, timeout_s=JOBS_WITHIN_S, what="all jobs end")
        except AssertionError as error:
            self.failures.append(str(error))

    def _are_jobs_ended(self) -> bool:
        if not self.installation.is_alive("worker"):
            self.installation.revive()
        try:
            return self.installation.read(_UNFINISHED) == [(0,)]
        except psycopg.OperationalError:
            return False

    def verify(self, **environment: str) -> None:
        done = self.installation.command("verify", **environment)
        told = done.stdout.strip().splitlines()[-5:] + done.stderr.strip().splitlines()[-3:]
        self.check(done.returncode == 0, f"verify: {' | '.join(told)}")

    def compare(self) -> None:
        """Check that what was acknowledged is there and readable, and nothing that is gone."""
        gone = self.chance.sample(self.ledger.gone, min(ASKED, len(self.ledger.gone)))
        stored = {uri: find_mark(text) for uri, text in self.installation.read(_STORED)}
        wrong = self.ledger.compare(stored)
        self.lost += len(wrong)
        self.failures += wrong
        there = [mark for _, mark in sorted(stored.items())]
        with self.installation.client() as http:
            for mark in self.chance.sample(there, min(ASKED, len(there))):
                self._check_found(http, mark)
            for mark in gone:
                self.check(not find(http, mark), f"{mark} is gone and answers")
        self.ledger.gone.clear()

    def _check_found(self, http: httpx2.Client, mark: str) -> None:
        found = find(http, mark)
        self.check(bool(found), f"{mark} is stored and not found")
        for each in found[:1]:
            reply = http.get(f"/documents/{each}/text", headers={"Accept": "text/plain"})
            is_readable = reply.status_code == 200 and mark in reply.text
            self.check(is_readable, f"{mark} is found and not readable: {reply.status_code}")


def find(http: httpx2.Client, mark: str) -> list[str]:
    """Return the ids of the documents that a search for a mark brings, and that hold it."""
    reply = http.post("/search", json={"query": mark, "mode": "lexical", "top_k": 5})
    reply.raise_for_status()
    return [row["document_id"] for row in reply.json()["results"] if mark in row["content"]]


@dataclass(frozen=True)
class Family:
    """Faults of one kind.

    Attributes:
        open: Makes the service that they befall.
        play: Brings a round's fault about, and ends when the service has recovered and was
            checked.
        share: Of the campaign's time.
        why_not: Tells why it cannot be tried here; empty where it can.
    """

    open: Callable[[], AbstractContextManager[Installation]]
    play: Callable[[Round], None]
    share: float
    why_not: Callable[[], str] = lambda: ""


def pause_of(chance: Random, longest_s: float) -> float:
    """Draw a moment and wait for it; returns the seconds."""
    pause_s = chance.uniform(0, longest_s)
    time.sleep(pause_s)
    return pause_s
