"""The service: Django over ASGI, telemetry on, models loading in the background."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
application = get_asgi_application()

from pkb.telemetry import set_up  # noqa: E402  (needs the settings)
from pkb.warming import start_warming  # noqa: E402

set_up()
start_warming()
