"""What tests over the database alone share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of localhost, which nobody has signed, with its key."""
    from tests.support.certificates import write_certificate  # noqa: PLC0415

    path = tmp_path_factory.mktemp("certificate") / "localhost.pem"
    write_certificate(path)
    return path
