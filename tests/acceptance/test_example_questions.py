"""Questions that the first page suggests: the documents raise them, and hold their answers."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from corpus.models import Collection
from qa import models
from qa.example_questions import suggest_questions
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE

FAQ = """# Harbour FAQ

## How do I change the default port of the harbour tool?

Set HARBOUR_PORT in the environment, and restart the service. The default is 8300, as it has been
since the first release of the tool in the spring of that year.

## Is it free?

It is.

## Where does the harbour tool keep its backups?

Backups are kept below /var/lib/harbour for thirty days, and are removed by the nightly task after
that, unless the retention is set to another number of days by whoever runs it.
"""


def upload(api: Api) -> None:
    file = SimpleUploadedFile("faq.md", FAQ.encode())
    assert api.post("/ingest", {"file": file}, format="multipart").status_code == 201


def test_examples_are_questions_of_the_documents_that_were_not_refused(
    collection: Collection, client: Client, api: Api
) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke lighthouse")
    upload(api)
    port, backups, *about = suggest_questions([collection], count=9)
    assert port == "How do I change the default port of the harbour tool?"
    assert backups == "Where does the harbour tool keep its backups?"
    assert set(about) == {"What is Harbour FAQ about?", "What is Bavoke lighthouse about?"}
    assert suggest_questions([collection], count=1) == [port]
    assert f'data-ask="{port}"' in client.get("/ui/ask").content.decode()
    models.Answer.objects.create(
        collection=collection, question=port, confidence=0, kind="abstained"
    )
    assert port not in suggest_questions([collection], count=9)


def test_every_example_is_answered(collection: Collection, api: Api) -> None:
    api.ingest(LIGHTHOUSE, title="Bavoke lighthouse")
    upload(api)
    for question in suggest_questions([collection], count=9):
        assert api.answer(question)["kind"] == "answer"


def test_an_empty_collection_has_no_examples(collection: Collection) -> None:
    assert suggest_questions([collection], count=4) == []
