"""``path`` held the id of a document and the name of a collection, too: ``key`` does now.

Each statement is a transaction of its own, of at most ``BATCH`` rows, and indexes are built while the
table is read and written. Broken off, the migration goes on where it was. No worker may run meanwhile.
"""

from typing import Any

from django.db import migrations, models
from django.db.models.functions import MD5

BATCH = 10_000

ADD_KEY = "ALTER TABLE corpus_jobitem ADD COLUMN IF NOT EXISTS key varchar(4096) NOT NULL DEFAULT ''"
KEYS = """
UPDATE corpus_jobitem i SET
       key = i.path,
       path = CASE WHEN j.kind = 'sync' THEN i.path ELSE '' END,
       document_id = CASE WHEN j.kind IN ('embed', 'reembed') THEN i.path::uuid ELSE i.document_id END,
       outcome = CASE WHEN i.outcome <> 'replaced' OR j.kind = 'sync' THEN i.outcome
                      WHEN j.kind = 'map' THEN 'drawn' ELSE 'embedded' END
  FROM corpus_job j
 WHERE j.id = i.job_id AND i.key = '' AND i.id >= %s AND i.id < %s
"""
PATHS = """
UPDATE corpus_jobitem SET
       path = key, key = '',
       outcome = CASE WHEN outcome IN ('drawn', 'embedded') THEN 'replaced' ELSE outcome END
 WHERE key <> '' AND id >= %s AND id < %s
"""
# The errors that are shown with a job name documents in the same way.
ERRORS_BY_DOCUMENT = """
UPDATE corpus_job SET errors = (
    SELECT jsonb_agg(CASE WHEN e->>'path' = '' OR e ? 'document_id' THEN e
                          ELSE e || jsonb_build_object('path', '', 'document_id', e->>'path') END ORDER BY place)
      FROM jsonb_array_elements(errors) WITH ORDINALITY AS t(e, place))
 WHERE kind IN ('embed', 'reembed') AND errors <> '[]'
"""
ERRORS_BY_PATH = """
UPDATE corpus_job SET errors = (
    SELECT jsonb_agg(CASE WHEN e ? 'document_id'
                          THEN (e - 'document_id') || jsonb_build_object('path', e->>'document_id')
                          ELSE e END ORDER BY place)
      FROM jsonb_array_elements(errors) WITH ORDINALITY AS t(e, place))
 WHERE kind IN ('embed', 'reembed') AND errors <> '[]'
"""


def write_keys(apps: Any, schema_editor: Any) -> None:
    _in_batches(schema_editor, KEYS)


def write_paths(apps: Any, schema_editor: Any) -> None:
    _in_batches(schema_editor, PATHS)


def _in_batches(schema_editor: Any, statement: str) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT min(id), max(id) FROM corpus_jobitem")
        first, last = cursor.fetchone()
        if first is None:
            return
        for start in range(first, last + 1, BATCH):
            cursor.execute(statement, [start, start + BATCH])


def unique(name: str, column: str) -> tuple[list[Any], str]:
    """Return how the index of a unique constraint is built, also where a try was broken off, and dropped."""
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    create = f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON corpus_jobitem (job_id, md5({column}))"
    return [drop, create], drop


OF_PATH, OF_KEY = "job_item_path_unique_in_job", "job_item_key_unique_in_job"
CREATE_OF_PATH, DROP_OF_PATH = unique(OF_PATH, "path")
CREATE_OF_KEY, DROP_OF_KEY = unique(OF_KEY, "key")


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('corpus', '0008_add_collection_map'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='errors',
            field=models.JSONField(blank=True, default=list, help_text='the first of them: reason, and path or document_id'),
        ),
        migrations.AlterField(
            model_name='jobitem',
            name='path',
            field=models.CharField(blank=True, default='', help_text='of a file', max_length=4096),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(ADD_KEY, "ALTER TABLE corpus_jobitem DROP COLUMN IF EXISTS key"),
            ],
            state_operations=[
                migrations.AddField(
                    model_name='jobitem',
                    name='key',
                    field=models.CharField(help_text='what it is about, once in a job', max_length=4096),
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP_OF_PATH, CREATE_OF_PATH)],
            state_operations=[migrations.RemoveConstraint(model_name='jobitem', name=OF_PATH)],
        ),
        migrations.RunPython(write_keys, write_paths, elidable=False),
        migrations.RunSQL(ERRORS_BY_DOCUMENT, ERRORS_BY_PATH),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(CREATE_OF_KEY, DROP_OF_KEY)],
            state_operations=[
                migrations.AddConstraint(
                    model_name='jobitem',
                    constraint=models.UniqueConstraint(models.F('job'), MD5('key'), name=OF_KEY),
                ),
            ],
        ),
        migrations.RunSQL(
            "ALTER TABLE corpus_jobitem ALTER COLUMN key DROP DEFAULT",
            # Backwards it begins here: also where a try had already taken the column away.
            [ADD_KEY, "ALTER TABLE corpus_jobitem ALTER COLUMN key SET DEFAULT ''"],
        ),
    ]
