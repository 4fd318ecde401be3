"""The file of the sources: what it may say, and that no secret is told."""

from pathlib import Path

import pytest

from corpus.errors import SourceUnavailable
from corpus.sources.source_settings import SourceSettings, read_sources
from pkb.env import Env

GIVEN = """
- name: office
  kind: paperless
  url: https://paperless.example.org/
  collection: papers
  every: 1h
  tags: [office]
  token_env: PAPERLESS_TOKEN
"""


def read(tmp_path: Path, given: str, **environment: str) -> list[SourceSettings]:
    path = tmp_path / "sources.yaml"
    path.write_text(given)
    return read_sources(path, environment=environment)


def test_a_source_is_read_with_its_secret_from_the_environment(tmp_path: Path) -> None:
    (found,) = read(tmp_path, GIVEN, PAPERLESS_TOKEN="f00d")
    assert (found.name, found.every, found.tags) == ("office", 3_600, ("office",))
    assert found.address == "https://paperless.example.org"
    assert found.credential() == "f00d"
    assert "f00d" not in f"{found!r}{found.model_dump()}"


def test_a_secret_may_be_in_a_file_that_is_read_when_it_is_needed(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    given = GIVEN.replace("token_env: PAPERLESS_TOKEN", f"token_file: {secret}")
    (found,) = read(tmp_path, given)
    with pytest.raises(SourceUnavailable, match="token cannot be read"):
        found.credential()
    secret.write_text("f00d\n")
    assert found.credential() == "f00d"
    secret.write_text("\n")
    with pytest.raises(SourceUnavailable, match="token is empty"):
        found.credential()


def test_a_secret_that_is_not_set_is_said_when_it_is_needed(tmp_path: Path) -> None:
    (found,) = read(tmp_path, GIVEN)
    with pytest.raises(SourceUnavailable, match="office: PAPERLESS_TOKEN is not set"):
        found.credential()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("- {", "cannot be read: ParserError"),
        ("name: office", "is no list of sources"),
        ("- office", "is no list of sources"),
        ("- {name: a, kind: fax}", "a: the kind is one of "),
        ("- {name: a, kind: paperless, url: 'http://a', secret: hush}", "never written"),
        ("- {name: a, kind: paperless, url: 'http://a', token: hush}", "token: Extra inputs"),
        ("- {name: a, kind: paperless, url: 'http://u:hush@a'}", "url: String should match"),
        ("- {name: a, kind: paperless, url: 'file:///etc'}", "url: String should match"),
        ("- {name: a, kind: paperless, url: 'http://a', every: 5s}", "30m, 1h or 2d"),
        ("- {name: a/b, kind: paperless, url: 'http://a'}", "name: String should match"),
        (GIVEN + GIVEN, "two sources are called 'office'"),
    ],
)
def test_a_wrong_file_is_refused_without_telling_a_secret(
    tmp_path: Path, given: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        read(tmp_path, given)
    assert "hush" not in str(caught.value)


def test_a_wrong_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.yaml cannot be read"):
        Env(PKB_SOURCES=tmp_path / "nowhere.yaml")
