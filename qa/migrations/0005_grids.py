import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

_SEES_ALL = "(SELECT pkb_sees_all())"
_READABLE = f"({_SEES_ALL} OR collection_id = ANY ((SELECT pkb_readable())::bigint[]))"
_WRITABLE = f"({_SEES_ALL} OR collection_id = ANY ((SELECT pkb_writable())::bigint[]))"
# A cell is an answer of nobody: it is bound by its collection. The other policies of answers stay.
# Who may read a cell may lock it, to rate it.
_READABLE_CELL = f"grid_id IS NOT NULL AND {_READABLE}"
_WRITABLE_CELL = f"grid_id IS NOT NULL AND {_WRITABLE}"
POLICIES = f"""
ALTER TABLE qa_grid ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_grid FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_grid_read ON qa_grid FOR SELECT USING ({_READABLE});
CREATE POLICY qa_grid_insert ON qa_grid FOR INSERT WITH CHECK ({_WRITABLE});
CREATE POLICY qa_grid_update ON qa_grid FOR UPDATE USING ({_WRITABLE}) WITH CHECK ({_WRITABLE});
CREATE POLICY qa_grid_delete ON qa_grid FOR DELETE USING ({_WRITABLE});
CREATE POLICY qa_answer_cell_read ON qa_answer FOR SELECT USING ({_READABLE_CELL});
CREATE POLICY qa_answer_cell_insert ON qa_answer FOR INSERT WITH CHECK ({_WRITABLE_CELL});
CREATE POLICY qa_answer_cell_update ON qa_answer FOR UPDATE
    USING ({_READABLE_CELL}) WITH CHECK ({_WRITABLE_CELL});
CREATE POLICY qa_answer_no_cell_insert ON qa_answer AS RESTRICTIVE FOR INSERT
    WITH CHECK (grid_id IS NULL OR {_WRITABLE});
CREATE POLICY qa_answer_no_cell_update ON qa_answer AS RESTRICTIVE FOR UPDATE
    USING (true) WITH CHECK (grid_id IS NULL OR {_WRITABLE});
CREATE POLICY qa_answer_cell_delete ON qa_answer FOR DELETE USING ({_WRITABLE_CELL});
"""
NO_POLICIES = "".join(
    f"DROP POLICY {name}_{act} ON {table};"
    for table, name in (("qa_grid", "qa_grid"), ("qa_answer", "qa_answer_cell"))
    for act in ("read", "insert", "update", "delete")
)
NO_POLICIES += "".join(
    f"DROP POLICY qa_answer_no_cell_{act} ON qa_answer;" for act in ("insert", "update")
)


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0006_grid_jobs'),
        ('qa', '0004_ask_all_collections'),
    ]

    operations = [
        migrations.AddField(
            model_name='answer',
            name='asked_sha256',
            field=models.CharField(blank=True, db_default='', default='', help_text="of that document's text", max_length=64),
        ),
        migrations.CreateModel(
            name='Grid',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('questions', models.JSONField(default=list)),
                ('tags', models.JSONField(blank=True, default=list)),
                ('folder', models.CharField(blank=True, default='', max_length=2048)),
                ('filters', models.JSONField(blank=True, null=True)),
                ('seen_version', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, editable=False, size=None)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grids', to='corpus.collection')),
            ],
            options={
                'ordering': ['created_at', 'id'],
            },
        ),
        migrations.AddField(
            model_name='answer',
            name='grid',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='qa.grid'),
        ),
        migrations.AddConstraint(
            model_name='answer',
            constraint=models.UniqueConstraint(models.F('grid'), models.F('asked_document'), models.F('question'), condition=models.Q(('grid__isnull', False)), name='answer_once_in_a_grid'),
        ),
        migrations.RunSQL(POLICIES, NO_POLICIES),
    ]
