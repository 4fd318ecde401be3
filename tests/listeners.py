"""A port that nobody is to ask, and whether somebody did."""

import socket


def was_asked(listener: socket.socket) -> bool:
    try:
        listener.accept()
    except BlockingIOError:
        return False
    return True
