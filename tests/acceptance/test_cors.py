"""Pages of other origins call the API only where they are named."""

from typing import Any

from tests.support.client import Api

PAGE = "https://app.example.org"


def preflight(api: Api, origin: str = PAGE, path: str = "/search") -> Any:
    return api.options(
        path,
        HTTP_ORIGIN=origin,
        HTTP_ACCESS_CONTROL_REQUEST_METHOD="POST",
        HTTP_ACCESS_CONTROL_REQUEST_HEADERS="x-api-key",
    )


def test_no_origin_is_let_in_by_default(api: Api) -> None:
    assert "Access-Control-Allow-Origin" not in preflight(api)
    assert "Access-Control-Allow-Origin" not in api.get("/tags", HTTP_ORIGIN=PAGE)


def test_a_named_origin_is_let_in_and_no_other(api: Api, settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = [PAGE]
    allowed = preflight(api)
    assert allowed["Access-Control-Allow-Origin"] == PAGE
    assert "x-api-key" in allowed["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in allowed
    reply = api.get("/documents/stats", {"collection": "absent"}, HTTP_ORIGIN=PAGE)
    assert (reply.status_code, reply["Access-Control-Allow-Origin"]) == (404, PAGE)
    assert "Access-Control-Allow-Origin" not in preflight(api, "https://evil.example.org")


def test_the_admin_stays_closed(api: Api, settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = [PAGE]
    assert "Access-Control-Allow-Origin" not in preflight(api, path="/admin/login/")
