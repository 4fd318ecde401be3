import django.db.models.deletion
from django.db import migrations, models

# A tag stays with the first collection that uses it, so that where there is one nothing is
# rewritten; the others get tags of their own. One that nobody uses goes to the oldest collection.
PART = """
CREATE TEMP TABLE used ON COMMIT DROP AS
SELECT l.tag_id, d.collection_id FROM corpus_document_tags l
  JOIN corpus_document d ON d.id = l.document_id
UNION
SELECT l.tag_id, c.collection_id FROM corpus_chunktag l JOIN corpus_chunk c ON c.id = l.chunk_id;
UPDATE corpus_tag t SET collection_id = coalesce(
  (SELECT min(collection_id) FROM used WHERE tag_id = t.id),
  (SELECT min(id) FROM corpus_collection));
DELETE FROM corpus_tag WHERE collection_id IS NULL;
INSERT INTO corpus_tag (name, collection_id)
SELECT t.name, u.collection_id FROM used u JOIN corpus_tag t ON t.id = u.tag_id
 WHERE u.collection_id <> t.collection_id;
UPDATE corpus_document_tags l SET tag_id = own.id
  FROM corpus_tag t, corpus_document d, corpus_tag own
 WHERE t.id = l.tag_id AND d.id = l.document_id AND d.collection_id <> t.collection_id
   AND own.collection_id = d.collection_id AND own.name = t.name;
UPDATE corpus_chunktag l SET tag_id = own.id
  FROM corpus_tag t, corpus_chunk c, corpus_tag own
 WHERE t.id = l.tag_id AND c.id = l.chunk_id AND c.collection_id <> t.collection_id
   AND own.collection_id = c.collection_id AND own.name = t.name;
"""
JOIN = """
UPDATE corpus_document_tags l SET tag_id = first.id
  FROM corpus_tag t, (SELECT min(id) AS id, name FROM corpus_tag GROUP BY name) first
 WHERE t.id = l.tag_id AND first.name = t.name AND first.id <> t.id;
UPDATE corpus_chunktag l SET tag_id = first.id
  FROM corpus_tag t, (SELECT min(id) AS id, name FROM corpus_tag GROUP BY name) first
 WHERE t.id = l.tag_id AND first.name = t.name AND first.id <> t.id;
DELETE FROM corpus_tag WHERE id NOT IN (SELECT min(id) FROM corpus_tag GROUP BY name);
"""
# Postgres alters no table whose rows have checks pending.
CHECK_NOW = "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED"


class Migration(migrations.Migration):

    dependencies = [("corpus", "0026_own_collections")]

    operations = [
        migrations.AlterField("tag", "name", models.CharField(max_length=64)),
        migrations.RunSQL(migrations.RunSQL.noop, CHECK_NOW),
        migrations.RunSQL(migrations.RunSQL.noop, JOIN),
        migrations.AddField(
            "tag",
            "collection",
            models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="own_tags", to="corpus.collection"),
        ),
        migrations.RunSQL(PART, migrations.RunSQL.noop),
        migrations.RunSQL(CHECK_NOW, migrations.RunSQL.noop),
        migrations.AlterField(
            "tag",
            "collection",
            models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="own_tags", to="corpus.collection"),
        ),
        migrations.AddConstraint(
            "tag",
            models.UniqueConstraint("collection", "name", name="tag_name_once_in_a_collection", violation_error_message="A tag of this name already exists there."),
        ),
        # By which lists are sorted.
        migrations.AddIndex("tag", models.Index("name", name="tag_by_name")),
    ]
