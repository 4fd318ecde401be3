import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

_SEES_ALL = "(SELECT pkb_sees_all())"
_READABLE = f"({_SEES_ALL} OR collection_id = ANY ((SELECT pkb_readable())::bigint[]))"
_WRITABLE = f"({_SEES_ALL} OR collection_id = ANY ((SELECT pkb_writable())::bigint[]))"
_TABLE = "evaluation_collectionbenchmark"
POLICIES = f"""
ALTER TABLE {_TABLE} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {_TABLE} FORCE ROW LEVEL SECURITY;
CREATE POLICY {_TABLE}_read ON {_TABLE} FOR SELECT USING ({_READABLE});
CREATE POLICY {_TABLE}_insert ON {_TABLE} FOR INSERT WITH CHECK ({_WRITABLE});
CREATE POLICY {_TABLE}_update ON {_TABLE} FOR UPDATE USING ({_WRITABLE}) WITH CHECK ({_WRITABLE});
CREATE POLICY {_TABLE}_delete ON {_TABLE} FOR DELETE USING ({_WRITABLE});
"""
NO_POLICIES = "".join(
    f"DROP POLICY {_TABLE}_{act} ON {_TABLE};" for act in ("read", "insert", "update", "delete")
)


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0009_benchmark_jobs'),
        ('evaluation', '0001_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='CollectionBenchmark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('questions', models.JSONField(default=list)),
                ('documents', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('collection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='benchmark', to='corpus.collection')),
            ],
        ),
        migrations.RunSQL(POLICIES, NO_POLICIES),
    ]
