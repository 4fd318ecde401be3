"""A server that a module's tests share, and processes that end with their test."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pkb.postgres.server import EmbeddedPostgres
from tests.faults.clusters import REPOSITORY, cluster_in, reachable_directory


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedPostgres]:
    with reachable_directory() as directory, cluster_in(directory / "state") as cluster:
        yield cluster


@pytest.fixture
def server(cluster: EmbeddedPostgres) -> EmbeddedPostgres:
    cluster.start()
    return cluster


@pytest.fixture
def directory() -> Iterator[Path]:
    with reachable_directory() as directory:
        yield directory


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python with the given code; whatever still runs at the end is killed."""
    spawned: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, **environment},
        )
        spawned.append(process)
        return process

    yield start
    for process in spawned:
        with process:  # closes its pipe, and waits for it
            process.kill()
