"""Whether a service that was started answers."""

import httpx

# It may be busy with what it was asked before.
ANSWERS_WITHIN_S = 10


def is_ready(address: str) -> bool:
    try:
        reply = httpx.get(f"{address}/ready", timeout=ANSWERS_WITHIN_S)
    except httpx.TransportError:
        return False
    return reply.status_code == httpx.codes.OK
