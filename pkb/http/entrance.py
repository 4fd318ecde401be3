"""What the headers of a request alone say of whether it may come in, before its body is read."""

from collections.abc import Collection
from typing import Any

from django.conf import settings

from pkb.http.exposure import is_loopback
from pkb.http.needs import SAFE_METHODS, find_need
from pkb.http.refusals import Refused

# Written by proxies: who they speak for is not on this machine.
FORWARDING = frozenset({
    "forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    "x-forwarded-server", "x-real-ip", "true-client-ip", "cf-connecting-ip",
})  # fmt: skip
_CREDENTIALS = frozenset({"authorization", "x-api-key", "cookie"})
FORWARDED = (
    "This was forwarded by a proxy, and no login is asked for: set PKB_AUTH=required"
    " (docs/security.md)."
)


def check_entrance(scope: Any) -> None:
    """Refuse what need not be read to be refused.

    Args:
        scope: ASGI's, of a request.

    Raises:
        Refused: 403 where a proxy sent it and no login is asked for: whoever reaches the proxy
            would be the owner. 401 where a body is sent without a word of whose it is.
    """
    names = {name.decode("latin-1") for name, _ in scope["headers"]}
    if not settings.PKB_AUTH_REQUIRED:
        if names & FORWARDING:
            raise Refused(403, FORWARDED)
        return
    is_stranger = not names & _CREDENTIALS and scope["method"] not in SAFE_METHODS
    if is_stranger and find_need(scope["method"], scope["path"]).scope is not None:
        raise Refused(401, "Log in, or send a key: Authorization: Bearer KEY.")


def is_own_machine(peer: str, *, names: Collection[str]) -> bool:
    """Tell whether a request began on this machine, and at no proxy on it.

    Args:
        peer: The address of the connection.
        names: Of its headers, in lower case.
    """
    return is_loopback(peer) and not FORWARDING & set(names)
