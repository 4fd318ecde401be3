"""A time that is stored can be read again; one from before the bounds is told, and brought in."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import DateTimeField, Value
from django.db.models.functions import Cast

from corpus.filters import FilterError, parse_filter
from corpus.ingestion.file_scan import read_file
from corpus.invariants import find_violations
from corpus.models import Document
from corpus.times import EARLIEST, LATEST, is_storable_time
from tests.support.client import Api
from tests.support.database import execute
from tests.support.documents import LIGHTHOUSE, Ingest

TOO_FAR = [
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "0001-01-01T23:59:59.999999Z",
    "9999-12-31T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59.999999-23:59",
]
STORED = ["0001-01-02T00:00:00Z", "0001-01-03T00:00:00+23:59", "9999-12-30T23:59:59Z"]


@pytest.mark.parametrize("moment", TOO_FAR)
def test_a_time_that_cannot_be_read_again_is_refused(api: Api, db: None, moment: str) -> None:
    body = {"text": LIGHTHOUSE, "created_at": moment}
    reply = api.post("/ingest", body)
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["field"] == "created_at"
    assert not Document.objects.exists()
    with pytest.raises(FilterError):
        parse_filter({"type": "gt", "key": "created_at", "value": moment})


@pytest.mark.parametrize("moment", STORED)
def test_a_time_at_the_bounds_is_read_again(api: Api, db: None, moment: str) -> None:
    body = {"text": LIGHTHOUSE, "created_at": moment}
    made = api.post("/ingest", body)
    assert made.status_code == 201
    shown = api.get(f"/documents/{made.json()['document_id']}").json()["user_created_at"]
    assert datetime.fromisoformat(shown) == datetime.fromisoformat(moment)
    wanted = {"type": "eq", "key": "user_created_at", "value": moment}
    found = api.post("/search", {"query": "lighthouse", "filters": wanted})
    assert found.json()["total_results"] == 1


@pytest.mark.parametrize("hours", [-23, 0, 23])
def test_every_zone_can_tell_a_stored_time(hours: int) -> None:
    for bound in (EARLIEST, LATEST):
        assert is_storable_time(bound.astimezone(timezone(timedelta(hours=hours))))


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_a_filter_by_the_first_or_last_day_is_refused(day: str) -> None:
    with pytest.raises(FilterError):
        parse_filter({"type": "gte", "key": "last_modified", "value": day})


@pytest.mark.parametrize("seconds", [-(2**37), 2**39])
def test_a_file_is_taken_in_whenever_it_was_changed(seconds: int) -> None:
    # Of the usual file systems tmpfs keeps such times.
    with TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "note.txt"
        path.write_text(LIGHTHOUSE)
        os.utime(path, (0, seconds))
        assert path.stat().st_mtime == seconds
        assert is_storable_time(read_file(path, root=path.parent, max_bytes=10_000).last_modified)


def write_beyond(document_id: str, column: str, moment: str) -> None:
    """As a version before the bounds could."""
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("ALTER TABLE corpus_document DROP CONSTRAINT document_times_can_be_read")
    Document.objects.filter(pk=document_id).update(**{column: Cast(Value(moment), DateTimeField())})


@pytest.mark.parametrize(
    ("column", "moment"),
    [
        ("user_created_at", "0001-01-01 BC"),
        ("user_created_at", "infinity"),
        ("last_modified", "10000-01-01"),
        ("last_modified", "-infinity"),
    ],
)
def test_a_row_beyond_the_bounds_is_named(ingest: Ingest, column: str, moment: str) -> None:
    wrong = ingest(LIGHTHOUSE, user_created_at=datetime(2020, 1, 1, tzinfo=UTC)).document_id
    write_beyond(wrong, column, moment)
    with pytest.raises(DataError), transaction.atomic():
        list(Document.objects.all())
    assert list(map(str, find_violations())) == [
        f"a time of a document cannot be read again: {wrong}"
    ]


def test_the_database_refuses_what_no_door_refused(ingest: Ingest) -> None:
    key = ingest(LIGHTHOUSE).document_id
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE corpus_document SET last_modified = 'infinity' WHERE id = %s", [key])
