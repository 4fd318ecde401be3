"""GET /status: problems, workers, queue, disks and backups, for administrators."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint, endpoint
from pkb.status.service_status import Problem, read_state


class _Seconds(serializers.FloatField):
    def to_representation(self, value: Any) -> Any:
        """Return the seconds of a ``timedelta``."""
        return super().to_representation(value.total_seconds())


class _FindingResponse(serializers.Serializer[Any]):
    problem = serializers.ChoiceField([each.value for each in Problem])
    detail = serializers.CharField()


class _WorkerResponse(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    is_alive = serializers.BooleanField(help_text="it sent a heartbeat in the last 30 seconds")
    last_heartbeat = serializers.DateTimeField()
    is_home = serializers.BooleanField(help_text="it runs on the host that has the files")
    silent_s = _Seconds(source="silent", help_text="seconds since then, by the database's clock")
    task = serializers.CharField(allow_blank=True, help_text="current task; empty: idle")
    job_id = serializers.UUIDField(allow_null=True, help_text="current job")


class _QueueResponse(serializers.Serializer[Any]):
    waiting_count = serializers.IntegerField(help_text="tasks that are ready to start")
    oldest_s = _Seconds(source="oldest", allow_null=True, help_text="wait of the oldest task")
    home_oldest_s = _Seconds(
        source="home_oldest",
        allow_null=True,
        help_text="the same for tasks of the host that has the files",
    )
    failed_count = serializers.IntegerField(help_text="tasks that failed unexpectedly, in total")


class _DiskResponse(serializers.Serializer[Any]):
    use = serializers.CharField(help_text="contents: data, database or backups")
    free_bytes = serializers.IntegerField()
    size_bytes = serializers.IntegerField()


class _BackupsResponse(serializers.Serializer[Any]):
    last = serializers.DateTimeField(
        allow_null=True, help_text="start of the last successful backup"
    )
    age_s = _Seconds(source="age", allow_null=True)
    failure = serializers.CharField(
        allow_blank=True, help_text="reason why the last attempt failed"
    )


class ServiceStatus(serializers.Serializer[Any]):
    problems = _FindingResponse(many=True, source="find_problems")
    models_loaded = serializers.BooleanField()
    workers = _WorkerResponse(
        many=True, allow_null=True, help_text="null: the database is unavailable"
    )
    queue = _QueueResponse(
        source="backlog", allow_null=True, help_text="null: the database is unavailable"
    )
    disks = _DiskResponse(many=True)
    backups = _BackupsResponse(allow_null=True, help_text="null: automatic backups are off")


@endpoint(
    GET=Endpoint("get_status", tag="Service", summary="Get service status", scope=Scope.ADMIN)
)
class StatusView(APIView):
    """Status of the service."""

    @extend_schema(responses={200: ServiceStatus})
    def get(self, request: Request) -> Response:
        return Response(ServiceStatus(read_state()).data)
