from django.db import migrations, models

from corpus.access.policies import OF_COLLECTION, put, take

# What a statement adds to the counts, and takes from them.
COUNT = """
INSERT INTO corpus_documentcount (collection_id, tag_id, document_count, chunk_count)
SELECT collection_id, tag_id, sum(documents), sum(chunks) FROM (
  {changes}
) changed GROUP BY collection_id, tag_id HAVING sum(documents) <> 0 OR sum(chunks) <> 0;
"""
DOCUMENTS = """
  SELECT collection_id, 0::bigint AS tag_id, {sign}1 AS documents, 0 AS chunks FROM {rows}
   WHERE content_sha256 <> ''
"""
# A tag that is gone takes its counts along.
TAGGED_DOCUMENTS = """
  SELECT t.collection_id, t.id AS tag_id, {sign}1 AS documents, 0 AS chunks
    FROM {rows} l JOIN corpus_tag t ON t.id = l.tag_id
"""
TAGGED_CHUNKS = """
  SELECT t.collection_id, t.id AS tag_id, 0 AS documents, {sign}1 AS chunks
    FROM {rows} l JOIN corpus_tag t ON t.id = l.tag_id
"""
COUNTED = {
    "corpus_document": ("documents", DOCUMENTS),
    "corpus_document_tags": ("tagged_documents", TAGGED_DOCUMENTS),
    "corpus_chunktag": ("tagged_chunks", TAGGED_CHUNKS),
}
SEEN = {
    "insert": "NEW TABLE AS added",
    "update": "NEW TABLE AS added OLD TABLE AS gone",
    "delete": "OLD TABLE AS gone",
}


def trigger(table: str, event: str) -> str:
    what, changes = COUNTED[table]
    name = f"corpus_count_{what}_on_{event}"
    signs = {"": "added", "-": "gone"}
    parts = (
        changes.format(sign=sign, rows=rows) for sign, rows in signs.items() if rows in SEEN[event]
    )
    return f"""
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN {COUNT.format(changes=" UNION ALL ".join(parts))} RETURN NULL; END $$;
CREATE TRIGGER {name} AFTER {event.upper()} ON {table} REFERENCING {SEEN[event]}
FOR EACH STATEMENT EXECUTE FUNCTION {name}();
"""


# Who adds the rows up lets be while rows are being forgotten, and is waited for by who forgets: what
# it wrote is seen then, and neither has rows that the other wants.
FORGET = """
CREATE FUNCTION corpus_forget_counts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_xact_lock_shared(0x706b625f6463);
  DELETE FROM corpus_documentcount WHERE collection_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER corpus_forget_counts AFTER DELETE ON corpus_collection
FOR EACH ROW EXECUTE FUNCTION corpus_forget_counts();

CREATE FUNCTION corpus_forget_tag_counts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_xact_lock_shared(0x706b625f6463);
  DELETE FROM corpus_documentcount WHERE collection_id = OLD.collection_id AND tag_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER corpus_forget_tag_counts AFTER DELETE ON corpus_tag
FOR EACH ROW EXECUTE FUNCTION corpus_forget_tag_counts();

CREATE TRIGGER corpus_stay_where_written BEFORE UPDATE OF collection_id ON corpus_documentcount
FOR EACH ROW EXECUTE FUNCTION corpus_stay_where_written();
"""
TRIGGERS = "".join(trigger(table, event) for table in COUNTED for event in SEEN) + FORGET
FUNCTIONS = ", ".join(f"corpus_count_{what}_on_{event}" for what, _ in COUNTED.values() for event in SEEN)
NO_TRIGGERS = f"DROP FUNCTION {FUNCTIONS}, corpus_forget_counts, corpus_forget_tag_counts CASCADE;"
COUNT_WHAT_IS_THERE = "".join(
    COUNT.format(changes=changes.format(sign="", rows=table)) for table, (_, changes) in COUNTED.items()
)
POLICIES = {"corpus_documentcount": OF_COLLECTION}


class Migration(migrations.Migration):
    dependencies = [("corpus", "0029_say_which_request_made_jobs")]

    operations = [
        migrations.CreateModel(
            "DocumentCount",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("collection_id", models.BigIntegerField()),
                ("tag_id", models.BigIntegerField()),
                ("document_count", models.BigIntegerField()),
                ("chunk_count", models.BigIntegerField()),
            ],
            options={"indexes": [models.Index("collection_id", "tag_id", name="document_count_lookup")]},
        ),
        # It was there to count documents by.
        migrations.RemoveIndex("document", "document_stored"),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(COUNT_WHAT_IS_THERE, migrations.RunSQL.noop),
        migrations.RunSQL(put(POLICIES), take(POLICIES)),
    ]
