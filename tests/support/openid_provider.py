"""A real OpenID provider in a process of its own, which can be told to misbehave.

``.venv-clients`` has its package, and so runs this file as a program, too: oidc-provider-mock, with
what that does not do itself: it has a code redeemed with the verifier of its challenge (PKCE),
asks for the client's secret, and signs other claims, or with another key, where a test says so.
"""

import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

CLIENT_ID = "pkb"
CLIENT_SECRET = "kept-between-the-two"


@dataclass
class Provider:
    """The process, reached over HTTP.

    Attributes:
        issuer: Its address.
    """

    issuer: str
    client: httpx.Client = field(repr=False)

    def knows(self, subject: str, **claims: Any) -> None:
        """Have a user there, of whom it tells these claims."""
        self.client.put(f"/users/{subject}", json=claims).raise_for_status()

    def misbehaves(self, **how: Any) -> None:
        """Sign ``claims`` instead of its own, or by a ``foreign_key``, or be ``silent`` of them."""
        self.client.put("/misbehaviour", json=how).raise_for_status()

    def log_in(self, address: str, subject: str) -> str:
        """Log somebody in where we led them; returns where they are led back to."""
        reply = self.client.post(address, data={"sub": subject})
        assert reply.status_code == 302, reply.text
        return reply.headers["Location"]


@contextmanager
def provider_process(python: Path) -> Iterator[Provider]:
    """Run the provider by the Python that has its package."""
    process = subprocess.Popen(
        [str(python), __file__], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        issuer = f"http://127.0.0.1:{int(process.stdout.readline())}"
        with httpx.Client(base_url=issuer, trust_env=False) as client:
            yield Provider(issuer, client)
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _serve() -> None:
    from werkzeug.serving import make_server  # noqa: PLC0415  (only of .venv-clients)

    server = make_server("127.0.0.1", 0, _make_app(), threaded=True)
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve_forever()


def _make_app() -> Any:
    import flask  # noqa: PLC0415
    import oidc_provider_mock  # noqa: PLC0415

    app = oidc_provider_mock.app(require_nonce=True)
    challenges: dict[str, str] = {}
    misbehaviour: dict[str, Any] = {}

    def misbehave() -> str:
        misbehaviour.clear()
        misbehaviour.update(flask.request.json)
        return ""

    def check_client() -> tuple[str, int] | None:
        if flask.request.path != "/oauth2/token":
            return None
        given = flask.request.authorization
        form = flask.request.form
        digest = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest())
        is_client = given and (given.username, given.password) == (CLIENT_ID, CLIENT_SECRET)
        is_right = challenges.get(form["code"]) == digest.rstrip(b"=").decode()
        return None if is_client and is_right else ('{"error": "invalid_grant"}', 400)

    def change(reply: Any) -> Any:
        if flask.request.path == "/oauth2/authorize" and reply.status_code == 302:
            (code,) = parse_qs(urlsplit(reply.headers["Location"]).query)["code"]
            challenges[code] = flask.request.args["code_challenge"]
        if flask.request.path == "/oauth2/token" and reply.status_code == 200 and misbehaviour:
            reply.set_data(flask.json.dumps(_sign_anew(reply.json, misbehaviour)))
        return reply

    app.add_url_rule("/misbehaviour", view_func=misbehave, methods=["PUT"])
    app.before_request(check_client)
    app.after_request(change)
    return app


def _sign_anew(told: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    import flask  # noqa: PLC0415
    from joserfc import jwk, jwt  # noqa: PLC0415

    own = flask.g.oidc_provider_mock_storage.jwk
    own = jwk.RSAKey.import_key(own.as_dict(is_private=True))
    found = jwt.decode(told["id_token"], own)
    if how.get("silent"):
        return {name: value for name, value in told.items() if name != "id_token"}
    key = jwk.RSAKey.generate_key(2048) if how.get("foreign_key") else own
    claims = {**found.claims, **how.get("claims", {})}
    return {**told, "id_token": jwt.encode(found.header, claims, key)}


if __name__ == "__main__":
    _serve()
