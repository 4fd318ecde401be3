"""A question that asks to calculate with cells: asked, stored and verified."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from corpus.invariants import find_violations
from tests.support.client import Api

REPORT = """# Sales of Acme

| Years ended | 2019 | 2018 |
| --- | --- | --- |
| Boats | $ 30 | $ 20 |
| Oars | 5 | 4 |
"""


def test_a_change_is_calculated_from_quoted_cells(api: Api) -> None:
    api.ingest(REPORT)
    asked = api.ask("What was the percentage change in boats from 2018 to 2019?")
    assert asked["answer"] == (
        "50% = ($ 30 − $ 20) / $ 20\n\n- Boats, 2019: $ 30\n- Boats, 2018: $ 20"
    )
    assert [each["quote"] for each in asked["citations"]] == ["$ 30", "$ 20"]
    assert not list(find_violations())


def test_a_difference_of_two_rows_is_calculated(api: Api) -> None:
    api.ingest(REPORT)
    asked = api.ask("What is the difference between boats and oars in 2019?")
    assert asked["answer"].startswith("$25 = $ 30 − 5\n")


@pytest.mark.parametrize("question", ["What is the change in rudders from 2018 to 2019?"])
def test_without_the_row_nothing_is_calculated(api: Api, question: str) -> None:
    api.ingest(REPORT)
    assert " − " not in api.ask(question)["answer"]


def test_the_highest_row_of_a_long_sheet_is_found_wherever_it_is(api: Api) -> None:
    rows = [f"Lamp of kind {number},{(number + 50) % 101},{number}" for number in range(101)]
    sheet = "\n".join(["Product,Price,Stock", *rows])
    form = {"file": SimpleUploadedFile("lamps.csv", sheet.encode())}
    assert api.post("/ingest", form, format="multipart").status_code == 201
    asked = api.ask("Which product has the highest price?")
    best = next(row.split(",")[0] for row in rows if row.split(",")[1] == "100")
    assert asked["answer"].startswith(f"{best}: 100 = max(100, 99, 98, \u2026 101 rows)\n")
    assert [each["quote"] for each in asked["citations"]] == ["100", "99", "98"]
    assert not list(find_violations())
    assert api.ask("Which product has the highest weight?")["answerer"] != "table"
