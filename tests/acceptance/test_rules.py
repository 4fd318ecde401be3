"""Rules as people and programs keep them: by REST, on pages, in the admin, at the terminal."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.catalogue import create_collection, delete_collection
from corpus.endpoints import Cost
from corpus.invariants import find_violations
from corpus.jobs.run import run_job_slice
from corpus.models import Document, Job, JobItem, Rule
from corpus.rules import add_rule, save_configured_rules
from pkb.http.endpoint_lookup import find_endpoint
from qa.checks import check_rules
from tests.support.client import Api, upload
from tests.support.commands import refusal, run
from tests.support.documents import BAKERY, LIGHTHOUSE, Ingest

pytestmark = pytest.mark.usefixtures("cheap_model")

TOWERS = {"name": "towers", "words": ["lighthouse"], "tags": ["tower"]}


def tags() -> set[str]:
    return set(Document.objects.exclude(tags=None).values_list("tags__name", flat=True))


def test_a_rule_is_kept_read_changed_and_removed_by_rest(api: Api) -> None:
    made = api.post("/rules", {**TOWERS, "path": "a/*"})
    assert made.status_code == 201
    rule = made.json()
    assert rule.pop("job_ids") == []
    assert (rule["words"], rule["title"], rule["is_set"]) == (["lighthouse"], [], False)
    url = f"/rules/{rule['id']}"
    assert api.get("/rules").json() == {"results": [rule], "next": None}
    changed = api.patch(url, {"path": "", "tags": ["Beacon"]}).json()
    assert (changed["path"], changed["tags"], changed["words"]) == ("", ["beacon"], ["lighthouse"])
    assert api.delete(url).status_code == 204
    assert api.delete(url).json()["error"] == "rule_not_found"


@pytest.mark.parametrize(
    ("change", "status", "error", "field"),
    [
        ({"words": []}, 400, "invalid_input", "path"),
        ({"words": ["a" * 201]}, 400, "invalid_input", "words.0"),
        ({"words": "lighthouse"}, 400, "invalid_input", "words"),
        ({"path": "*a" * 11}, 400, "invalid_input", "path"),
        ({"apply": "yes"}, 400, "invalid_input", "apply"),
        ({"collection": "nowhere"}, 404, "collection_not_found", None),
        ({}, 409, "rule_exists", None),
    ],
)
def test_what_cannot_be_kept_is_refused(
    api: Api, change: dict[str, Any], status: int, error: str, field: str | None
) -> None:
    add_rule(TOWERS)
    reply = api.post("/rules", {**TOWERS, **change})
    body = reply.json()
    assert (reply.status_code, body["error"]) == (status, error)
    assert field is None or body["errors"][0]["field"] == field
    assert Rule.objects.count() == 1


def test_a_rule_is_tried_and_then_applied_by_rest(api: Api) -> None:
    stored = api.ingest(LIGHTHOUSE, title="Bavoke", source_uri="https://a.example/b")
    api.ingest(BAKERY)
    tried = api.post("/rules/try", TOWERS).json()
    assert (tried["matching_count"], tried["changing_count"]) == (1, 1)
    assert tried["documents"] == [
        {
            "document_id": stored.document_id,
            "title": "Bavoke",
            "collection": "default",
            "file_path": "",
            "source_uri": "https://a.example/b",
            "new_tags": ["tower"],
        }
    ]
    assert tags() == set()
    (job_id,) = api.post("/rules", {**TOWERS, "apply": True}).json()["job_ids"]
    assert run_job_slice(Job.objects.get(pk=job_id).pk)
    assert tags() == {"tower"}
    assert (
        find_endpoint("POST", "/rules/try").cost
        == find_endpoint("POST", "/ui/rules/new").cost
        == Cost.SEARCH
    )


def test_what_is_sent_is_known_by_its_name_and_told_where_it_went(
    client: Client, uploads: Path
) -> None:
    create_collection("coast")
    add_rule({"name": "a", "path": "Otter*.md", "collection": "coast", "tags": ["note"]})
    file = SimpleUploadedFile("Ottermole.md", LIGHTHOUSE.encode())
    sent = client.post("/ingest", {"file": file, "tags": "old"}).json()
    assert (sent["tags"], sent["collection"]) == (["old", "note"], "coast")
    kept = Document.objects.get().kept_file
    assert (uploads / kept).read_bytes() == LIGHTHOUSE.encode()


def test_an_upload_goes_where_a_rule_says_and_leaves_with_it(
    client: Client, uploads: Path, django_capture_on_commit_callbacks: Any
) -> None:
    create_collection("coast")
    add_rule({"name": "a", "path": "*.md", "collection": "coast", "tags": ["note"]})
    job = upload(client, "Ottermole.md", LIGHTHOUSE.encode())
    assert run_job_slice(job.pk)
    document = Document.objects.get()
    assert (document.collection.name, tags()) == ("coast", {"note"})
    assert JobItem.objects.get().document_id == document.pk
    assert list(find_violations()) == []
    with django_capture_on_commit_callbacks(execute=True):
        delete_collection("coast")
    job.refresh_from_db()
    assert "Ottermole" not in f"{job.arguments} {list(JobItem.objects.values())}"
    assert list(uploads.iterdir()) == []


def shown(client: Client, url: str, **sent: str) -> str:
    reply = client.post(url, sent, follow=True) if sent else client.get(url)
    return reply.content.decode()


def test_a_rule_is_tried_and_kept_on_its_page(client: Client, ingest: Ingest) -> None:
    ingest(LIGHTHOUSE, title="Bavoke <b>")
    assert 'href="/ui/rules"' in shown(client, "/ui/library")
    said = {"name": "Towers & more", "words": "lighthouse, green book", "tags": "tower"}
    page = shown(client, "/ui/rules/new", **said, act="try")
    assert "Matches 1 document; 1 would get a tag" in page
    assert "Bavoke &lt;b&gt;" in page
    assert 'value="lighthouse, green book"' in page
    assert (Rule.objects.count(), tags()) == (0, set())
    page = shown(client, "/ui/rules/new", **said, act="apply")
    assert '<span class="figures">changed</span>' in page
    page = shown(client, "/ui/rules")
    assert "Towers &amp; more" in page
    assert "“green book”" in page
    assert tags() == {"tower"}
    kept = Rule.objects.get()
    assert "Matches 1 document; 0 would get a tag" in shown(client, f"/ui/rules/{kept.pk}")
    shown(client, f"/ui/rules/{kept.pk}", **{**said, "words": "basalt"}, act="keep")
    kept.refresh_from_db()
    assert kept.words == ["basalt"]
    client.post(f"/ui/rules/{kept.pk}/delete")
    assert "No rules yet" in shown(client, "/ui/rules")


def test_a_page_says_what_is_wrong_and_keeps_what_was_written(client: Client) -> None:
    said = {"name": "a", "path": "*a" * 11, "tags": "b", "act": "keep"}
    reply = client.post("/ui/rules/new", said)
    page = reply.content.decode()
    assert (reply.status_code, "Must have at most 10 stars" in page) == (400, True)
    assert f'value="{"*a" * 11}" maxlength="500"' in page
    assert 'aria-invalid="true"' in page


@pytest.fixture
def set_rule(settings: Any, tmp_path: Path) -> Rule:
    settings.PKB_RULES = tmp_path / "rules.toml"
    settings.PKB_RULES.write_text(
        '[[rules]]\nname = "of the file"\nwords = "lighthouse"\ntags = "tower"\n'
    )
    save_configured_rules()
    return Rule.objects.get()


def test_a_rule_of_the_file_is_only_shown(
    client: Client, admin_client: Client, api: Api, set_rule: Rule
) -> None:
    assert "PKB_RULES" in shown(client, "/ui/rules")
    page = shown(client, f"/ui/rules/{set_rule.pk}")
    assert "Edit it there" in page
    assert 'name="words"' not in page
    assert client.post(f"/ui/rules/{set_rule.pk}/delete").status_code == 409
    assert api.patch(f"/rules/{set_rule.pk}", {"name": "b"}).status_code == 409
    admin_page = shown(admin_client, f"/admin/corpus/rule/{set_rule.pk}/change/")
    assert "of the file" in admin_page
    assert 'name="words"' not in admin_page
    listed = {"action": "delete_selected", "_selected_action": str(set_rule.pk), "post": "yes"}
    shown(admin_client, "/admin/corpus/rule/", **listed)
    assert Rule.objects.get() == set_rule


def test_a_wrong_file_stops_the_start(settings: Any, tmp_path: Path) -> None:
    settings.PKB_RULES = tmp_path / "rules.yaml"
    settings.PKB_RULES.write_text("- name: a\n  tags: b\n")
    (error,) = check_rules()
    assert "rules.yaml: rule 1 ('a'): path: Enter at least one condition" in error.msg
    assert "rule 1" in refusal("worker")[0]
    assert "rule 1" in refusal("rules", "--try", settings.PKB_RULES)[0]


def test_rules_are_listed_tried_and_applied_at_the_terminal(
    ingest: Ingest, set_rule: Rule, tmp_path: Path
) -> None:
    ingest(LIGHTHOUSE, title="Bavoke", tags=("mine",))
    ingest(BAKERY, title="Lindow")
    change = (
        '[{"name": "shops", "title": ["lindow"], "words": ["bread", "caraway"], "tags": "shop"}]'
    )
    (tmp_path / "new.json").write_text(change)
    out, _, code = run("rules")
    assert code == 0
    assert out.splitlines() == [
        "of the file (PKB_RULES): words lighthouse -> tower",
        "    1 documents, 0 would get tags",
        "1 rules",
    ]
    out, _, _ = run("rules", "--try", tmp_path / "new.json")
    assert out.splitlines() == [
        "shops: title lindow, words bread + caraway -> shop",
        "    1 documents, 1 would get tags",
        "    Lindow: shop",
        "1 rules",
    ]
    assert tags() == {"mine", "tower"}
    out, _, _ = run("rules", "--try", tmp_path / "new.json", "--apply")
    assert out.splitlines()[-1] == "1 documents tagged"
    assert tags() == {"mine", "tower", "shop"}
    assert Rule.objects.get() == set_rule


def test_rules_are_kept_tried_and_applied_in_the_admin(
    admin_client: Client, ingest: Ingest
) -> None:
    ingest(LIGHTHOUSE)
    said = {"name": "towers", "words": "Lighthouse,green  book", "tags": "Tower"}
    wrong = shown(admin_client, "/admin/corpus/rule/add/", **{**said, "words": ""})
    assert "a path, title, words or sender" in wrong
    shown(admin_client, "/admin/corpus/rule/add/", **said)
    kept = Rule.objects.get()
    assert (kept.words, kept.tags) == (["Lighthouse", "green book"], ["tower"])
    chosen = {"_selected_action": str(kept.pk)}
    page = shown(admin_client, "/admin/corpus/rule/", action="try_them", **chosen)
    assert "1 documents, 1 would get tags" in page
    shown(admin_client, "/admin/corpus/rule/", action="apply_them", **chosen)
    assert run_job_slice(Job.objects.get().pk)
    assert tags() == {"tower"}
