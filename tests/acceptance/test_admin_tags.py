"""The admin's tags: renamed, merged, put on and taken off; search finds by what they are then."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from corpus.invariants import find_violations
from corpus.models import ChunkTag, Document, Tag
from tests.support.client import Api
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest

Run = Callable[..., str]


@pytest.fixture
def run(admin_client: Client) -> Run:
    """Run an action of a list on rows; returns the page that comes after."""

    def run_action(model: str, action: str, keys: list[Any], tag: str = "") -> str:
        url = reverse(f"admin:corpus_{model}_changelist")
        chosen = {"action": action, "_selected_action": keys, "tag": tag}
        return admin_client.post(url, chosen, follow=True).content.decode()

    return run_action


@pytest.fixture
def documents(ingest: Ingest) -> list[str]:
    """A lighthouse that is tagged coast and towers, and a bakery that is tagged shops."""
    return [
        ingest(LIGHTHOUSE, title="Bavoke", tags=("coast", "towers")).document_id,
        ingest(BAKERY, tags=("shops",)).document_id,
    ]


def found(api: Api, tag: str) -> set[str]:
    """The documents that a search by the tag finds."""
    assert list(find_violations()) == []
    return {each["document_id"] for each in api.search(tags=[tag], top_k=50)}


def key_of(name: str) -> int:
    return Tag.objects.get(name=name).pk


def test_tags_are_listed_with_their_counts_and_lead_to_their_documents(
    admin_client: Client, documents: list[str]
) -> None:
    page = admin_client.get(reverse("admin:corpus_tag_changelist")).content.decode()
    listed = f"/admin/corpus/document/?tags__id__exact={key_of('coast')}"
    assert f'href="{listed}">1</a>' in page
    assert ">Bavoke<" in (shown := admin_client.get(listed).content.decode())
    assert str(documents[1]) not in shown


def test_a_renamed_tag_is_found_by_its_new_name(
    admin_client: Client, api: Api, documents: list[str]
) -> None:
    url = reverse("admin:corpus_tag_change", args=[key_of("coast")])
    assert admin_client.post(url, {"name": " Sea  Side"}).status_code == 302
    assert found(api, "sea side") == {documents[0]}
    assert found(api, "coast") == set()


def test_a_tag_cannot_take_the_name_of_another(admin_client: Client, documents: list[str]) -> None:
    url = reverse("admin:corpus_tag_change", args=[key_of("coast")])
    assert "already exists" in admin_client.post(url, {"name": "SHOPS"}).content.decode()
    assert Tag.objects.filter(name="coast").exists()


@pytest.mark.parametrize("into", ["shops", "places"], ids=["one of them", "a new one"])
def test_merged_tags_are_found_by_the_one_that_is_left(
    run: Run, api: Api, documents: list[str], into: str
) -> None:
    run("tag", "merge", [key_of("coast"), key_of("shops"), key_of("towers")], into.upper())
    assert found(api, into) == set(documents)
    assert found(api, "coast") == set()
    assert list(Tag.objects.values_list("name", flat=True)) == [into]


def test_a_merge_leaves_the_tags_of_others(run: Run, api: Api, documents: list[str]) -> None:
    run("tag", "merge", [key_of("coast")], "shops")
    assert found(api, "towers") == {documents[0]}
    assert found(api, "shops") == set(documents)


def test_a_tag_is_put_on_documents_in_bulk(run: Run, api: Api, documents: list[str]) -> None:
    page = run("document", "add_tag", documents, " Harbour")
    assert "2 documents now have the tag" in page
    assert found(api, "harbour") == set(documents)
    assert found(api, "coast") == {documents[0]}


def test_a_tag_is_taken_off_documents_in_bulk(run: Run, api: Api, documents: list[str]) -> None:
    assert "1 documents no longer have the tag" in run("document", "remove_tag", documents, "coast")
    assert found(api, "coast") == set()
    assert found(api, "towers") == {documents[0]}


@pytest.mark.parametrize(("tag", "said"), [(" ", "Enter a tag"), ("x" * 65, "Run")])
def test_an_action_without_a_usable_tag_changes_nothing(
    run: Run, documents: list[str], tag: str, said: str
) -> None:
    before = ChunkTag.objects.count()
    assert said in run("document", "add_tag", documents, tag)
    assert (ChunkTag.objects.count(), Tag.objects.count()) == (before, 3)


def test_who_may_only_look_may_not_tag(
    client: Client, django_user_model: Any, documents: list[str]
) -> None:
    reader = django_user_model.objects.create_user("ida", is_staff=True)
    reader.user_permissions.set(_views())
    client.force_login(reader)
    url = reverse("admin:corpus_document_changelist")
    client.post(url, {"action": "add_tag", "_selected_action": documents, "tag": "harbour"})
    assert not Tag.objects.filter(name="harbour").exists()


def _views() -> Any:
    from django.contrib.auth.models import Permission  # noqa: PLC0415

    return Permission.objects.filter(codename__in=["view_document", "view_tag"])


def test_a_deleted_tag_leaves_its_documents(
    run: Run, admin_client: Client, api: Api, documents: list[str]
) -> None:
    url = reverse("admin:corpus_tag_delete", args=[key_of("coast")])
    admin_client.post(url, {"post": "yes"})
    assert found(api, "coast") == set()
    assert Document.objects.count() == 2


def test_a_tag_is_exported_as_it_was_put_on(run: Run, documents: list[str]) -> None:
    run("document", "add_tag", documents[:1], "harbour")
    exported = json.loads(run("document", "export", documents[:1]))
    assert sorted(exported["tags"]) == ["coast", "harbour", "towers"]
