"""Whose pages may write: our own, and those of the origins that PKB_CORS_ORIGINS names.

A browser sends what a page of any site tells it to, with this machine's right to reach us; it says
in two headers where it comes from. Scripts and command lines send neither.
"""

from urllib.parse import urlsplit

from django.conf import settings

REFUSAL = "A page of another site may not do this; PKB_CORS_ORIGINS names those that may."
_ELSEWHERE = frozenset({"cross-site", "same-site"})


def is_foreign(*, origin: str | None, fetch_site: str | None, host: str) -> bool:
    """Tell whether a page of another origin sent a request.

    Args:
        origin: Its ``Origin``; ``null``, as of a page in a sandbox, is nobody's.
        fetch_site: Its ``Sec-Fetch-Site``.
        host: Its ``Host``.
    """
    if origin is None:
        return fetch_site in _ELSEWHERE
    if settings.CORS_ALLOW_ALL_ORIGINS or origin in settings.CORS_ALLOWED_ORIGINS:
        return False
    # The scheme is not compared: a proxy may have ended TLS.
    ours = {host.lower(), urlsplit(settings.PKB_PUBLIC_URL).netloc.lower()}
    return _address(origin) not in ours


def _address(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None
