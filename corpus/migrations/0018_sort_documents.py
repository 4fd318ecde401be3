"""By which lists are sorted. Built while the table is used; broken off, they are built anew."""

from typing import Any

from django.db import migrations, models
from django.db.models.functions import Lower


def add_index(index: Any, definition: str) -> Any:
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}"
    create = f"CREATE INDEX CONCURRENTLY {index.name} ON corpus_document {definition}"
    return migrations.SeparateDatabaseAndState(
        database_operations=[migrations.RunSQL([drop, create], drop)],
        state_operations=[migrations.AddIndex(model_name='document', index=index)],
    )


# The index by state takes its place.
DROP_STATUS = "DROP INDEX CONCURRENTLY IF EXISTS document_status"
CREATE_STATUS = "CREATE INDEX CONCURRENTLY document_status ON corpus_document (status)"


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('corpus', '0017_size_documents'),
    ]

    operations = [
        add_index(models.Index(Lower('title'), 'id', name='document_by_title'), "(lower(title), id)"),
        add_index(models.Index(models.F('media_type'), models.F('id'), name='document_by_type'), "(media_type, id)"),
        add_index(models.Index(models.F('size_bytes'), models.F('id'), name='document_by_size'), "(size_bytes, id)"),
        add_index(models.Index(models.F('page_count'), models.F('id'), name='document_by_pages'), "(page_count, id)"),
        add_index(models.Index(models.F('status'), models.F('id'), name='document_by_state'), "(status, id)"),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL([DROP_STATUS], [DROP_STATUS, CREATE_STATUS])],
            state_operations=[migrations.RemoveIndex(model_name='document', name='document_status')],
        ),
    ]
