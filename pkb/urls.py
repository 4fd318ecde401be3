from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularSwaggerView

from pkb import health
from pkb.http.schema import SchemaView
from pkb.status.view import StatusView

urlpatterns = [
    path("", include("corpus.urls")),
    path("", include("accounts.urls")),
    path("", include("qa.urls")),
    path("v1/", include("qa.api.openai.urls")),
    path("", include("web.urls")),
    path("health", health.HealthView.as_view(), name="health"),
    path("status", StatusView.as_view(), name="status"),
    path("ready", health.ReadyView.as_view(), name="ready"),
    path("metrics", health.MetricsView.as_view(), name="metrics"),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    # The login page redirects users who are logged in.
    path("admin", RedirectView.as_view(url="/admin/login/?next=/admin/")),
    path("admin/", admin.site.urls),
]
handler400 = "pkb.http.problems.bad_request"
handler403 = "pkb.http.problems.permission_denied"
handler404 = "pkb.http.problems.not_found"
handler500 = "pkb.http.problems.server_error"
