"""The index is built while the table is read and written; broken off, it is built anew."""

import django.contrib.postgres.indexes
from django.db import migrations

NAME = "document_metadata"
DROP = f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}"
CREATE = f"CREATE INDEX CONCURRENTLY {NAME} ON corpus_document USING gin (metadata jsonb_path_ops)"


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('corpus', '0009_say_what_items_are_about'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL([DROP, CREATE], DROP)],
            state_operations=[
                migrations.AddIndex(
                    model_name='document',
                    index=django.contrib.postgres.indexes.GinIndex(fields=['metadata'], name=NAME, opclasses=['jsonb_path_ops']),
                ),
            ],
        ),
    ]
