# ruff: noqa: E402  (models can be imported once Django is set up)
"""Measure whether standing questions tell of every changed answer, and of no other.

    python benchmarks/standing.py REPOSITORY FOLDER [--commits N]

Replays the last N commits (200) that changed Markdown files below FOLDER of a Git repository, in a
collection of its own. After each, the questions of ``data/evaluation/standing_questions.txt`` are
asked as a worker asks them, and beside it all anew. It needs an installation (PKB_DATA_DIR).

Prints JSON: answers that changed, those told, missed and told wrongly, and the share of questions
that was asked again.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
django.setup()

from django.conf import settings

from corpus.access.principal import SYSTEM, acting_as
from corpus.catalogue import create_collection, delete_collection, delete_document
from corpus.errors import PkbError
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.submission import Attributes, Submission, SubmittedFile
from corpus.models import Collection, Document
from qa.answer_question import answer_question
from qa.context import build_context
from qa.models import Answer, StandingQuestion
from qa.standing_questions import (
    ask_changed_questions,
    comparable_content,
    get_or_create_standing_question,
)

COLLECTION = "standing-benchmark"
QUESTIONS = ROOT / "data" / "evaluation" / "standing_questions.txt"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("folder")
    parser.add_argument("--commits", type=int, default=200)
    options = parser.parse_args()
    collection = Collection.objects.find(COLLECTION)
    if collection is not None:
        delete_collection(COLLECTION)
    collection = create_collection(COLLECTION)
    git = ["git", "-C", str(options.repository)]
    wanted = f"{options.folder}/*.md"
    log = _run(*git, "log", "--format=%H", f"-{options.commits + 1}", "--", wanted)
    first, *commits = log.split()[::-1]
    for path in _run(*git, "ls-tree", "-r", "--name-only", first, options.folder).split():
        if path.endswith(".md"):
            _store(git, first, path, collection)
    questions = QUESTIONS.read_text().splitlines()
    before = {question: _ask(question) for question in questions}
    for question in questions:
        get_or_create_standing_question(before[question].pk)
    ask_changed_questions(should_stop=lambda: False)
    counts = dict.fromkeys(("asked", "asked_again", "changed", "told", "missed", "wrong"), 0)
    previous = first
    for commit in commits:
        changed = _run(*git, "diff", "--name-only", "--no-renames", previous, commit, "--", wanted)
        for path in changed.split():
            _store(git, commit, path, collection)
        previous = commit
        StandingQuestion.objects.update(is_seen=True)
        answers = dict(StandingQuestion.objects.values_list("question", "answer"))
        ask_changed_questions(should_stop=lambda: False)
        for standing in StandingQuestion.objects.all():
            new = _ask(standing.question)
            has_changed = comparable_content(new) != comparable_content(before[standing.question])
            is_told = not standing.is_seen
            counts["asked"] += 1
            counts["asked_again"] += answers[standing.question] != standing.answer_id
            counts["changed"] += has_changed
            counts["told"] += is_told
            counts["missed"] += has_changed and not is_told
            counts["wrong"] += is_told and not has_changed
            before[standing.question] = new
    print(json.dumps({"commits": len(commits), **counts}, indent=1))


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _store(git: list[str], commit: str, path: str, collection: Collection) -> None:
    """Store a file as it is in a commit; delete its document if it is gone."""
    shown = subprocess.run([*git, "show", f"{commit}:{path}"], check=False, capture_output=True)
    if shown.returncode:
        for document in Document.objects.filter(collection=collection, source_uri=path):
            delete_document(document.pk)
        return
    submission = Submission(SubmittedFile(shown.stdout, path), Attributes(source_uri=path))
    try:
        ingest_submission(submission, collection=collection)
    except PkbError as exc:  # a copy of another file
        print(f"{commit[:8]} {path}: {exc}", file=sys.stderr)


def _ask(question: str) -> Answer:
    answered = answer_question(
        question,
        collection=COLLECTION,
        k=settings.PKB_RETRIEVAL_K,
        context=build_context(lm="extractive"),
        route="benchmark",
    )
    return Answer.objects.prefetch_related("citations").get(pk=answered.id)


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
