"""Statements that are planned once a connection."""

from typing import Any

import pytest
from django.db import DataError, connection, transaction

from corpus.access.principal import ANONYMOUS, acting_as
from corpus.models import Collection
from corpus.postgres import fetch_prepared
from tests.support.database import execute

NAMES = "SELECT name FROM corpus_collection WHERE name = %s"


def planned_count() -> int:
    return len(execute("SELECT FROM pg_prepared_statements WHERE statement LIKE '%name = $1'"))


def test_a_statement_is_planned_once_for_all_values() -> None:
    assert fetch_prepared(NAMES, ["default"]) == [("default",)]
    assert fetch_prepared(NAMES, ["nowhere"]) == []
    assert planned_count() == 1


def test_the_connection_keeps_no_text_of_other_statements() -> None:
    fetch_prepared(NAMES, ["default"])
    execute("SELECT length(%s)", "a document's text")
    driver: Any = connection.connection
    assert driver.prepare_threshold is None
    assert not driver._prepared._counts


def test_a_savepoint_that_is_rolled_back_leaves_what_was_planned() -> None:
    fetch_prepared(NAMES, ["default"])
    with pytest.raises(DataError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
    assert planned_count() == 1


def test_rows_without_columns_are_counted() -> None:
    assert fetch_prepared("SELECT FROM corpus_collection LIMIT 1", []) == [()]


def test_it_goes_on_after_a_transaction_that_failed() -> None:
    fetch_prepared(NAMES, ["default"])
    with pytest.raises(DataError), transaction.atomic():
        fetch_prepared("SELECT 1 / %s::int", [0])
    assert fetch_prepared(NAMES, ["default"]) == [("default",)]


@pytest.mark.django_db(transaction=True)
def test_each_call_is_for_who_acts_then() -> None:
    seen = "SELECT current_setting('pkb.principal')"
    assert fetch_prepared(seen, []) == [("*",)]
    with acting_as(ANONYMOUS):
        assert fetch_prepared(seen, []) == [("",)]
    assert fetch_prepared(seen, []) == [("*",)]


@pytest.mark.parametrize("address", ["default", "default@"])
def test_a_collection_to_write_is_the_one_that_is_found(address: str) -> None:
    found, written = Collection.objects.get_named(address), Collection.objects.get_writable(address)
    columns = [field.attname for field in Collection._meta.concrete_fields]
    assert [getattr(found, name) for name in columns] == [
        getattr(written, name) for name in columns
    ]
