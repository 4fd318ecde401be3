"""Health, readiness and metrics endpoints; none of them runs a model."""

from time import monotonic
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope, current_principal
from corpus.api.outages import is_migrated
from corpus.catalogue import count_stored
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import NotReady
from pkb.preload import are_models_loaded, is_lm_loaded
from pkb.status.service_status import DATABASE_ERRORS
from qa.configuration_hash import INSTALLATION_HEADER, installation_sha256

# Seconds for which results for anonymous callers are cached.
ANONYMOUS_CACHE_S = 1

_started = monotonic()


class Health(serializers.Serializer[Any]):
    status = serializers.ChoiceField(["healthy", "degraded"])
    version = serializers.CharField()
    uptime = serializers.FloatField(help_text="seconds")
    database_connected = serializers.BooleanField()
    model_loaded = serializers.BooleanField()
    lm_connected = serializers.BooleanField()
    documents_count = serializers.IntegerField()
    chunks_count = serializers.IntegerField()


@endpoint(
    GET=Endpoint(
        "get_health",
        tag="Service",
        summary="Check the health of the service",
        is_open=True,
        cost=Cost.HEALTH,
    )
)
class HealthView(APIView):
    """Health of the service; anonymous callers see only the status."""

    @extend_schema(responses={200: Health})
    def get(self, request: Request) -> Response:
        loaded = are_models_loaded()
        if current_principal().is_anonymous:
            is_up = bool(cache.get_or_set("is_database_up", _is_database_up, ANONYMOUS_CACHE_S))
            return Response({"status": _status(is_up, loaded)})
        try:
            totals = count_stored()
        except DATABASE_ERRORS:
            totals = None
        body = {
            "status": _status(totals is not None, loaded),
            "version": settings.VERSION,
            "uptime": monotonic() - _started,
            "database_connected": totals is not None,
            "model_loaded": loaded,
            "lm_connected": is_lm_loaded(),
            "documents_count": totals.document_count if totals else 0,
            "chunks_count": totals.chunk_count if totals else 0,
        }
        return Response(Health(body).data)


def _status(is_database_up: bool, are_models_loaded: bool) -> str:
    return "healthy" if is_database_up and are_models_loaded else "degraded"


def _is_database_up() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DATABASE_ERRORS:
        return False
    return True


class Ready(serializers.Serializer[Any]):
    status = serializers.ChoiceField(["ready"])


@endpoint(
    GET=Endpoint(
        "get_ready",
        tag="Service",
        summary="Check whether the service is ready",
        is_open=True,
        cost=Cost.HEALTH,
    )
)
class ReadyView(APIView):
    """Readiness: 200 when the database is migrated and the models are loaded."""

    @extend_schema(responses={200: Ready})
    def get(self, request: Request) -> Response:
        if not are_models_loaded():
            raise NotReady("The models are still loading.")
        headers = {}
        if current_principal().is_anonymous:
            is_up_to_date = cache.get_or_set("is_migrated", is_migrated, ANONYMOUS_CACHE_S)
        elif is_up_to_date := is_migrated():
            # `manage.py ask` compares it with its own database and configuration.
            headers = {INSTALLATION_HEADER: installation_sha256()}
        if not is_up_to_date:
            raise NotReady("The database is not migrated or cannot be reached.")
        return Response({"status": "ready"}, headers=headers)


@endpoint(GET=Endpoint("get_metrics", tag="Service", summary="Get metrics", scope=Scope.ADMIN))
class MetricsView(APIView):
    """Metrics in the Prometheus text format."""

    takes_any_accept = True

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        return super().perform_content_negotiation(request, force=True)

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)
