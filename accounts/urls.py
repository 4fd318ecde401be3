from django.urls import path

from accounts.api.audit_views import AuditView
from accounts.api.grant_views import AccessView, GrantView
from accounts.openid.resource import METADATA, show_resource

_METADATA = METADATA.removeprefix("/")
urlpatterns = [
    path("audit", AuditView.as_view(), name="audit"),
    path("collections/<name:name>/access", AccessView.as_view(), name="access"),
    path("collections/<name:name>/access/<int:grant_id>", GrantView.as_view(), name="grant"),
    # RFC 9728, section 3.1: for a resource with a path. Older clients request the second one.
    path(f"{_METADATA}/mcp", show_resource, name="resource"),
    path(_METADATA, show_resource),
]
