"""Ports that nobody listens at, that nobody is to ask, and that are to answer."""

import socket

import httpx2

# A service may be busy with what it was asked before.
ANSWERS_WITHIN_S = 10


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


def was_asked(listener: socket.socket) -> bool:
    try:
        listener.accept()
    except BlockingIOError:
        return False
    return True


def is_ready(address: str) -> bool:
    """Return whether a service that was started answers."""
    try:
        reply = httpx2.get(f"{address}/ready", timeout=ANSWERS_WITHIN_S)
    except httpx2.TransportError:
        return False
    return reply.status_code == httpx2.codes.OK
