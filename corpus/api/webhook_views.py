"""Endpoints of webhooks, and of what was sent to them."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.api.fields import QualifiedNameField, StrictBooleanField, StrictCharField, read_input
from corpus.api.pagination import NewestFirstPagination
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors, FetchingOff, NotFetched, WebhookNotFound
from corpus.models import DEFAULT_COLLECTION, Collection, Webhook, WebhookDelivery
from corpus.models.webhook import MAX_WEBHOOK_URL_CHARS
from corpus.webhooks import (
    WebhookEvent,
    change_webhook,
    create_webhook,
    delete_webhook,
    find_webhook,
    send_again,
)


class EventsField(serializers.ListField):
    child = serializers.ChoiceField(WebhookEvent.choices)


class WebhookInput(serializers.Serializer[Any]):
    url = StrictCharField(max_length=MAX_WEBHOOK_URL_CHARS, help_text="where events are sent")
    events = EventsField(allow_empty=False)
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)


class WebhookUpdate(serializers.Serializer[Any]):
    url = StrictCharField(max_length=MAX_WEBHOOK_URL_CHARS, required=False)
    events = EventsField(allow_empty=False, required=False)
    is_active = StrictBooleanField(required=False)


class WebhookShown(serializers.ModelSerializer[Webhook]):
    collection = serializers.CharField(source="collection.qualified_name")
    events = EventsField()
    paused_until = serializers.DateTimeField(
        allow_null=True, help_text="it could not be reached, and is tried again then"
    )

    class Meta:
        model = Webhook
        fields = ["id", "url", "events", "collection", "is_active", "paused_until", "created_at"]


class NewWebhookShown(WebhookShown):
    """A webhook with its secret, which is shown only once."""

    class Meta(WebhookShown.Meta):
        fields = [*WebhookShown.Meta.fields, "secret"]


class DeliveryShown(serializers.ModelSerializer[WebhookDelivery]):
    status = serializers.IntegerField(allow_null=True, help_text="HTTP status; null: no reply yet")
    next_at = serializers.DateTimeField(help_text="of the next attempt, while it is waiting")
    attempted_at = serializers.DateTimeField(allow_null=True, help_text="the last attempt")

    class Meta:
        model = WebhookDelivery
        fields = [
            "id", "event", "subject_id", "state", "attempts", "status", "reason", "created_at",
            "attempted_at", "next_at",
        ]  # fmt: skip


@endpoint(
    GET=Endpoint("list_webhooks", tag="Webhooks", summary="List webhooks"),
    POST=Endpoint(
        "create_webhook",
        tag="Webhooks",
        summary="Be told of events in a collection",
        example={"url": "https://n8n.example.org/webhook/pkb", "events": ["document.ready"]},
    ),
)
class WebhooksView(generics.ListAPIView[Webhook]):
    """List your webhooks, newest first; add one."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound, FetchingOff, NotFetched]}
    queryset = Webhook.objects.select_related("collection__owner")
    serializer_class = WebhookShown
    pagination_class = NewestFirstPagination

    @extend_schema(request=WebhookInput, responses={201: NewWebhookShown})
    def post(self, request: Request) -> Response:
        fields = read_input(WebhookInput, request.data)
        collection = Collection.objects.get_named(fields.pop("collection"))
        return Response(
            NewWebhookShown(create_webhook(**fields, collection=collection)).data, status=201
        )


@endpoint(
    GET=Endpoint("get_webhook", tag="Webhooks", summary="Get a webhook"),
    PATCH=Endpoint(
        "change_webhook",
        tag="Webhooks",
        summary="Change a webhook, turn it off or on",
        example={"is_active": False},
    ),
    DELETE=Endpoint("delete_webhook", tag="Webhooks", summary="Delete a webhook"),
)
class WebhookView(APIView):
    """Show, change or delete one of your webhooks."""

    errors: ClassVar[Errors] = {
        "get": [WebhookNotFound],
        "patch": [WebhookNotFound, FetchingOff, NotFetched],
        "delete": [WebhookNotFound],
    }

    @extend_schema(responses={200: WebhookShown})
    def get(self, request: Request, webhook_id: UUID) -> Response:
        return Response(WebhookShown(find_webhook(webhook_id)).data)

    @extend_schema(request=WebhookUpdate, responses={200: WebhookShown})
    def patch(self, request: Request, webhook_id: UUID) -> Response:
        hook = find_webhook(webhook_id)
        change_webhook(hook, **read_input(WebhookUpdate, request.data))
        return Response(WebhookShown(hook).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        delete_webhook(webhook_id)
        return Response(status=204)


@endpoint(GET=Endpoint("list_deliveries", tag="Webhooks", summary="List what was sent"))
class DeliveriesView(generics.ListAPIView[WebhookDelivery]):
    """List the deliveries of a webhook in the last 30 days, newest first."""

    errors: ClassVar[Errors] = {"get": [WebhookNotFound]}
    serializer_class = DeliveryShown
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[WebhookDelivery]:
        return find_webhook(self.kwargs["webhook_id"]).deliveries.all()


@endpoint(POST=Endpoint("send_again", tag="Webhooks", summary="Send a delivery again"))
class SendAgainView(APIView):
    """Send a delivery again, with the same id."""

    errors: ClassVar[Errors] = {"post": [WebhookNotFound]}

    @extend_schema(request=None, responses={202: DeliveryShown})
    def post(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        delivery = send_again(delivery_id, hook=find_webhook(webhook_id))
        return Response(DeliveryShown(delivery).data, status=202)
