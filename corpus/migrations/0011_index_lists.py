"""Indexes are built while the table is read and written; broken off, they are built anew."""

from typing import Any

from django.db import migrations, models

STORED = models.Q(content_sha256="", _negated=True)


def add_index(index: Any, definition: str) -> Any:
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}"
    create = f"CREATE INDEX CONCURRENTLY {index.name} ON corpus_document {definition}"
    return migrations.SeparateDatabaseAndState(
        database_operations=[migrations.RunSQL([drop, create], drop)],
        state_operations=[migrations.AddIndex(model_name='document', index=index)],
    )


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('corpus', '0010_index_metadata'),
    ]

    operations = [
        migrations.AlterModelOptions(name='chunk', options={'ordering': ['document_id', 'ordinal']}),
        add_index(
            models.Index(models.F('created_at'), models.F('id'), name='document_listing_of_all'),
            "(created_at, id)",
        ),
        add_index(
            models.Index(models.F('ingested_at'), condition=STORED, name='document_newest'),
            "(ingested_at) WHERE content_sha256 <> ''",
        ),
        add_index(
            models.Index(models.F('collection'), condition=STORED, name='document_stored'),
            "(collection_id) WHERE content_sha256 <> ''",
        ),
    ]
