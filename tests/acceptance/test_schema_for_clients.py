"""What clients are made from: the OpenAPI document names its operations and shows examples."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from jsonschema_rs import Draft202012Validator

from tests.support.client import Api
from tests.support.operations import list_operations

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document(django_db_setup: None, django_db_blocker: Any) -> dict[str, Any]:
    with django_db_blocker.unblock():
        return dict(Api().get("/schema", {"format": "json"}).json())


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield f"{method.upper()} {re.sub('{[^}]*}', '{}', path)}", item[method]


def test_each_operation_has_a_name_a_task_and_a_summary(document: dict[str, Any]) -> None:
    shown = dict(operations(document))
    assert shown.keys() == list_operations().keys()
    assert len({operation["operationId"] for operation in shown.values()}) == len(shown)
    for operation in shown.values():
        assert operation["summary"]
        assert len(operation["tags"]) == 1
        assert not re.search(r"_(retrieve|destroy|list|partial_update)\Z", operation["operationId"])
    tags: Any = settings.SPECTACULAR_SETTINGS["TAGS"]
    used = {tag for operation in shown.values() for tag in operation["tags"]}
    assert used == {tag["name"] for tag in tags}
    assert document["tags"] == tags


def test_clients_find_the_calls_by_their_verbs(document: dict[str, Any]) -> None:
    names = {key: operation["operationId"] for key, operation in operations(document)}
    assert names["POST /ask"] == "ask"
    assert names["POST /search"] == "search"
    assert names["DELETE /documents/{}"] == "delete_document"


def test_each_json_body_has_an_example_that_fits_its_schema(document: dict[str, Any]) -> None:
    bodies = {
        key: operation["requestBody"]["content"]["application/json"]
        for key, operation in operations(document)
        if "requestBody" in operation
    }
    assert len(bodies) > 10
    for key, body in bodies.items():
        wanted = {**body["schema"], "components": document["components"]}
        errors = [
            error.message for error in Draft202012Validator(wanted).iter_errors(body["example"])
        ]
        assert errors == [], key


def test_a_union_that_holds_itself_names_its_branches(document: dict[str, Any]) -> None:
    """A generator of clients leaves out each operation that takes another."""
    for name, schema in document["components"]["schemas"].items():
        if f"#/components/schemas/{name}'" in str(schema):
            assert all("$ref" in each for each in schema.get("oneOf", [])), name
    assert "$ref" in document["components"]["schemas"]["SearchFilter"]["oneOf"][0]


def test_the_types_of_filters_are_enums_of_their_own(document: dict[str, Any]) -> None:
    """A union of constants is read by openapi-python-client as the first of them."""
    schemas = document["components"]["schemas"]
    for ref in schemas["SearchFilter"]["oneOf"]:
        kind = schemas[ref["$ref"].rsplit("/", 1)[1]]["properties"]["type"]["$ref"]
        assert len(schemas[kind.rsplit("/", 1)[1]]["enum"]) > 1


def test_the_document_names_its_server(document: dict[str, Any]) -> None:
    assert document["servers"][0]["url"] == "/"
