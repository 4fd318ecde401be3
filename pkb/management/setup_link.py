"""Print a one-time setup link when no user exists."""

import re
from urllib.parse import urlencode

from django.conf import settings
from django.core.management.base import OutputWrapper
from django.db import DatabaseError

from accounts.setup_links import VALID_FOR, create_setup_token, needs_setup

# Wildcard addresses, which a browser on this machine reaches as localhost.
_WILDCARD = re.compile(r"(?<=://)(?:0\.0\.0\.0|\[::\]|::)(?=:\d+$)")


def print_setup_link(terminal: OutputWrapper, *, address: str) -> None:
    """Print a new one-time link to create the administrator, unless a user exists.

    Args:
        address: URL of the server, used if PKB_PUBLIC_URL is unset.
    """
    try:
        if not needs_setup():
            return
        token = create_setup_token()
    except DatabaseError:
        terminal.write("\nRun manage.py migrate, then start pkb again.")
        return
    base = settings.EXPOSURE.public_url.rstrip("/") or _WILDCARD.sub("localhost", address)
    minutes = int(VALID_FOR.total_seconds() // 60)
    terminal.write(
        f"\nCreate the administrator account (one-time link, valid for {minutes} minutes):\n"
        f"  {base}/ui/setup?{urlencode({'token': token})}\n"
        "Or run manage.py createsuperuser."
    )
