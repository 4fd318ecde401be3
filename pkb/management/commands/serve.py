import os
import re
import resource
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.checks import ERROR
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError

from accounts.setup_links import VALID_FOR, create_setup_token, needs_setup
from corpus.models.installation import FILES_ON_OTHER_HOST, KEY_CHANGED, Installation
from pkb.checks import check_exposure
from pkb.postgres.versions import require_same_version
from qa.checks import CONFIGURATION
from qa.management.running_server import save_server_url

# Maximum open connections, including idle ones, and the listen backlog. Admission control rejects
# excess requests (docs/decisions/0027), so the server must accept them.
CONNECTIONS = 4_096
BACKLOG = 2_048
# Milliseconds to receive the headers of a request; also the timeout of idle connections.
HEADER_TIMEOUT_MS = 10_000
# A socket, and a temporary file for the body.
DESCRIPTORS_PER_CONNECTION = 2
OTHER_DESCRIPTORS = 512
# Settings of glibc's malloc (docs/decisions/0014). By default there are eight arenas per core, and
# each keeps the memory of its largest request: 115 MB in 16 arenas after 500 requests. The trim
# threshold grows with freed blocks unless it is set: use its initial value.
ALLOCATION = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "131072"}
# Wildcard addresses, which a browser on this machine reaches as localhost.
_WILDCARD = re.compile(r"(?<=://)(?:0\.0\.0\.0|\[::\]|::)(?=:\d+$)")


class Command(BaseCommand):
    help = "Serve the web app and the API on APP_HOST:APP_PORT, with a worker beside the server."
    requires_system_checks = [CONFIGURATION]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.PKB_HOST, help="default: APP_HOST")
        parser.add_argument("--port", type=int, default=settings.PKB_PORT, help="default: APP_PORT")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PKB_POSTGRES_DIR is not None:
            require_same_version(settings.PKB_POSTGRES_DIR / "data")
        _check_port_is_free(options["host"], options["port"])
        exposure = replace(settings.EXPOSURE, bind=options["host"])
        if exposure != settings.EXPOSURE:  # the system checks covered that one
            for message in check_exposure(exposure):
                if message.level >= ERROR:
                    raise CommandError(str(message))
                self.stderr.write(str(message))
        if settings.PKB_WORKER == "auto" and settings.PKB_POSTGRES_DIR is not None:
            _start_worker()
        # Warn if this process has another key or other files than others on the same database;
        # /ready reports an unavailable or unmigrated database.
        with suppress(DatabaseError):
            if not Installation.objects.register_key():
                self.stderr.write(self.style.WARNING(KEY_CHANGED))
            if not Installation.objects.claim_files():
                self.stderr.write(self.style.WARNING(FILES_ON_OTHER_HOST))
        # Print this before the server starts, while nothing else writes to the terminal.
        address = f"http://{options['host']}:{options['port']}"
        save_server_url(options["host"], options["port"])
        self.stdout.write(f"\nOpen {address} (API: {address}/docs, admin: {address}/admin)")
        if exposure.requires_login(settings.PKB_AUTH):
            _print_setup_link(self.stdout, server_url=address)
        self.stdout.flush()
        os.execve(  # noqa: S606  (no shell)
            sys.executable,
            [
                sys.executable, "-m", "granian", "--interface", "asginl", "--workers", "1",
                "--host", options["host"], "--port", str(options["port"]),
                "--backlog", str(BACKLOG), "--backpressure", str(_raise_file_limit()),
                "--http1-header-read-timeout", str(HEADER_TIMEOUT_MS),
                "--no-ws", "--respawn-failed-workers", "pkb.asgi:application",
            ],
            # Links in responses use the actual host and port.
            {
                **ALLOCATION, **os.environ,
                "APP_HOST": options["host"], "APP_PORT": str(options["port"]),
            },
        )  # fmt: skip


def _check_port_is_free(host: str, port: int) -> None:
    """Reject a port that is in use: Granian would share it with the other server.

    Raises:
        CommandError: The port is in use or forbidden, or the host is not this machine.
    """
    try:
        for family, kind, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(f"Cannot serve on {host}:{port}: {reason}. Set APP_PORT.") from error


def _raise_file_limit() -> int:
    """Raise the limit of open files, and return the number of connections that it allows."""
    needed = CONNECTIONS * DESCRIPTORS_PER_CONNECTION + OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(CONNECTIONS, (soft - OTHER_DESCRIPTORS) // DESCRIPTORS_PER_CONNECTION))


def _start_worker() -> None:
    """Start the worker supervisor; this process becomes the server later."""
    # One thread, so that answers have priority.
    threads = {"OMP_NUM_THREADS": "1", "PKB_MODEL_THREADS": "1"}
    subprocess.Popen(  # noqa: S603  (our own command)
        [
            sys.executable, "-m", "pkb.management.worker_supervisor", str(os.getpid()),
            sys.executable, str(settings.PKB_MANAGE), "worker",
        ],
        cwd=settings.PKB_MANAGE.parent,
        env={**ALLOCATION, **threads, **os.environ},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _print_setup_link(terminal: OutputWrapper, *, server_url: str) -> None:
    """Print a new one-time link to create the administrator, unless a user exists.

    Args:
        server_url: Used if PKB_PUBLIC_URL is unset.
    """
    try:
        if not needs_setup():
            return
        token = create_setup_token()
    except DatabaseError:
        terminal.write("\nRun manage.py migrate, then start pkb again.")
        return
    base = settings.EXPOSURE.public_url.rstrip("/") or _WILDCARD.sub("localhost", server_url)
    minutes = int(VALID_FOR.total_seconds() // 60)
    terminal.write(
        f"\nCreate the administrator account (one-time link, valid for {minutes} minutes):\n"
        f"  {base}/ui/setup?{urlencode({'token': token})}\n"
        "Or run manage.py createsuperuser."
    )
