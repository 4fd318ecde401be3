"""A small IMAP server for tests: real sockets, the commands that reading a folder needs."""

import re
import socketserver
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

USER, PASSWORD = "anna@example.org", 'pa"ss wörd'


@dataclass
class Account:
    """Folders of one user, and what was asked.

    Attributes:
        messages: Of the folder ``Papers``, by UID.
        failure: What it does instead of answering: ``cut`` or ``no``, and from which command on.
        seen: UIDs that a client has marked as read.
    """

    messages: dict[int, bytes] = field(default_factory=dict)
    uid_validity: int = 7
    failure: tuple[str, str] = ("", "")
    commands: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    port: int = 0


class _Session(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        self.say("* OK ready")
        while line := self.rfile.readline():
            tag, _, said = line.decode().strip().partition(" ")
            command = said.upper()
            self.server.account.commands.append(said)
            kind, on = self.server.account.failure
            if on and command.startswith(on):
                if kind == "cut":
                    return
                self.say(f"{tag} NO {said}")
                continue
            answer = next(
                (act for name, act in _COMMANDS.items() if command.startswith(name)), None
            )
            done = answer(self, said) if answer else "BAD unknown"
            self.say(f"{tag} {done}")
            if command == "LOGOUT":
                return

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def capability(self, said: str) -> str:
        self.say("* CAPABILITY IMAP4rev1 AUTH=PLAIN")
        return "OK done"

    def authenticate(self, said: str) -> str:
        import base64  # noqa: PLC0415

        self.say("+")
        given = base64.b64decode(self.rfile.readline()).decode().split("\0")
        return "OK done" if given[1:] == [USER, PASSWORD] else f"NO wrong: {given}"

    def log_in(self, said: str) -> str:
        return "NO wrong: " + said

    def examine(self, said: str) -> str:
        # As modified UTF-7 has it, in quotes.
        if '"Pap&AOk-rs"' not in said:
            return "NO [NONEXISTENT] no such folder"
        self.say(f"* {len(self.server.account.messages)} EXISTS")
        self.say(f"* OK [UIDVALIDITY {self.server.account.uid_validity}] valid")
        return "OK [READ-ONLY]"

    def search(self, said: str) -> str:
        # In no order, as the standard allows.
        uids = sorted(self.server.account.messages, reverse=True)
        self.say(" ".join(["* SEARCH", *map(str, uids)]))
        return "OK done"

    def fetch(self, said: str) -> str:
        account = self.server.account
        wanted = {int(uid) for uid in said.split()[2].split(",")}
        for number, (uid, content) in enumerate(sorted(account.messages.items()), start=1):
            if uid not in wanted:
                continue
            if "PEEK" not in said.upper():
                account.seen.add(uid)
            is_head = "HEADER.FIELDS" in said.upper()
            body = _head(content) if is_head else content
            section = "BODY[HEADER.FIELDS (SUBJECT)]" if is_head else "BODY[]"
            self.say(f"* {number} FETCH (FLAGS (\\Recent))")
            self.wfile.write(f"* {number} FETCH (RFC822.SIZE {len(content)} {section} ".encode())
            self.wfile.write(b"{%d}\r\n%s UID %d)\r\n" % (len(body), body, uid))
        return "OK done"

    def log_out(self, said: str) -> str:
        self.say("* BYE")
        return "OK done"


_COMMANDS: dict[str, Any] = {
    "CAPABILITY": _Session.capability,
    "AUTHENTICATE PLAIN": _Session.authenticate,
    "LOGIN": _Session.log_in,
    "EXAMINE": _Session.examine,
    "UID SEARCH": _Session.search,
    "UID FETCH": _Session.fetch,
    "LOGOUT": _Session.log_out,
}


def _head(content: bytes) -> bytes:
    wanted = rb"(?im)^(?:message-id|references|in-reply-to|subject):.*(?:\r?\n[ \t].*)*\r?\n"
    return b"".join(re.findall(wanted, content.partition(b"\n\n")[0] + b"\n")) + b"\r\n"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    account: Account
    context: ssl.SSLContext

    def get_request(self) -> Any:
        raw, address = super().get_request()
        raw.settimeout(10)
        return self.context.wrap_socket(raw, server_side=True), address

    def handle_error(self, *args: Any) -> None:
        """A client that does not trust it is no failure."""


@contextmanager
def serve_imap(certificate: Path) -> Iterator[Account]:
    """Serve an account over TLS on a port of its own, until the block ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with _Server(("127.0.0.1", 0), _Session) as server:
        server.context = context
        server.account = Account(port=server.server_address[1])
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        try:
            yield server.account
        finally:
            server.shutdown()
