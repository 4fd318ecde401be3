from django.urls import path

from accounts.api import AuditView

urlpatterns = [path("audit", AuditView.as_view(), name="audit")]
