from threading import Lock
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
)
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

# drf-spectacular loads its extensions at the first request, which is not thread-safe.
_making = Lock()


class SchemaView(SpectacularAPIView):
    """OpenAPI document, as JSON or YAML."""

    renderer_classes = [OpenApiJsonRenderer2, OpenApiJsonRenderer, OpenApiYamlRenderer]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with _making:
            return super().dispatch(request, *args, **kwargs)

    def _get_version_parameter(self, request: Request) -> None:
        """Ignore the requested version: there is only one."""
