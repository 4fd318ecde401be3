from django.urls import path

from accounts.api.audit import AuditView
from accounts.api.grants import AccessView, GrantView

urlpatterns = [
    path("audit", AuditView.as_view(), name="audit"),
    path("collections/<name:name>/access", AccessView.as_view(), name="access"),
    path("collections/<name:name>/access/<int:grant_id>", GrantView.as_view(), name="grant"),
]
