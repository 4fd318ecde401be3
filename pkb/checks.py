"""What of a deployment lets others do more than was meant, told at the start."""

from collections.abc import Iterator
from typing import Any

import psycopg
from django.conf import settings
from django.core import checks
from django.db import connection

from pkb.http.exposure import Exposure, is_loopback
from qa.checks import CONFIGURATION

# A server that does not answer in this time is asked nothing: who needs it will hear of that.
CONNECT_TIMEOUT_S = 2


@checks.register(CONFIGURATION)
def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    return [*check_exposure(settings.EXPOSURE), *_warn_of_powerful_role()]


def check_exposure(exposure: Exposure) -> Iterator[checks.CheckMessage]:
    """Yield an error where others need no login, a warning where keys can be overheard."""
    reasons = exposure.reasons()
    if settings.PKB_AUTH == "off" and reasons:
        message = f"PKB_AUTH=off is for this machine alone, but {', '.join(reasons)}:"
        hint = "Leave PKB_AUTH unset: a login is required then (docs/security.md)."
        yield checks.Error(f"{message} whoever reaches it may do all.", hint=hint, id="pkb.E001")
    elif not (is_loopback(exposure.bind) or exposure.is_behind_tls):
        message = f"APP_HOST: {exposure.bind} is no loopback address, and nothing encrypts:"
        hint = "Put a proxy that ends TLS before it, and set PKB_HTTPS (docs/operations.md)."
        yield checks.Warning(f"{message} passwords and keys can be read.", hint=hint, id="pkb.W001")


def _warn_of_powerful_role() -> Iterator[checks.CheckMessage]:
    """Ask a server that is not ours what the role may do; the embedded one's is right."""
    if settings.PKB_POSTGRES_DIR is not None:
        return
    role, is_powerful = _ask_for_powers()
    if is_powerful:
        message = f"The database role {role!r} is a superuser or gets around row-level security:"
        hint = (
            "Name a role in DATABASE_URL that owns its database and nothing else:"
            " pkb/postgres/role.sql makes one (docs/operations.md, 'A role of its own')."
        )
        yield checks.Warning(f"{message} SQL could run programs.", hint=hint, id="pkb.W002")


def _ask_for_powers() -> tuple[str, bool]:
    query = "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    wanted = {**connection.get_connection_params(), "connect_timeout": CONNECT_TIMEOUT_S}
    try:
        with psycopg.connect(**wanted) as asking:
            return asking.execute(query).fetchone() or ("", False)
    except psycopg.OperationalError:
        return "", False
