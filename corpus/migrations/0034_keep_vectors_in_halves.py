"""The table is written anew, and its indexes of vectors with it: nobody reads it meanwhile."""

from django.db import migrations
from pgvector.django import HalfVectorField

# Postgres moves what is longer than this out of a row: half a page until now.
ROW_BYTES = 8160
LONG_ROWS = f"ALTER TABLE corpus_embedding SET (toast_tuple_target = {ROW_BYTES})"
SHORT_ROWS = "ALTER TABLE corpus_embedding RESET (toast_tuple_target)"
# Until the end of the transaction; as corpus.vector_index does for one graph, for the largest.
GIVE_MEMORY = """
SELECT set_config('maintenance_work_mem', bytes / 1024 + 1 || 'kB', true),
       set_config('max_parallel_maintenance_workers', '0', true)
  FROM (SELECT count(*) * (2 * dimension + 800) AS bytes FROM corpus_embedding
         GROUP BY model, dimension ORDER BY bytes DESC LIMIT 1) largest
 WHERE bytes > pg_size_bytes(current_setting('maintenance_work_mem'))
   AND bytes <= pg_size_bytes(current_setting('effective_cache_size')) / 4
"""


class Migration(migrations.Migration):

    dependencies = [("corpus", "0033_know_workers_of_home")]

    # What is first on the way there is last on the way back.
    operations = [
        migrations.RunSQL(f"{LONG_ROWS}; {GIVE_MEMORY}", migrations.RunSQL.noop),
        migrations.AlterField("embedding", "vector", HalfVectorField()),
        migrations.RunSQL(migrations.RunSQL.noop, f"{SHORT_ROWS}; {GIVE_MEMORY}"),
    ]
