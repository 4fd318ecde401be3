"""What is known of a request by its method and path."""

import pytest

from corpus.access.principal import Scope
from corpus.endpoints import BodySize, Cost
from pkb.http.endpoint_lookup import find_endpoint, is_page
from tests.support.operations import list_operations


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/documents", Scope.READ),
        ("HEAD", "/documents", Scope.READ),
        ("POST", "/ingest", Scope.INGEST),
        ("POST", "/search", Scope.READ),
        ("DELETE", "/tags/coast", Scope.INGEST),
        ("GET", "/audit", Scope.ADMIN),
        ("OPTIONS", "/rules", Scope.ADMIN),  # not declared: as the first that is
        ("GET", "/ask", Scope.READ),
        ("GET", "/admin/corpus/", Scope.ADMIN),
        ("GET", "/admin/not-there", Scope.ADMIN),
        ("GET", "/not-there", Scope.READ),
        ("POST", "/not-there", Scope.INGEST),
    ],
)
def test_every_request_needs_a_scope(method: str, path: str, scope: Scope) -> None:
    found = find_endpoint(method, path)
    assert (found.scope, found.is_open) == (scope, False)


@pytest.mark.parametrize(
    "path", ["/health", "/ready", "/ui/login", "/ui/setup", "/static/a.css", "/favicon.ico"]
)
def test_open_endpoints_need_no_login(path: str) -> None:
    assert find_endpoint("GET", path).is_open


def test_a_method_that_is_not_declared_is_light() -> None:
    assert find_endpoint("POST", "/ask").cost == Cost.ANSWER
    assert find_endpoint("GET", "/ask").cost == Cost.LIGHT


def test_only_uploads_take_files_and_only_the_answer_is_written_by_a_get() -> None:
    takes_files = {name for name, each in list_operations().items() if each.body == BodySize.FILE}
    assert takes_files == {"POST /ingest"}
    assert find_endpoint("POST", "/ui/library/upload").body == BodySize.FILE
    assert [name for name, each in list_operations().items() if each.writes] == ["GET /answer"]


def test_pages_are_told_from_the_api() -> None:
    assert is_page("/")
    assert is_page("/ui/ask")
    assert is_page("/admin/")
    assert not is_page("/ask")
    assert not is_page("/uix")


def test_every_operation_of_the_api_has_an_id_of_its_own() -> None:
    ids = [each.id for each in list_operations().values()]
    assert len(ids) == len(set(ids))
    assert "GET /tags/{}" in list_operations()
