import os
import resource
import socket
import subprocess
import sys
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.checks import ERROR
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from corpus.models.installations import FILES_ON_OTHER_HOST, KEY_CHANGED, Installation
from pkb.checks import check_exposure
from pkb.http.exposure import Exposure
from pkb.management.setup_link import print_setup_link
from pkb.postgres.versions import require_same_version
from qa.checks import CONFIGURATION
from qa.management.running_server import note_address

# Connections at once, those that are idle or half-sent among them; and those that wait for one.
# The gate refuses what is too much (docs/decisions/0027): it must hear of it first.
CONNECTIONS = 4_096
BACKLOG = 2_048
# Milliseconds for a request's headers; a connection that asks nothing for so long ends, too.
HEADER_TIMEOUT_MS = 10_000
# A connection, and its body on disk.
DESCRIPTORS_PER_CONNECTION = 2
OTHER_DESCRIPTORS = 512
# How glibc's malloc keeps what was freed (docs/decisions/0014). A request has a thread of its own,
# comes to any of its arenas, eight a core, and each keeps room for the greatest request that it has
# had: 115 MB in 16 after 500 requests. And it gives back the less, the greater the pieces were that
# it gave back before, unless it is told how many bytes may stay: its own first value.
ALLOCATION = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "131072"}


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
        if exposure != settings.EXPOSURE:  # the checks told of that one
            self._check(exposure)
        if settings.PKB_WORKER == "auto" and settings.PKB_POSTGRES_DIR is not None:
            _start_worker()
        self._join_installation()
        # It is not listening yet, and has the log to itself from here on.
        address = f"http://{options['host']}:{options['port']}"
        note_address(options["host"], options["port"])
        self.stdout.write(f"\nOpen {address} (API: {address}/docs, admin: {address}/admin)")
        if exposure.requires_login(settings.PKB_AUTH):
            print_setup_link(self.stdout, address=address)
        self.stdout.flush()
        os.execve(  # noqa: S606  (no shell: the arguments go as they are)
            sys.executable,
            [
                sys.executable, "-m", "granian", "--interface", "asginl", "--workers", "1",
                "--host", options["host"], "--port", str(options["port"]),
                "--backlog", str(BACKLOG), "--backpressure", str(_raise_file_limit()),
                "--http1-header-read-timeout", str(HEADER_TIMEOUT_MS),
                "--no-ws", "--respawn-failed-workers", "pkb.asgi:application",
            ],
            # Links of what is served begin with its address.
            {
                **ALLOCATION, **os.environ,
                "APP_HOST": options["host"], "APP_PORT": str(options["port"]),
            },
        )  # fmt: skip

    def _join_installation(self) -> None:
        """Tell what of this process does not fit the others of its database."""
        try:
            if not Installation.objects.register_key():
                self.stderr.write(self.style.WARNING(KEY_CHANGED))
            if not Installation.objects.claim_files():
                self.stderr.write(self.style.WARNING(FILES_ON_OTHER_HOST))
        except DatabaseError:
            return  # of one that is away or not migrated /ready tells

    def _check(self, exposure: Exposure) -> None:
        """Tell what is wrong with serving there.

        Raises:
            CommandError: It must not be.
        """
        for message in check_exposure(exposure):
            if message.level >= ERROR:
                raise CommandError(str(message))
            self.stderr.write(str(message))


def _check_port_is_free(host: str, port: int) -> None:
    """Refuse an address that another server has: Granian would share it, a request to each.

    Raises:
        CommandError: The address is taken, is not this machine's, or may not be listened on.
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
    """Let the server open as many files as it may; returns the connections that it can hold."""
    wanted = CONNECTIONS * DESCRIPTORS_PER_CONNECTION + OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(1, min(CONNECTIONS, (soft - OTHER_DESCRIPTORS) // DESCRIPTORS_PER_CONNECTION))


def _start_worker() -> None:
    """Keep a worker beside this process, which is about to become the server's."""
    # One thread: answers come first.
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
