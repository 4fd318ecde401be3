from typing import Any

from rest_framework import serializers

from corpus.fields import CollectionName, TagList, Text, Truth, Whole
from corpus.ingestion.options import DEFAULT_BATCH_SIZE
from corpus.models import DEFAULT_COLLECTION, Job

PATH_CHARS = 4096


def _path() -> Text:
    # Text: a path may begin and end with spaces.
    return Text(max_length=PATH_CHARS, trim_whitespace=False)


class _FolderChoices(serializers.Serializer[Any]):
    force_reindex = Truth(default=False)
    batch_size = Whole(
        default=DEFAULT_BATCH_SIZE, min_value=1, max_value=1_000, help_text="files listed at a time"
    )


class IngestFolder(_FolderChoices):
    content_path = _path()
    collection = CollectionName(default=DEFAULT_COLLECTION)
    tags = TagList(default=list)
    source = Text(max_length=100, default="", allow_blank=True)  # type: ignore[assignment]


class EncodeBatch(_FolderChoices):
    directory_path = _path()
    index_name = CollectionName()


class EncodeBatchStarted(serializers.Serializer[Any]):
    status = serializers.ChoiceField(Job.Status.choices)
    message = serializers.CharField()
    index_name = serializers.CharField()
    job_id = serializers.UUIDField()


class EncodeDoc(serializers.Serializer[Any]):
    document_path = _path()
    index_name = CollectionName()


class EncodedDoc(serializers.Serializer[Any]):
    status = serializers.CharField(help_text="added, replaced or unchanged")
    chunks_created = serializers.IntegerField(help_text="chunks of the document")
    index_name = serializers.CharField()


class JobError(serializers.Serializer[Any]):
    path = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()


class JobShown(serializers.ModelSerializer[Job]):
    collection = serializers.CharField(source="collection.name")
    errors = JobError(many=True)  # type: ignore[assignment]

    class Meta:
        model = Job
        fields = [
            "id", "kind", "collection", "status", "stage", "total", "done", "failed", "errors",
            "created_at", "started_at", "finished_at",
        ]  # fmt: skip


class JobFilter(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(Job.Kind.choices, required=False)
    status = serializers.ChoiceField(Job.Status.choices, required=False)
    collection = CollectionName(required=False)
