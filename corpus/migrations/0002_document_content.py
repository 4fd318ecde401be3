import django.db.models.deletion
from django.db import migrations, models

# Without FORCE, the owner moves all rows, whoever acts.
MOVE = """
ALTER TABLE corpus_document NO FORCE ROW LEVEL SECURITY;
INSERT INTO corpus_documentcontent (document_id, text, outline)
SELECT id, raw_text, outline FROM corpus_document WHERE content_sha256 <> '';
ALTER TABLE corpus_document FORCE ROW LEVEL SECURITY;

ALTER TABLE corpus_documentcontent ENABLE ROW LEVEL SECURITY;
ALTER TABLE corpus_documentcontent FORCE ROW LEVEL SECURITY;
CREATE POLICY corpus_documentcontent_read ON corpus_documentcontent FOR SELECT
    USING ((SELECT pkb_sees_all()) OR EXISTS (
        SELECT FROM corpus_document parent WHERE parent.id = document_id));
CREATE POLICY corpus_documentcontent_insert ON corpus_documentcontent FOR INSERT
    WITH CHECK ((SELECT pkb_sees_all()) OR EXISTS (
        SELECT FROM corpus_document parent WHERE parent.id = document_id
           AND parent.collection_id = ANY ((SELECT pkb_writable())::bigint[])));
CREATE POLICY corpus_documentcontent_update ON corpus_documentcontent FOR UPDATE
    USING ((SELECT pkb_sees_all()) OR EXISTS (
        SELECT FROM corpus_document parent WHERE parent.id = document_id
           AND parent.collection_id = ANY ((SELECT pkb_writable())::bigint[])));
CREATE POLICY corpus_documentcontent_delete ON corpus_documentcontent FOR DELETE
    USING ((SELECT pkb_sees_all()) OR EXISTS (
        SELECT FROM corpus_document parent WHERE parent.id = document_id
           AND parent.collection_id = ANY ((SELECT pkb_writable())::bigint[])));
"""
MOVE_BACK = """
ALTER TABLE corpus_document NO FORCE ROW LEVEL SECURITY;
ALTER TABLE corpus_documentcontent NO FORCE ROW LEVEL SECURITY;
UPDATE corpus_document SET raw_text = content.text, outline = content.outline
  FROM corpus_documentcontent content WHERE content.document_id = corpus_document.id;
ALTER TABLE corpus_document FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):

    dependencies = [("corpus", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="DocumentContent",
            fields=[
                ("document", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="content", serialize=False, to="corpus.document")),
                ("text", models.TextField(help_text="normalized; what all offsets refer to")),
                ("outline", models.JSONField(help_text="spans of headings and pages")),
            ],
        ),
        migrations.RunSQL(MOVE, MOVE_BACK),
        migrations.RemoveField(model_name="document", name="raw_text"),
        migrations.RemoveField(model_name="document", name="outline"),
        migrations.AlterField(
            model_name="document",
            name="content_sha256",
            field=models.CharField(blank=True, default="", help_text="of the text in UTF-8, hex; empty while no version is stored", max_length=64),
        ),
    ]
