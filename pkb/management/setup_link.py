"""Where a login is required and nobody has one: tell the terminal where the first user is made."""

import re
from urllib.parse import urlencode

from django.conf import settings
from django.core.management.base import OutputWrapper
from django.db import DatabaseError

from accounts.setup_links import VALID_FOR, create_setup_token, needs_setup

# What a service listens on that is reached by every name: this machine's own will do.
_WILDCARD = re.compile(r"(?<=://)(?:0\.0\.0\.0|\[::\]|::)(?=:\d+$)")


def print_setup_link(terminal: OutputWrapper, *, address: str) -> None:
    """Print a new one-time address, unless there is a user.

    Args:
        address: Where the service is about to be, if PKB_PUBLIC_URL does not say where people
            reach it.
    """
    try:
        if not needs_setup():
            return
        token = create_setup_token()
    except DatabaseError:
        terminal.write("\nNobody can log in yet: manage.py migrate, then start it again.")
        return
    base = settings.EXPOSURE.public_url.rstrip("/") or _WILDCARD.sub("localhost", address)
    minutes = int(VALID_FOR.total_seconds() // 60)
    terminal.write(
        f"\nNobody can log in yet. Make the first user within {minutes} minutes, once, at\n"
        f"  {base}/ui/setup?{urlencode({'token': token})}\n"
        "or by manage.py createsuperuser."
    )
