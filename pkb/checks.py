"""What of a deployment lets others do more than was meant, told at the start."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import psycopg
from django.conf import settings
from django.core import checks
from django.db import connection

from qa.checks import CONFIGURATION

# A server that does not answer in this time is asked nothing: who needs it will hear of that.
CONNECT_TIMEOUT_S = 2


@checks.register(CONFIGURATION)
def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    return [*warn_of_open_address(settings.PKB_HOST), *_warn_of_powerful_role()]


def warn_of_open_address(host: str) -> Iterator[checks.CheckMessage]:
    """Yield a warning unless only this machine reaches what listens on ``host``."""
    if _is_loopback(host):
        return
    message = f"APP_HOST: {host} is no loopback address, and there is no login: whoever reaches it"
    hint = "Keep it on 127.0.0.1, or let in only a proxy that knows its users (docs/security.md)."
    yield checks.Warning(f"{message} may read, add and delete all.", hint=hint, id="pkb.W001")


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host.lower() == "localhost"


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
