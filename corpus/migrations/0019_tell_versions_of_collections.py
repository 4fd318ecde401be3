import uuid

from django.db import migrations, models

# Readers see all that a transaction changed or nothing, so one row tells of it: the setting, which
# ends with the transaction and with a savepoint that is rolled back, says which are told.
TELL = """
CREATE FUNCTION corpus_tell_change(changed bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  told text := coalesce(current_setting('pkb.changed_collections', true), '');
  untold bigint[];
BEGIN
  SELECT array_agg(DISTINCT id) INTO untold FROM unnest(changed) id
   WHERE strpos(told, ',' || id || ',') = 0;
  IF untold IS NULL THEN RETURN; END IF;
  DELETE FROM corpus_collectionchange WHERE id IN (
    SELECT id FROM corpus_collectionchange WHERE collection_id = ANY(untold) FOR UPDATE SKIP LOCKED);
  INSERT INTO corpus_collectionchange (id, collection_id)
  SELECT gen_random_uuid(), id FROM unnest(untold) id;
  PERFORM set_config('pkb.changed_collections',
                     told || ',' || array_to_string(untold, ',,') || ',', true);
END $$;

CREATE FUNCTION corpus_tell_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    PERFORM corpus_tell_change(array_agg(DISTINCT collection_id)) FROM (
      SELECT collection_id FROM changed UNION SELECT collection_id FROM former) rows;
  ELSE
    PERFORM corpus_tell_change(array_agg(DISTINCT collection_id)) FROM changed;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION corpus_tell_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM corpus_tell_change(array_agg(DISTINCT c.collection_id))
     FROM changed JOIN corpus_chunk c ON c.id = changed.chunk_id;
  RETURN NULL;
END $$;

CREATE FUNCTION corpus_tell_collection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM corpus_tell_change(ARRAY[NEW.id]); RETURN NULL; END $$;

CREATE FUNCTION corpus_tell_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM corpus_tell_change(array_agg(id)) FROM corpus_collection; RETURN NULL; END $$;

CREATE FUNCTION corpus_forget_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN DELETE FROM corpus_collectionchange WHERE collection_id = OLD.id; RETURN NULL; END $$;
"""
TABLES = {
    "corpus_document": "corpus_tell_rows",
    "corpus_chunk": "corpus_tell_rows",
    "corpus_embedding": "corpus_tell_rows",
    "corpus_chunktag": "corpus_tell_tags",
}
SEEN = {
    "insert": "NEW TABLE AS changed",
    "update": "NEW TABLE AS changed OLD TABLE AS former",
    "delete": "OLD TABLE AS changed",
}
ROWS = "".join(
    f"CREATE TRIGGER corpus_tell_{event} AFTER {event.upper()} ON {table} REFERENCING {rows} "
    f"FOR EACH STATEMENT EXECUTE FUNCTION {function}();\n"
    for table, function in TABLES.items()
    for event, rows in SEEN.items()
) + "".join(
    f"CREATE TRIGGER corpus_tell_truncate AFTER TRUNCATE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();\n"
    for table in TABLES
)
OTHERS = """
CREATE TRIGGER corpus_tell_change AFTER INSERT OR UPDATE ON corpus_collection
FOR EACH ROW EXECUTE FUNCTION corpus_tell_collection();
CREATE TRIGGER corpus_forget_changes AFTER DELETE ON corpus_collection
FOR EACH ROW EXECUTE FUNCTION corpus_forget_changes();
-- Another name for a tag, wherever it is on.
CREATE TRIGGER corpus_tell_update AFTER UPDATE ON corpus_tag
FOR EACH STATEMENT EXECUTE FUNCTION corpus_tell_all();
"""
TELL_WHAT_IS_THERE = """
INSERT INTO corpus_collectionchange (id, collection_id)
SELECT gen_random_uuid(), id FROM corpus_collection
"""
TELL_NO_MORE = """
DROP FUNCTION corpus_tell_rows, corpus_tell_tags, corpus_tell_collection, corpus_tell_all,
              corpus_forget_changes, corpus_tell_change CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("corpus", "0018_sort_documents")]

    operations = [
        migrations.CreateModel(
            "CollectionChange",
            [
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("collection_id", models.BigIntegerField(db_index=True)),
            ],
        ),
        migrations.RunSQL(TELL + ROWS + OTHERS, TELL_NO_MORE),
        migrations.RunSQL(TELL_WHAT_IS_THERE, migrations.RunSQL.noop),
    ]
