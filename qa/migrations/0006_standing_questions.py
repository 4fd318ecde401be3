import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import corpus.access.principal

_OWN = """((SELECT pkb_sees_all()) OR (made_by_id = (SELECT pkb_user_id())
    OR made_by_id IS NULL AND (SELECT pkb_is_superuser()))
    AND collection_id = ANY ((SELECT pkb_readable())::bigint[]))"""
POLICIES = f"""
ALTER TABLE qa_standingquestion ENABLE ROW LEVEL SECURITY;
ALTER TABLE qa_standingquestion FORCE ROW LEVEL SECURITY;
CREATE POLICY qa_standingquestion_read ON qa_standingquestion FOR SELECT USING {_OWN};
CREATE POLICY qa_standingquestion_insert ON qa_standingquestion FOR INSERT WITH CHECK {_OWN};
CREATE POLICY qa_standingquestion_update ON qa_standingquestion FOR UPDATE
    USING {_OWN} WITH CHECK {_OWN};
CREATE POLICY qa_standingquestion_delete ON qa_standingquestion FOR DELETE USING {_OWN};
"""
NO_POLICIES = "".join(
    f"DROP POLICY qa_standingquestion_{act} ON qa_standingquestion;"
    for act in ("read", "insert", "update", "delete")
)


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0006_grid_jobs'),
        ('qa', '0005_grids'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='StandingQuestion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('question', models.TextField()),
                ('tags', models.JSONField(blank=True, default=list)),
                ('nearest', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, editable=False, size=None)),
                ('seen_version', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, editable=False, size=None)),
                ('changed_at', models.DateTimeField(editable=False, null=True)),
                ('is_seen', models.BooleanField(default=True, help_text='false: its change is news to its user')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('answer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='standing', to='qa.answer')),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='corpus.collection')),
                ('made_by', models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('previous', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='standing_before', to='qa.answer')),
            ],
            options={
                'ordering': ['-created_at', 'id'],
            },
        ),
        migrations.RunSQL(POLICIES, NO_POLICIES),
    ]
