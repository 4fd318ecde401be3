"""GET /status: how the service is, for those who look after it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.endpoints import Endpoint, endpoint
from corpus.postgres.standby import Reason
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
    is_home = serializers.BooleanField(help_text="it is of the host that keeps the files")
    silent_s = _Seconds(source="silent", help_text="since then, by the database's clock")
    task = serializers.CharField(allow_blank=True, help_text="what it runs; empty: it waits")
    job_id = serializers.UUIDField(allow_null=True, help_text="the job that it runs")


class _QueueShown(serializers.Serializer[Any]):
    waiting_count = serializers.IntegerField(help_text="tasks that a worker could begin now")
    oldest_s = _Seconds(source="oldest", allow_null=True, help_text="how long the first has waited")
    home_oldest_s = _Seconds(
        source="home_oldest",
        allow_null=True,
        help_text="the same of what only the host that keeps the files can do",
    )
    failed_count = serializers.IntegerField(help_text="tasks that broke off unforeseen, since ever")


class _DiskShown(serializers.Serializer[Any]):
    use = serializers.CharField(help_text="what is kept there: data, database or backups")
    free_bytes = serializers.IntegerField()
    size_bytes = serializers.IntegerField()


class _BackupsShown(serializers.Serializer[Any]):
    last = serializers.DateTimeField(allow_null=True, help_text="when the last good one was begun")
    age_s = _Seconds(source="age", allow_null=True)
    failure = serializers.CharField(allow_blank=True, help_text="why the last try failed")


class _FallbackShown(serializers.Serializer[Any]):
    reason = serializers.ChoiceField([each.value for each in Reason])
    read_count = serializers.IntegerField()


class _StandbyShown(serializers.Serializer[Any]):
    is_used = serializers.BooleanField(help_text="a search would read it now")
    reason = serializers.ChoiceField(
        [each.value for each in Reason],
        allow_null=True,
        help_text="why not; null: it is used, or the database is away",
    )
    behind_bytes = serializers.IntegerField(
        source="standing.behind_bytes",
        default=None,
        allow_null=True,
        help_text="of the primary's log, what it has not replayed; null: unknown",
    )
    behind_s = _Seconds(
        source="standing.behind",
        default=None,
        allow_null=True,
        help_text="how old its newest commit is; 0 while it lacks none",
    )
    read_count = serializers.IntegerField(
        help_text="what searches read from it since this process began"
    )
    fallbacks = _FallbackShown(many=True, help_text="the same from the primary in its place")


class ServiceStatus(serializers.Serializer[Any]):
    problems = _FindingShown(many=True, source="find_problems")
    models_loaded = serializers.BooleanField()
    workers = _WorkerShown(many=True, allow_null=True, help_text="null: the database is away")
    queue = _QueueShown(source="backlog", allow_null=True, help_text="null: the database is away")
    disks = _DiskShown(many=True)
    backups = _BackupsShown(allow_null=True, help_text="null: none are to be made")
    standby = _StandbyShown(allow_null=True, help_text="null: PKB_REPLICA_URL names none")


@endpoint(
    GET=Endpoint(
        "get_status", tag="Service", summary="Tell what the service is at", scope=Scope.ADMIN
    )
)
class StatusView(APIView):
    """How the service is; what /health tells everybody stays as it is."""

    @extend_schema(responses={200: ServiceStatus})
    def get(self, request: Request) -> Response:
        return Response(ServiceStatus(read_state()).data)
