"""State of an OpenID login, stored in a signed cookie until the provider redirects back."""

import json
from base64 import urlsafe_b64encode
from dataclasses import asdict, dataclass
from hashlib import sha256
from secrets import compare_digest, token_urlsafe
from typing import Self

from django.conf import settings
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from corpus.errors import LoginRefused

# Enough time to enter a password and a second factor.
VALID_FOR_S = 15 * 60
# Not a table, which anonymous clients could fill.
_COOKIE = "pkb_openid"
# Browsers limit cookies to 4,096 bytes; a longer URL is dropped.
MAX_NEXT_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class LoginState:
    """State of a login; the provider sees only the hash of ``verifier``.

    Attributes:
        state: Returned with the code.
        nonce: Returned in the token.
        verifier: Redeems the code (PKCE).
        wanted: URL of the page to open after the login.
    """

    state: str
    nonce: str
    verifier: str
    wanted: str

    @classmethod
    def begin(cls, *, wanted: str) -> Self:
        wanted = wanted if len(wanted) <= MAX_NEXT_CHARS else ""
        return cls(token_urlsafe(32), token_urlsafe(32), token_urlsafe(48), wanted)

    @classmethod
    def read(cls, request: HttpRequest) -> Self:
        """Return the state of this browser's login.

        Raises:
            LoginRefused: There is none, it has expired, or it is of another login.
        """
        try:
            cookie = request.get_signed_cookie(_COOKIE, salt=_COOKIE, max_age=VALID_FOR_S)
        except (KeyError, BadSignature):
            raise LoginRefused(
                "The login was started in another browser, or too long ago."
            ) from None
        login = cls(**json.loads(str(cookie)))
        state = request.GET.get("state", "")
        if not compare_digest(state.encode(), login.state.encode()):
            raise LoginRefused("This browser has started another login since.")
        return login

    @property
    def challenge(self) -> str:
        digest = sha256(self.verifier.encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    def save(self, reply: HttpResponse) -> None:
        reply.set_signed_cookie(
            _COOKIE,
            json.dumps(asdict(self)),
            salt=_COOKIE,
            max_age=VALID_FOR_S,
            path=reverse("web:openid"),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            # The provider redirects back here.
            samesite="Lax",
        )


def clear_login_state(reply: HttpResponse) -> None:
    reply.delete_cookie(_COOKIE, path=reverse("web:openid"), samesite="Lax")
