"""What the service has acknowledged, and what it must therefore hold."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

ABSENT = ""
_MARKED = re.compile(r"(zq[0-9a-f]{10}x).*\1", re.DOTALL)
_WORDS = (
    "harbour lighthouse keeper ledger winter signal granite bell supply boat rope oil lamp tide "
    "chart wind mast anchor beacon stone tower watch storm cable buoy pier crane cargo tariff"
).split()


def new_text(chance: Random, *, words: int) -> tuple[str, str]:
    """Return a text and its mark: a word that no other text has, at its start and its end."""
    mark = f"zq{chance.getrandbits(40):010x}x"
    lines = []
    for start in range(0, words, 12):
        line = " ".join(chance.choice(_WORDS) for _ in range(min(12, words - start)))
        lines.append(f"{line.capitalize()}.")
    return f"The note {mark} begins here. {' '.join(lines)} Here {mark} ends.", mark


def find_mark(text: str) -> str:
    """Return the mark of a text that is whole; of any other the text's beginning."""
    found = _MARKED.search(text)
    return found[1] if found else f"half a text: {text[:60]!r}"


@dataclass
class Ledger:
    """The versions that each address may have, by their marks; ``ABSENT`` for none.

    One of them as long as every request for it was answered. One that was not answered, or by
    5xx, may have come to pass or not.

    Attributes:
        gone: Marks of versions that were deleted or replaced, and acknowledged so.
        acknowledged: How many requests were.
        in_doubt: How many were not.
    """

    possible: dict[str, set[str]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    acknowledged: int = 0
    in_doubt: int = 0

    def ask(self, address: str, mark: str) -> None:
        """Note that a version is asked for."""
        self.possible.setdefault(address, {ABSENT}).add(mark)

    def settle(self, address: str, mark: str, status: int | None) -> None:
        """Note what was answered; None: nothing."""
        if status is None or status >= 500:
            self.in_doubt += 1
            return
        self.acknowledged += 1
        if status < 300:
            self.gone += self.possible[address] - {mark, ABSENT}
            self.possible[address] = {mark}
        else:
            self.possible[address].discard(mark)

    def present(self, addresses: Iterable[str]) -> list[str]:
        return [each for each in addresses if self.possible.get(each, {ABSENT}) != {ABSENT}]

    def compare(self, stored: Mapping[str, str]) -> list[str]:
        """Return what is not as acknowledged, in words, and take what is there as known.

        Args:
            stored: The marks of what the service holds, by address.
        """
        wrong = []
        for address, possible in self.possible.items():
            mark = stored.get(address, ABSENT)
            if mark not in possible:
                wanted = " or ".join(each or "nothing" for each in sorted(possible))
                wrong.append(f"{address}: {wanted} acknowledged, {mark or 'nothing'} there")
            self.gone += possible - {mark, ABSENT}
            self.possible[address] = {mark}
        wrong += [f"{each}: never sent" for each in stored.keys() - self.possible.keys()]
        return wrong
