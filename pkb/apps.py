from django.apps import AppConfig
from django.conf import settings


class PkbConfig(AppConfig):
    name = "pkb"

    def ready(self) -> None:
        from pkb import checks  # noqa: F401, PLC0415  (it registers them)

        if settings.PKB_OTEL_EXPORTER != "none":
            from pkb.telemetry import set_up  # noqa: PLC0415  (its imports cost half a second)

            set_up()
