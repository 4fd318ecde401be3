"""Which folders PKB_WATCH names, and when a change starts a sync."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from corpus.roots.file_systems import lacks_change_events
from corpus.watched.changes import MAX_WAIT_S, PendingChanges
from pkb.env import Env, parse_watched_folders

QUIET_S = 2.0


def read(given: str) -> Env:
    return Env(_env_file=None, PKB_WATCH=given)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "folders"),
    [
        ("", []),
        ("/srv/notes", [("/srv/notes", "default")]),
        (
            "/srv/notes=letters: /srv/a b=manuals :",
            [("/srv/notes", "letters"), ("/srv/a b", "manuals")],
        ),
        ("/srv/a=b=letters", [("/srv/a=b", "letters")]),
        ("/srv/notes=a:/srv/notes=b", [("/srv/notes", "a"), ("/srv/notes", "b")]),
    ],
    ids=["none", "default collection", "two", "a sign in the path", "two collections"],
)
def test_folders_are_read_with_their_collections(
    given: str, folders: list[tuple[str, str]]
) -> None:
    assert parse_watched_folders(read(given).PKB_WATCH) == [
        (Path(path), name) for path, name in folders
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("notes", "not an absolute path"),
        ("=letters", "not an absolute path"),
        ("/srv/notes=", "not a collection name"),
        ("/srv/notes=9 lives", "not a collection name"),
        ("/srv/notes:/srv/notes=default", "named twice"),
    ],
)
def test_read_env_rejects_invalid_watched_folders(given: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        read(given)


def test_a_sync_is_due_when_nothing_changes_any_more() -> None:
    pending = PendingChanges()
    assert not pending.is_due(100, quiet_s=QUIET_S)
    pending.note(10)
    pending.note(11.5)
    assert not pending.is_due(12.5, quiet_s=QUIET_S)
    assert pending.is_due(13.5, quiet_s=QUIET_S)
    pending.take()
    assert not pending.is_due(100, quiet_s=QUIET_S)


def test_a_folder_that_never_rests_is_synced_all_the_same() -> None:
    pending = PendingChanges()
    for second in range(int(MAX_WAIT_S)):
        assert not pending.is_due(second, quiet_s=QUIET_S)
        pending.note(second)
    assert pending.is_due(MAX_WAIT_S, quiet_s=QUIET_S)


@pytest.mark.parametrize(
    ("kind", "silent"),
    [("ext4", False), ("tmpfs", False), ("fuseblk", False)]
    + [(kind, True) for kind in ("nfs4", "cifs", "CIFS", "fuse.sshfs", "9p", "virtiofs")],
)
def test_network_drives_are_known_by_their_kind(kind: str, silent: bool) -> None:
    assert lacks_change_events(kind) == silent
