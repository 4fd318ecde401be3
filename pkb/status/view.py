"""GET /status: how the service is, for those who look after it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from pkb.status.state import Problem, read_state


class _Seconds(serializers.FloatField):
    def to_representation(self, value: Any) -> Any:
        """Show a ``timedelta``."""
        return super().to_representation(value.total_seconds())


class _FindingShown(serializers.Serializer[Any]):
    problem = serializers.ChoiceField([each.value for each in Problem])
    detail = serializers.CharField()


class _WorkerShown(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    is_alive = serializers.BooleanField(help_text="it was heard of in the last 30 seconds")
    last_heartbeat = serializers.DateTimeField()
    silent_s = _Seconds(source="silent", help_text="since then, by the database's clock")
    task = serializers.CharField(allow_blank=True, help_text="what it runs; empty: it waits")
    job_id = serializers.UUIDField(allow_null=True, help_text="the job that it runs")


class _QueueShown(serializers.Serializer[Any]):
    waiting_count = serializers.IntegerField(help_text="tasks that a worker could begin now")
    oldest_s = _Seconds(source="oldest", allow_null=True, help_text="how long the first has waited")
    failed_count = serializers.IntegerField(help_text="tasks that broke off unforeseen, since ever")


class _DiskShown(serializers.Serializer[Any]):
    use = serializers.CharField(help_text="what is kept there: data, database or backups")
    free_bytes = serializers.IntegerField()
    size_bytes = serializers.IntegerField()


class _BackupsShown(serializers.Serializer[Any]):
    last = serializers.DateTimeField(allow_null=True, help_text="when the last good one was begun")
    age_s = _Seconds(source="age", allow_null=True)
    failure = serializers.CharField(allow_blank=True, help_text="why the last try failed")


class ServiceStatus(serializers.Serializer[Any]):
    problems = _FindingShown(many=True, source="find_problems")
    models_loaded = serializers.BooleanField()
    workers = _WorkerShown(many=True, allow_null=True, help_text="null: the database is away")
    queue = _QueueShown(source="backlog", allow_null=True, help_text="null: the database is away")
    disks = _DiskShown(many=True)
    backups = _BackupsShown(allow_null=True, help_text="null: none are to be made")


class StatusView(APIView):
    """How the service is; what /health tells everybody stays as it is."""

    @extend_schema(responses={200: ServiceStatus})
    def get(self, request: Request) -> Response:
        return Response(ServiceStatus(read_state()).data)
