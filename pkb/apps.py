from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin import apps as admin_apps


class OrderedAdminConfig(admin_apps.AdminConfig):
    """Uses the admin site of `pkb.dashboard`; named in the settings."""

    default = False
    default_site = "pkb.dashboard.Site"


class PkbConfig(AppConfig):
    name = "pkb"
    default = True

    def ready(self) -> None:
        from pkb import checks  # noqa: F401, PLC0415  (it registers them)

        if settings.PKB_OTEL_EXPORTER != "none":
            from pkb.telemetry_setup import set_up  # noqa: PLC0415  (its imports cost half a second)

            set_up()
