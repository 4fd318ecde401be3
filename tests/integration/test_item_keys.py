"""Items of jobs from before they had a key, carried over and back."""

from importlib import import_module
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from corpus.models import Collection, Job, JobItem

pytestmark = pytest.mark.django_db

migration: Any = import_module("corpus.migrations.0009_say_what_items_are_about")
DOCUMENT = uuid4()
PATH = "/notes/a.txt"


def add(collection: Collection, kind: str, outcome: str, **about: Any) -> None:
    job = Job.objects.create(kind=kind, collection=collection, is_listed=True)
    item = JobItem(job=job, outcome=outcome, **about)
    job.note_failure("It failed.", item)
    job.save()
    item.save()


def carry(write: Any, errors: str) -> None:
    editor: Any = type("Editor", (), {"connection": connection})
    write(None, editor)
    with connection.cursor() as cursor:
        cursor.execute(errors)


def shown() -> dict[str, tuple[Any, ...]]:
    columns = ("job__kind", "key", "path", "document_id", "outcome", "job__errors")
    return {row[0]: row[1:] for row in JobItem.objects.values_list(*columns)}


def test_each_kind_of_item_keeps_what_it_is_about(collection: Collection) -> None:
    add(collection, "sync", "replaced", key=PATH, path=PATH, document_id=DOCUMENT)
    add(collection, "embed", "embedded", key=str(DOCUMENT), document_id=DOCUMENT)
    add(collection, "reembed", "removed", key=str(DOCUMENT), document_id=DOCUMENT)
    add(collection, "map", "drawn", key="default")
    now = shown()
    carry(migration.write_paths, migration.ERRORS_BY_PATH)
    of_document = [{"path": str(DOCUMENT), "reason": "It failed."}]
    assert shown() == {
        "sync": ("", PATH, DOCUMENT, "replaced", [{"path": PATH, "reason": "It failed."}]),
        "embed": ("", str(DOCUMENT), DOCUMENT, "replaced", of_document),
        "reembed": ("", str(DOCUMENT), DOCUMENT, "removed", of_document),
        "map": ("", "default", None, "replaced", [{"path": "", "reason": "It failed."}]),
    }
    # An item that was put aside had forgotten its document.
    JobItem.objects.filter(job__kind="embed").update(document_id=None)
    carry(migration.write_keys, migration.ERRORS_BY_DOCUMENT)
    assert shown() == now
