"""The table of chunks is written anew: nobody reads it meanwhile. Broken off, it is done again."""

from typing import Any

from django.db import migrations

# Outside of the row only where a page cannot hold it; the text moves out before.
IN_ROW = "ALTER TABLE corpus_chunk ALTER COLUMN lexemes SET STORAGE MAIN"
BESIDE_ROW = "ALTER TABLE corpus_chunk ALTER COLUMN lexemes SET STORAGE EXTENDED"
IS_FILLED = "SELECT pg_relation_size('corpus_chunk') > 0"
# Rows stay in the order in which they came.
WRITE_ANEW = "VACUUM (FULL, ANALYZE) corpus_chunk"


def move_what_is_stored(apps: Any, schema_editor: Any) -> None:
    """Of an empty table the planner would keep that it is empty."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(IS_FILLED)
        (is_filled,) = cursor.fetchone()
        if is_filled:
            cursor.execute(WRITE_ANEW)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [("corpus", "0034_keep_vectors_in_halves")]

    operations = [
        migrations.RunSQL([IN_ROW], [BESIDE_ROW]),
        migrations.RunPython(move_what_is_stored, move_what_is_stored),
    ]
