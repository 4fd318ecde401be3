"""Rules tag what comes in, by every way, and what is there, by the same conditions."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction

from accounts.authentication import principal_of
from corpus.access.principal import acting_as
from corpus.catalogue import create_collection
from corpus.errors import InvalidInput, NoRoomLeft, RuleIsSet
from corpus.ingestion.chunking import NewChunk, cut_chunks
from corpus.ingestion.ingest import reingest_document
from corpus.ingestion.submission import Attributes
from corpus.invariants import find_violations
from corpus.jobs.kinds.edit_job import start_tagging
from corpus.models import Chunk, Collection, Document, Rule
from corpus.rules import add_rule, all_rules, change_rule, delete_rule, save_configured_rules
from corpus.rules.conditions import validate_rule
from corpus.rules.matching import (
    RuleSubject,
    matching_documents,
    matching_rules,
    matching_rules_of_new,
    preview_rule,
)
from corpus.tags import change_tags
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest, ingest_file, ingest_text
from tests.support.jobs import run_job
from tests.support.sync_tree import sync_tree

pytestmark = pytest.mark.usefixtures("cheap_model")

MAIL = (
    "From: Ann Lee <ann.lee@example.org>\nTo: b@c.example\nSubject: Rechnung_2026-03.pdf\n\n"
    "The payments are due at the end of the month."
)
TEXTS = {
    "coast": Attributes(title="Coast", source_uri="https://a.example/sea/50%_off"),
    "bread": Attributes(title="bread-of-lindow.md", metadata={"from": "shop@bread.example"}),
    "tokyo": Attributes(title="東京の灯台"),
}
CONTENTS = {
    "coast": LIGHTHOUSE,
    "bread": BAKERY,
    "tokyo": f"海の灯台と東京湾の夜。\n\n{LIGHTHOUSE}",
}


def rule(**said: Any) -> Rule:
    return Rule(**validate_rule({"name": "a rule", "tags": ["found"], **said}))


def tags_of(document: Document | str) -> set[str]:
    return set(
        Document.objects.get(pk=getattr(document, "pk", document)).tags.values_list(
            "name", flat=True
        )
    )


def take_in(collection: Collection, tmp_path: Path) -> dict[str, UUID]:
    stored = {
        name: ingest_text(CONTENTS[name], collection=collection, attributes=attributes)
        for name, attributes in TEXTS.items()
    }
    stored["mail"] = ingest_file(
        MAIL.encode(), filename="a.eml", collection=collection, attributes=Attributes()
    )
    folder = tmp_path / "Inbox"
    folder.mkdir()
    (folder / "note.md").write_text("Of a quarry in the north, and of nothing else at all.")
    sync_tree(folder, collection=collection)
    keys = {name: UUID(each.document_id) for name, each in stored.items()}
    return {**keys, "file": Document.objects.exclude(file_path="").get().pk}


def rules_of_values(document: Document, rules: list[Rule]) -> list[Rule]:
    """The rules that match a document's values, as if it were not stored yet."""
    subject = RuleSubject(
        collection=document.collection,
        title=document.title,
        metadata=document.metadata,
        file_path=document.file_path,
        source_uri=document.source_uri,
        upload_name="",
    )
    passages = [f"{chunk.context} {chunk.text}" for chunk in document.chunks.all()]
    return matching_rules_of_new(subject, rules, passages=passages)


CASES: list[tuple[dict[str, Any], set[str]]] = [
    ({"path": "https://a.example/*"}, {"coast"}),
    ({"path": "sea/50%_off"}, {"coast"}),
    ({"path": "sea/50?_off"}, {"coast"}),
    ({"path": "ea/50%_off"}, set()),
    ({"path": "*.MD"}, {"file"}),
    ({"path": "note.md"}, {"file"}),
    ({"path": "inbox/*.md"}, {"file"}),
    # Where that lies on this machine is shown to nobody, and not to be asked for.
    ({"path": "*/inbox/*"}, set()),
    ({"title": ["lindow", "breads"]}, {"bread"}),
    ({"title": ["lindow bread"]}, set()),
    ({"title": ["rechnung", "2026"]}, {"mail"}),
    ({"title": ["灯台"]}, {"tokyo"}),
    ({"words": ["lighthouses"]}, {"coast", "tokyo"}),
    ({"words": ["Orsolya Quill", "green book"]}, {"coast", "tokyo"}),
    ({"words": ["Quill Orsolya"]}, set()),
    ({"words": ["東京湾"]}, {"tokyo"}),
    ({"words": ["the"]}, set()),
    ({"sender": "*@example.org"}, {"mail"}),
    ({"sender": "ANN lee <*"}, {"mail"}),
    ({"sender": "*@*.example"}, {"bread"}),
    ({"sender": "*"}, {"mail", "bread"}),
    ({"words": ["lighthouse"], "title": ["coast"], "path": "https*"}, {"coast"}),
    ({"words": ["lighthouse"], "title": ["bread"]}, set()),
]


def test_a_rule_is_about_the_same_whether_it_comes_in_or_is_there(
    collection: Collection, tmp_path: Path
) -> None:
    keys = take_in(collection, tmp_path)
    wanted = [{name for name, key in keys.items() if name in names} for _, names in CASES]
    tried = [rule(**said) for said, _ in CASES]
    there = [set(matching_documents(each).values_list("pk", flat=True)) for each in tried]
    assert [{name for name, key in keys.items() if key in found} for found in there] == wanted
    coming: list[set[str]] = [set() for _ in CASES]
    routed: list[set[str]] = [set() for _ in CASES]
    for name, key in keys.items():
        document = Document.objects.get(pk=key)
        for held in matching_rules(document, tried):
            coming[tried.index(held)].add(name)
        for held in rules_of_values(document, tried):
            routed[tried.index(held)].add(name)
    assert coming == routed == wanted


def test_a_rule_of_the_operator_sees_whole_paths(collection: Collection, tmp_path: Path) -> None:
    keys = take_in(collection, tmp_path)
    whole = rule(path=f"{tmp_path}/inbox/*")
    assert not matching_documents(whole).exists()
    whole.is_set = True
    (document,) = matching_documents(whole)
    assert document.pk == keys["file"]
    assert matching_rules(document, [whole]) == [whole]


def test_what_is_taken_in_is_tagged_beside_its_own_tags(ingest: Ingest) -> None:
    add_rule({"name": "a", "words": ["lighthouse"], "tags": ["Tower", "coast"]})
    add_rule({"name": "b", "words": ["basalt"], "tags": ["stone"]})
    stored = ingest(LIGHTHOUSE, tags=("coast", "old"), source_uri="a")
    assert stored.tags == ("coast", "old", "tower", "stone")
    assert tags_of(stored.document_id) == {"coast", "old", "tower", "stone"}
    assert Chunk.objects.tagged(["stone"]).count() == stored.chunk_count
    # A new version is judged anew.
    again = ingest(BAKERY, tags=("old",), source_uri="a")
    assert tags_of(again.document_id) == {"old"}
    assert list(find_violations()) == []


def test_tags_that_were_taken_off_stay_off_when_it_is_embedded_anew(ingest: Ingest) -> None:
    add_rule({"name": "a", "words": ["lighthouse"], "tags": ["tower"]})
    stored = ingest(LIGHTHOUSE)
    change_tags(UUID(stored.document_id), ["mine"])
    reingest_document(Document.objects.get())
    assert tags_of(stored.document_id) == {"mine"}


def test_a_folder_is_tagged_when_a_file_comes_changes_or_moves(
    collection: Collection, tmp_path: Path
) -> None:
    add_rule({"name": "a", "path": "invoices/*", "words": ["lighthouse"], "tags": ["tower"]})
    add_rule({"name": "b", "path": "paid.md", "tags": ["paid"]})
    file = tmp_path / "letter.md"
    file.write_text(LIGHTHOUSE)
    sync_tree(tmp_path, collection=collection)
    document = Document.objects.get()
    assert tags_of(document) == set()
    moved = file.rename(tmp_path / "paid.md")
    job = sync_tree(tmp_path, collection=collection)
    assert job.items.get(outcome="renamed").document_id == document.pk
    assert tags_of(document) == {"paid"}
    # A rule that is changed leaves files alone that are not.
    add_rule({"name": "c", "words": ["lighthouse"], "tags": ["late"]})
    sync_tree(tmp_path, collection=collection)
    assert tags_of(document) == {"paid"}
    moved.write_text(f"{LIGHTHOUSE} It is white.")
    sync_tree(tmp_path, collection=collection)
    assert tags_of(document) == {"paid", "late"}


def test_trying_counts_what_it_would_change_and_changes_nothing(ingest: Ingest) -> None:
    kept = ingest(LIGHTHOUSE, tags=("tower",))
    bare = ingest(f"{LIGHTHOUSE} It is white.", title="White")
    trial = preview_rule(rule(words="lighthouse", tags=["tower", "coast"]))
    assert (trial.matching_count, trial.changing_count) == (2, 2)
    assert {str(document.pk): tags for document, tags in trial.documents} == {
        kept.document_id: ["coast"],
        bare.document_id: ["tower", "coast"],
    }
    only_one = preview_rule(rule(words="lighthouse", tags=["tower"]))
    assert (only_one.matching_count, only_one.changing_count) == (2, 1)
    assert [document.name for document, _ in only_one.documents] == ["White"]
    assert tags_of(bare.document_id) == set()
    assert not Rule.objects.exists()


def test_a_rule_is_applied_to_what_is_there_by_a_job(ingest: Ingest) -> None:
    towers = [ingest(LIGHTHOUSE, tags=("tower",)), ingest(f"{LIGHTHOUSE} White.", tags=("old",))]
    ingest(BAKERY)
    applied = rule(words="lighthouse", tags=["tower"])
    (job,) = start_tagging(applied)
    run_job(job)
    assert (job.total, job.done) == (1, 1)
    assert [tags_of(each.document_id) for each in towers] == [{"tower"}, {"old", "tower"}]
    assert preview_rule(applied).changing_count == 0
    assert start_tagging(applied) == []
    assert list(find_violations()) == []


def test_what_a_rule_has_done_stays_when_it_is_changed_or_goes(ingest: Ingest) -> None:
    kept = add_rule({"name": "a", "words": ["lighthouse"], "tags": ["tower"]})
    stored = ingest(LIGHTHOUSE)
    changed = change_rule(kept.pk, {"tags": ["beacon"]})
    assert (changed.words, changed.tags) == (["lighthouse"], ["beacon"])
    delete_rule(kept.pk)
    assert tags_of(stored.document_id) == {"tower"}


def test_a_new_document_goes_into_the_collection_of_a_rule(
    ingest: Ingest, collection: Collection
) -> None:
    other = create_collection("coast")
    add_rule({"name": "a", "words": ["lighthouse"], "collection": "coast", "tags": ["tower"]})

    def send(text: str, into: Collection = collection, **attributes: Any) -> Any:
        return ingest_text(
            text, collection=into, attributes=Attributes(**attributes), apply_routing=True
        )

    there = ingest(BAKERY, source_uri="a")
    assert send(LIGHTHOUSE).collection == "coast"
    assert send(f"{BAKERY} Now.").collection == "default"
    # What is there stays where it is, and takes its new version there.
    assert send(f"{LIGHTHOUSE} Now.", source_uri="a").document_id == there.document_id
    third = create_collection("third")
    assert send(LIGHTHOUSE, into=third).collection == "third"
    first = send(f"{LIGHTHOUSE} One.", source_uri="b")
    again = send(f"{LIGHTHOUSE} Two.", source_uri="b")
    assert (again.document_id, again.is_new) == (first.document_id, False)
    assert set(other.documents.values_list("tags__name", flat=True)) == {"tower"}
    other.delete()
    assert send(f"{LIGHTHOUSE} Three.").collection == "default"
    assert list(find_violations()) == []


def test_a_routed_document_is_cut_again_only_by_other_settings(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_collection("coast")
    create_collection("shop", chunking={"size": 16})
    add_rule({"name": "a", "words": ["lighthouse"], "collection": "coast"})
    add_rule({"name": "b", "words": ["bakery"], "collection": "shop"})
    cut_by: list[str] = []

    def cut(*arguments: Any, collection: Collection, **others: Any) -> list[NewChunk]:
        cut_by.append(collection.name)
        return cut_chunks(*arguments, collection=collection, **others)

    monkeypatch.setattr("corpus.ingestion.ingest.cut_chunks", cut)
    for text in (LIGHTHOUSE, BAKERY):
        ingest_text(text, collection=collection, attributes=Attributes(), apply_routing=True)
    assert cut_by == ["default", "default", "shop"]
    assert Document.objects.filter(collection__name__in=["coast", "shop"]).count() == 2


def test_a_routed_document_counts_for_its_collections_owner_alone(
    settings: Any, collection: Collection
) -> None:
    settings.PKB_AUTH_REQUIRED = True
    settings.PKB_USER_MAX_DOCUMENTS = 1
    otto = get_user_model().objects.create_user("otto")
    collection.owner = otto
    collection.save()
    create_collection("coast").grants.create(user=otto, role="writer")
    add_rule({"name": "a", "words": ["lighthouse"], "collection": "coast"})

    def send(text: str) -> str:
        return ingest_text(
            text, collection=collection, attributes=Attributes(), apply_routing=True
        ).collection

    with acting_as(principal_of(otto)):
        assert send(BAKERY) == "default"
        with pytest.raises(NoRoomLeft):
            send(f"{BAKERY} Now.")
        assert send(LIGHTHOUSE) == "coast@"


def set_rules(settings: Any, path: Path, text: str) -> None:
    path.write_text(text)
    settings.PKB_RULES = path
    save_configured_rules()


def test_the_rules_of_a_file_hold_and_are_changed_there(
    settings: Any, tmp_path: Path, ingest: Ingest
) -> None:
    add_rule({"name": "a", "words": ["bread"], "tags": ["mine"]})
    path = tmp_path / "rules.yaml"
    set_rules(
        settings, path, "- {name: a, words: lighthouse, tags: tower}\n- {name: b, path: c, tags: d}"
    )
    assert [(each.name, each.is_set) for each in all_rules()] == [
        ("a", False), ("a", True), ("b", True)
    ]  # fmt: skip
    assert tags_of(ingest(LIGHTHOUSE).document_id) == {"tower"}
    held = Rule.objects.get(name="a", is_set=True)
    for act in (lambda: delete_rule(held.pk), lambda: change_rule(held.pk, {"tags": ["x"]})):
        with pytest.raises(RuleIsSet):
            act()
    set_rules(settings, path, "- {name: a, words: lighthouse, tags: beacon}")
    held.refresh_from_db()
    assert held.tags == ["beacon"]
    with pytest.raises(InvalidInput, match="rule 1"):
        set_rules(settings, path, "- {name: a}")
    assert Rule.objects.filter(is_set=True).get().tags == ["beacon"]
    settings.PKB_RULES = None
    assert [each.is_set for each in all_rules()] == [False]
    save_configured_rules()
    assert not Rule.objects.filter(is_set=True).exists()


def test_a_file_is_read_again_if_the_first_document_came_to_nothing(
    settings: Any, tmp_path: Path, ingest: Ingest
) -> None:
    settings.PKB_RULES = tmp_path / "rules.yaml"
    settings.PKB_RULES.write_text("- {name: a, words: lighthouse, tags: tower}")
    with transaction.atomic():
        ingest(BAKERY)
        transaction.set_rollback(True)
    assert tags_of(ingest(LIGHTHOUSE).document_id) == {"tower"}
