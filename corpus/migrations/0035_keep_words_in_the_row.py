"""The table of chunks is written anew: nobody reads it meanwhile. Broken off, it is done again."""

from django.db import migrations

# Outside of the row only where a page cannot hold it; the text moves out before.
IN_ROW = "ALTER TABLE corpus_chunk ALTER COLUMN lexemes SET STORAGE MAIN"
BESIDE_ROW = "ALTER TABLE corpus_chunk ALTER COLUMN lexemes SET STORAGE EXTENDED"
# Moves what is stored already; rows stay in the order in which they came.
WRITE_ANEW = "VACUUM (FULL, ANALYZE) corpus_chunk"


class Migration(migrations.Migration):

    atomic = False

    dependencies = [("corpus", "0034_keep_vectors_in_halves")]

    operations = [
        migrations.RunSQL([IN_ROW], [BESIDE_ROW]),
        migrations.RunSQL([WRITE_ANEW], [WRITE_ANEW]),
    ]
