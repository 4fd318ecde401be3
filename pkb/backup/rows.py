"""Convert rows of a table to JSON Lines and back with COPY, without parsing them in Python."""

import gzip
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db import connection
from psycopg import sql

from pkb.backup.manifest import READ_BYTES, BackupError, StoredFile

# JSON contains neither byte, so COPY's CSV does not change the lines.
_AS_LINES = sql.SQL("(FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02', ENCODING 'utf8')")
# Level 6 takes three to five times as long and saves a tenth.
GZIP_LEVEL = 1
# Bytes inserted by one statement, which limits the work of its triggers.
BATCH_BYTES = 32 * 2**20
# The longest value in Postgres.
MAX_ROW_BYTES = 2**30
_LINES = sql.Identifier("pkb_restored_line")
_COLUMNS = """
SELECT column_name, data_type = 'jsonb' AND is_nullable = 'NO'
  FROM information_schema.columns
 WHERE table_schema = current_schema() AND table_name = %s AND is_generated = 'NEVER'
"""


class HashedFile:
    """A file that is hashed and measured while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def __enter__(self) -> "HashedFile":
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        self._file = self.path.open("wb")
        return self

    def __exit__(self, *exc: object) -> None:
        with self._file:
            if exc[0] is None:
                self._file.flush()
                os.fsync(self._file.fileno())

    def write(self, part: Any) -> int:
        self._digest.update(part)
        self.size_bytes += len(part)
        return self._file.write(part)

    def flush(self) -> None:
        """Do nothing; gzip requires this method."""

    def to_stored_file(self, folder: Path) -> StoredFile:
        """Return size, hash, and the path relative to ``folder``."""
        name = self.path.relative_to(folder).as_posix()
        return StoredFile(path=name, bytes=self.size_bytes, sha256=self._digest.hexdigest())


def open_gzip(file: HashedFile) -> gzip.GzipFile:
    """Return a gzip stream into the file, whose output depends only on its input."""
    return gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)


def write_rows(query: sql.Composable, lines: gzip.GzipFile) -> int:
    """Write the rows of a query of one JSON column as lines, and return their number."""
    count = 0
    statement = sql.SQL("COPY ({}) TO STDOUT {}").format(query, _AS_LINES)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for block in copy:
            count += bytes(block).count(b"\n")
            lines.write(block)
    return count


def read_rows(
    name: str, columns: list[str], lines: gzip.GzipFile, *, blanked: Mapping[str, str]
) -> int:
    """Insert lines into a table, and return their number.

    Args:
        blanked: Fixed values of columns, which override the lines.

    Raises:
        BackupError: The table or a column does not exist, or a line is too long.
    """
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [name])
        is_json = dict(cursor.fetchall())
    unknown = [column for column in columns if column not in is_json]
    if unknown:
        raise BackupError(f"Table {name} has no column {', '.join(unknown)} here.")
    # JSON null and SQL NULL are the same in a line.
    values = [
        sql.Literal(blanked[column])
        if column in blanked
        else sql.SQL("coalesce(r.{}, 'null')" if is_json[column] else "r.{}").format(
            sql.Identifier(column)
        )
        for column in columns
    ]
    insert = sql.SQL(
        "INSERT INTO {0} ({1}) SELECT {2} FROM {3}, json_populate_record(NULL::{0}, line) r"
    ).format(
        sql.Identifier(name),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(values),
        _LINES,
    )
    count = 0
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE TEMP TABLE {} (line json) ON COMMIT DROP").format(_LINES))
        while piece := lines.readline(READ_BYTES):
            with cursor.copy(sql.SQL("COPY {} FROM STDIN {}").format(_LINES, _AS_LINES)) as copy:
                for part in _batch(piece, name, lines):
                    copy.write(part)
            cursor.execute(insert)
            count += cursor.rowcount
            cursor.execute(sql.SQL("TRUNCATE {}").format(_LINES))
        cursor.execute(sql.SQL("DROP TABLE {}").format(_LINES))
    return count


def _batch(piece: bytes, name: str, lines: gzip.GzipFile) -> Iterator[bytes]:
    """Yield a piece and those after it: whole lines of at least ``BATCH_BYTES`` in all."""
    remaining, line_bytes = BATCH_BYTES, 0
    while piece:
        line_bytes += len(piece)
        if line_bytes > MAX_ROW_BYTES:
            raise BackupError(f"{name} has a line of more than {MAX_ROW_BYTES:,} bytes.")
        yield piece
        remaining -= len(piece)
        if piece.endswith(b"\n"):
            line_bytes = 0
            if remaining <= 0:
                return
        piece = lines.readline(READ_BYTES)
