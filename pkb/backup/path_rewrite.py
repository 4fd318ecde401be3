"""Rewrite paths in restored rows for this machine."""

import json
from collections.abc import Iterable
from pathlib import Path

from django.db import connection
from psycopg import sql

from pkb.backup.manifest import StoredTable

_COLUMNS = """
SELECT column_name, data_type FROM information_schema.columns
 WHERE table_schema = current_schema() AND table_name = %s AND is_generated = 'NEVER'
   AND data_type IN ('character varying', 'jsonb')
"""
_OF_VALUE = """
UPDATE {table} SET {column} = %(new)s || substr({column}, length(%(old)s) + 1)
 WHERE {column} = %(old)s OR starts_with({column}, %(old)s || '/')
"""
# The path is a complete JSON string or its prefix.
_OF_JSON = """
UPDATE {table}
   SET {column} = replace(replace({column}::text, %(old)s || '"', %(new)s || '"'),
                          %(old)s || '/', %(new)s || '/')::jsonb
 WHERE strpos({column}::text, %(old)s) > 0
"""


def rewrite_paths(old: str, new: str, tables: Iterable[StoredTable]) -> None:
    """Replace a folder in all columns of paths, URIs and JSON.

    Columns of type ``text``, which hold texts of documents and users, stay unchanged.
    """
    if old == new:
        return
    names = [(old, new), (Path(old).as_uri(), Path(new).as_uri())]
    in_json = [[json.dumps(each, ensure_ascii=False)[:-1] for each in pair] for pair in names]
    for table in tables:
        with connection.cursor() as cursor:
            cursor.execute(_COLUMNS, [table.name])
            types = dict(cursor.fetchall())
            for column in filter(types.get, table.columns):
                is_json = types[column] == "jsonb"
                statement = sql.SQL(_OF_JSON if is_json else _OF_VALUE).format(
                    table=sql.Identifier(table.name), column=sql.Identifier(column)
                )
                for before, after in in_json if is_json else names:
                    cursor.execute(statement, {"old": before, "new": after})
