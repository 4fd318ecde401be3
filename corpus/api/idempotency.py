"""Answer a repeated request with the first response."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from django.db import transaction
from rest_framework.response import Response

from corpus.access.principal import current_restricted_key_id, current_user_id
from corpus.errors import IdempotencyKeyBusy, IdempotencyKeyReused, InvalidInput
from corpus.models import Document, IdempotentRequest
from corpus.postgres import text_key, try_session_lock

MAX_KEY_CHARS = 255


def respond_idempotently(
    key: str, *, fingerprint: Mapping[str, Any], respond: Callable[[], Response]
) -> Response:
    """Return the response of ``respond``, or the stored one of an earlier request.

    Only a success is stored: a failed request may be retried with its key.

    Raises:
        InvalidInput: The key is too long.
        IdempotencyKeyBusy: A request with this key is in progress.
        IdempotencyKeyReused: The key was used with another request.
    """
    if not key:
        return respond()
    if len(key) > MAX_KEY_CHARS:
        raise InvalidInput(f"Idempotency-Key must have at most {MAX_KEY_CHARS} characters.")
    hasher = sha256()
    for name in sorted(fingerprint):
        value = fingerprint[name]
        if hasattr(value, "chunks"):
            parts = list(value.chunks())
            value.seek(0)
        else:
            parts = [repr(value).encode()]
        hasher.update(name.encode() + b"\0" + sha256(b"".join(parts)).digest())
    digest = hasher.hexdigest()
    caller = {"made_by": current_user_id(), "made_with": current_restricted_key_id()}
    lock = f"idempotency:{caller['made_by']}:{caller['made_with']}:{key}"
    # Nobody waits for it, because a waiting request would hold a database connection.
    with try_session_lock(text_key(lock)) as is_mine:
        if not is_mine:
            raise IdempotencyKeyBusy(
                "The first request with this key is still running. Try again soon."
            )
        stored = IdempotentRequest.objects.filter(key=key, **caller).first()
        if stored is None:
            response = respond()
            document_id = response.data.get("document_id")
            with transaction.atomic():
                # Its document may have been deleted meanwhile.
                if document_id is None or Document.objects.lock_for_key_share([str(document_id)]):
                    IdempotentRequest.objects.create(
                        key=key,
                        request_sha256=digest,
                        status=response.status_code,
                        body=response.data,
                    )
            return response
    if stored.request_sha256 != digest:
        raise IdempotencyKeyReused(
            f"Idempotency-Key {key!r} was used with a different request body."
        )
    return Response(stored.body, status=stored.status)
