"""Endpoint of the audit log, for administrators."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers

from accounts.models import MAX_ACTION_CHARS, Event
from corpus.access.principal import Scope
from corpus.api.fields import StrictCharField, ZonedDateTimeField, read_input
from corpus.api.pagination import NewestFirstPagination
from corpus.endpoints import Endpoint, endpoint


class EventResponse(serializers.ModelSerializer[Event]):
    username = serializers.CharField(allow_null=True, help_text="null: no user, or a deleted one")

    class Meta:
        model = Event
        fields = [
            "created_at", "user_id", "username", "key_id", "action", "subject", "status",
            "address", "text", "count",
        ]  # fmt: skip


class EventFilter(serializers.Serializer[Any]):
    since = ZonedDateTimeField(required=False)
    username = StrictCharField(max_length=150, required=False)
    action = StrictCharField(max_length=MAX_ACTION_CHARS, required=False)


@extend_schema_view(get=extend_schema(parameters=[EventFilter]))
@endpoint(
    GET=Endpoint(
        "list_events", tag="Service", summary="List events of the audit log", scope=Scope.ADMIN
    )
)
class AuditView(generics.ListAPIView[Event]):
    """Events of the audit log, newest first."""

    serializer_class = EventResponse
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Event]:
        return find_events(**read_input(EventFilter, self.request.query_params))


def find_events(**filters: Any) -> QuerySet[Event]:
    """Return events, newest first, filtered by ``since``, ``username`` and ``action``."""
    if "since" in filters:
        filters["created_at__gte"] = filters.pop("since")
    return Event.objects.named().filter(**filters)
