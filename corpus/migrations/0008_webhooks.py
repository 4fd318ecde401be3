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
# Those of the webhooks that one sees.
_OF_OWN = "((SELECT pkb_sees_all()) OR webhook_id = ANY (ARRAY(SELECT id FROM corpus_webhook)))"


def _policies(table: str, rows: str) -> str:
    return f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY {table}_read ON {table} FOR SELECT USING {rows};
CREATE POLICY {table}_insert ON {table} FOR INSERT WITH CHECK {rows};
CREATE POLICY {table}_update ON {table} FOR UPDATE USING {rows} WITH CHECK {rows};
CREATE POLICY {table}_delete ON {table} FOR DELETE USING {rows};
"""


POLICIES = _policies("corpus_webhook", _OWN) + _policies("corpus_webhookdelivery", _OF_OWN)


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0007_no_map'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=2048)),
                ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None)),
                ('secret', models.CharField(editable=False, max_length=100)),
                ('is_active', models.BooleanField(default=True)),
                ('paused_until', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('collection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='corpus.collection')),
                ('made_by', models.ForeignKey(blank=True, default=corpus.access.principal.current_user_id, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('event', models.CharField(max_length=40)),
                ('subject_id', models.UUIDField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Failed')], default='waiting', max_length=20)),
                ('attempts', models.PositiveSmallIntegerField(default=0, help_text='times it was sent')),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('reason', models.CharField(default='', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('attempted_at', models.DateTimeField(editable=False, null=True)),
                ('webhook', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='corpus.webhook')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(models.F('webhook'), models.F('created_at'), models.F('id'), name='delivery_listing'), models.Index(models.F('created_at'), condition=models.Q(('state', 'waiting')), name='delivery_waiting')],
            },
        ),
        # They go with their tables.
        migrations.RunSQL(POLICIES, migrations.RunSQL.noop),
    ]
