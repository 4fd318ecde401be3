"""A login that has begun: what its browser keeps until it comes back from the provider."""

import json
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass
from hashlib import sha256
from secrets import compare_digest, token_urlsafe
from typing import Self

from django.conf import settings
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse

from corpus.errors import LoginRefused

# To find one's password, and a second factor.
VALID_FOR_S = 15 * 60
# No row of a table: whoever reaches the port could fill it.
_COOKIE = "pkb_openid"
# A browser keeps no cookie of over 4,096 bytes; a longer address is not led back to.
MAX_NEXT_CHARS = 1_500
_PATH = "/ui/login/openid"


@dataclass(frozen=True, slots=True)
class LoginState:
    """What only this browser and, of ``verifier`` by its hash, the provider know.

    Attributes:
        state: Comes back with the code.
        nonce: Comes back in the token.
        verifier: Redeems the code (PKCE).
        wanted: The page to go on to, as somebody asked for it.
    """

    state: str
    nonce: str
    verifier: str
    wanted: str

    @classmethod
    def begin(cls, *, wanted: str) -> Self:
        kept = wanted if len(wanted) <= MAX_NEXT_CHARS else ""
        return cls(token_urlsafe(32), token_urlsafe(32), token_urlsafe(48), kept)

    @classmethod
    def read(cls, request: HttpRequest) -> Self:
        """Return the one that this browser began.

        Raises:
            LoginRefused: It began none, or too long ago, or another one.
        """
        try:
            kept = request.get_signed_cookie(_COOKIE, salt=_COOKIE, max_age=VALID_FOR_S)
        except (KeyError, BadSignature):
            raise LoginRefused("It was not begun in this browser, or too long ago.") from None
        attempt = cls(**json.loads(str(kept)))
        given = request.GET.get("state", "")
        if not compare_digest(given.encode(), attempt.state.encode()):
            raise LoginRefused("It is another one than this browser began last.")
        return attempt

    @property
    def challenge(self) -> str:
        digest = sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def keep(self, reply: HttpResponse) -> None:
        reply.set_signed_cookie(
            _COOKIE,
            json.dumps(asdict(self)),
            salt=_COOKIE,
            max_age=VALID_FOR_S,
            path=_PATH,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            # It is the provider that leads back here.
            samesite="Lax",
        )


def clear_login_state(reply: HttpResponse) -> None:
    reply.delete_cookie(_COOKIE, path=_PATH, samesite="Lax")
