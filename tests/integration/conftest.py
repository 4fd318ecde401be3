"""What tests over the database alone share."""

from pathlib import Path

import pytest

from tests.support.documents import BAKERY, LIGHTHOUSE, long_text


@pytest.fixture(autouse=True)
def database_access(db: None) -> None:
    """Let every test use the database; what it writes there is rolled back."""


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of localhost, which nobody has signed, with its key."""
    from tests.support.certificates import write_certificate  # noqa: PLC0415

    path = tmp_path_factory.mktemp("certificate") / "localhost.pem"
    write_certificate(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files that are to be mirrored, two of them in a folder below."""
    root = tmp_path / "tree"
    (root / "deep").mkdir(parents=True)
    (root / "a.md").write_text(f"---\ntags: [coast]\n---\n# Bavoke\n\n{LIGHTHOUSE}\n")
    (root / "deep" / "b.txt").write_text(BAKERY)
    (root / "deep" / "c.txt").write_text(long_text(4))
    return root
