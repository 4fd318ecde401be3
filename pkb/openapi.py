"""Complete the OpenAPI document: every operation's errors have the one body."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers


class FieldError(serializers.Serializer[Any]):
    field = serializers.CharField()
    message = serializers.CharField()
    code = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """RFC 9457 problem details."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    error = serializers.CharField(help_text="short code")
    status_code = serializers.IntegerField(help_text="equals status")
    errors = FieldError(many=True, required=False)  # type: ignore[assignment]


class ProblemAutoSchema(AutoSchema):
    """Adds a default response, problem details, to every operation."""

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        component = self.resolve_serializer(Problem, "response")
        schema = {"application/problem+json": {"schema": component.ref}}
        bodies["default"] = {"content": schema, "description": "What went wrong."}
        return bodies
