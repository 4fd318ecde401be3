"""Where the files of these tests are read."""

import sys
from collections.abc import Iterator

import pytest

from corpus import loaders
from corpus.loaders.read import read
from corpus.loaders.sandbox_worker import RECURSION_LIMIT


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Read well-meant files without the process that guards against the others."""
    monkeypatch.setattr(loaders, "read_in_child", read)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    yield
    sys.setrecursionlimit(before)
