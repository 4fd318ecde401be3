"""Django system checks of the deployment: exposure and database role."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.core import checks
from django.db import connection
from psycopg.rows import class_row

from corpus.postgres import ROLE_CHECKS
from pkb.http.exposure import Exposure, is_loopback
from pkb.postgres.roles import (
    CAN_CREATE_LARGE_OBJECTS,
    FORBID_LARGE_OBJECTS,
    LEAKPROOF,
    MISSING_LEAKPROOF,
    leakproof_statement,
)
from qa.checks import CONFIGURATION

# If the server does not answer in this time, the check is skipped.
CONNECT_TIMEOUT_S = 2
ROLES_HINT = (
    "Set DATABASE_URL or POSTGRES_USER to a role that owns nothing, and POSTGRES_OWNER to the owner"
    " of the tables; pkb/postgres/sql creates both (docs/guides/database.md)."
)
_POWERS = f"""
SELECT rolname AS role, rolsuper OR rolbypassrls AS is_powerful,
       EXISTS (SELECT FROM pg_class
                WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
                  AND pg_has_role(relowner, 'MEMBER')) AS may_own,
       EXISTS (SELECT FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase
                WHERE setrole = pg_roles.oid
                  AND coalesce(datname, current_database()) = current_database()) AS has_settings,
       {CAN_CREATE_LARGE_OBJECTS} AS can_create_large_objects,
       ARRAY ({MISSING_LEAKPROOF}) AS not_leakproof
  FROM pg_roles WHERE rolname = current_user
"""  # noqa: S608


class Powers(NamedTuple):
    """Privileges of the serving role that it should not have.

    Attributes:
        is_powerful: The role is a superuser, or bypasses row-level security.
        may_own: The role owns a table, or is a member of the owner.
        has_settings: The role has session settings; any role can set its own.
        can_create_large_objects: Every role may create large objects, which no policy restricts.
        not_leakproof: Functions of ``LEAKPROOF`` that are not marked so on this server.
    """

    role: str
    is_powerful: bool
    may_own: bool
    has_settings: bool
    can_create_large_objects: bool
    not_leakproof: list[str]


@checks.register(CONFIGURATION)
def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    return list(check_exposure(settings.EXPOSURE))


def check_exposure(exposure: Exposure) -> Iterator[checks.CheckMessage]:
    """Yield an error if others need no login or logins can be forged.

    Yield a warning if keys are sent unencrypted, or if all clients of a proxy share its IP address.
    """
    reasons = exposure.reasons()
    if settings.PKB_AUTH == "off" and reasons:
        message = f"PKB_AUTH=off is only for this machine, but {', '.join(reasons)}:"
        hint = "Remove PKB_AUTH, so that a login is required (docs/explanation/security.md)."
        yield checks.Error(
            f"{message} anyone who can reach pkb has full access.", hint=hint, id="pkb.E001"
        )
    elif not (is_loopback(exposure.bind) or exposure.is_behind_tls):
        message = f"APP_HOST: {exposure.bind} is not a loopback address, and there is no TLS:"
        hint = "Use a TLS proxy and set PKB_HTTPS (docs/guides/proxy.md)."
        yield checks.Warning(
            f"{message} passwords and keys are sent unencrypted.", hint=hint, id="pkb.W001"
        )
    if exposure.is_behind_tls and not settings.PKB_TRUSTED_PROXIES:
        message = (
            "PKB_HTTPS is set and PKB_TRUSTED_PROXIES is 0: all clients have the proxy's address"
        )
        hint = "Set PKB_TRUSTED_PROXIES to the number of proxies (docs/guides/proxy.md)."
        yield checks.Warning(f"{message} and share its limits.", hint=hint, id="pkb.W004")
    issuer = urlsplit(exposure.issuer)
    if issuer.scheme == "http" and not is_loopback(issuer.hostname or ""):
        message = f"PKB_OIDC_ISSUER: {exposure.issuer} is not https:"
        yield checks.Error(
            f"{message} an attacker in the network could log in as any user.", id="pkb.E003"
        )


@checks.register(CONFIGURATION, ROLE_CHECKS)
def check_role(**kwargs: Any) -> list[checks.CheckMessage]:
    """Check the role on an external server; the embedded one needs no check."""
    if settings.PKB_POSTGRES_DIR:
        return []
    params = {**connection.get_connection_params(), "connect_timeout": CONNECT_TIMEOUT_S}
    rows = class_row(Powers)
    try:
        with psycopg.connect(**params) as server, server.cursor(row_factory=rows) as cursor:
            powers = cursor.execute(_POWERS, [list(LEAKPROOF)]).fetchone()
    except psycopg.OperationalError:
        return []
    if powers is None:
        return []
    found: list[checks.CheckMessage] = []
    role = f"The database role {powers.role!r}"
    by_rank = f"{role} is a superuser or bypasses row-level security:"
    if settings.PKB_AUTH_REQUIRED and (powers.is_powerful or powers.may_own):
        by_owning = f"{role} owns the tables, or can become their owner:"
        message = f"{by_rank if powers.is_powerful else by_owning} users are not isolated."
        found.append(checks.Error(message, hint=ROLES_HINT, id="pkb.E002"))
    elif powers.is_powerful:
        message = f"{by_rank} injected SQL could run programs."
        found.append(checks.Warning(message, hint=ROLES_HINT, id="pkb.W002"))
    if settings.PKB_AUTH_REQUIRED and powers.has_settings:
        message = f"{role} has session settings of unknown origin."
        hint = "Run ALTER ROLE ... RESET ALL, also IN DATABASE. Set options in DATABASE_URL."
        found.append(checks.Error(message, hint=hint, id="pkb.E004"))
    as_superuser = "Run as superuser, in this database:"
    if powers.not_leakproof:
        message = (
            "Under row-level security this server does not use some indexes: searches are slow."
        )
        hint = f"{as_superuser} {'; '.join(map(leakproof_statement, powers.not_leakproof))}"
        found.append(checks.Warning(message, hint=hint, id="pkb.W003"))
    if powers.can_create_large_objects:
        message = "On this server every role may create large objects, which no policy restricts."
        hint = f"{as_superuser} {FORBID_LARGE_OBJECTS}"
        found.append(checks.Warning(message, hint=hint, id="pkb.W005"))
    return found
