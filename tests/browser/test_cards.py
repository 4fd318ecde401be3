"""Passages that are shown beside an answer, or in place of one."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from qa.notices import NOTHING_NEAR, UNSURE
from tests.browser.site import Site, assert_accessible
from tests.browser.test_flows import NARROW, UNANSWERABLE, ask

pytestmark = pytest.mark.slow

HANDBOOK = """# Harbour of Bavoke

## Moorings

Boats are moored by the harbour office, which keeps the list of berths. The fees are these:

| Boat | Summer | Winter |
|---|---|---|
| Dinghy | 12 crowns | 8 crowns |
| Ketch | 40 crowns | 31 crowns |
| Trawler | 95 crowns | 95 crowns |

A berth is paid for on the first day of the month, at the window of the office or by letter.

## Before leaving the harbour

Check these things, in this order:

- the **weather** in the green book of the lighthouse
- the lamps, both of them
- the anchor and its chain

Nobody leaves while the red ball hangs on the mast.

## The slipway

The slipway is open from six in the morning until dusk. Who wants to use it asks the slipmaster,
who is found at the crane. Boats longer than nine metres are hauled by the winch, which two people
must serve.
"""


UNSURE_QUESTION = "Who may use the slipway at night?"
ANSWERED = "What must be checked before leaving the harbour?"


@pytest.fixture(scope="module", autouse=True)
def handbook(site: Site) -> None:
    reply = site.client.post("/ingest", files={"file": ("harbour.md", HANDBOOK.encode())})
    assert reply.status_code == 201, reply.text


def cards_of(page: Page) -> Locator:
    return page.locator(".turn").last.locator(".card")


def test_an_unsure_answer_shows_a_card_for_each_place_the_first_one_open(page: Page) -> None:
    page.goto("/ui/ask")
    ask(page, UNSURE_QUESTION)
    expect(page.get_by_text(UNSURE)).to_be_visible()
    expect(page.locator(".confidence")).to_have_count(0)
    cards = cards_of(page)
    first = cards.first
    expect(first).to_have_attribute("open", "")
    for words in ("Harbour of Bavoke", "The slipway"):
        expect(first.locator("summary")).to_contain_text(words)
    expect(first.locator("mark")).to_contain_text("The slipway is open from six")
    expect(first.get_by_text("Boats longer than nine metres")).to_be_visible()
    expect(cards).not_to_have_count(1)
    for card in cards.all()[1:]:
        expect(card).not_to_have_attribute("open", re.compile(""))
        expect(card.locator(".begin")).to_be_visible()
    names = cards.locator("summary").evaluate_all("all => all.map((each) => each.innerText)")
    assert len(set(names)) == len(names)


def test_lists_and_tables_in_a_card_are_no_cards_of_their_own(page: Page) -> None:
    page.set_viewport_size(NARROW)
    page.goto("/ui/ask")
    ask(page, UNSURE_QUESTION)
    first = cards_of(page).first
    expect(first.locator("li")).not_to_have_count(0)
    expect(first.locator("td")).not_to_have_count(0)
    drawn = "all => all.map((each) => [getComputedStyle(each).borderRadius, each.tagName])"
    assert {radius for radius, _ in first.locator("li, td").evaluate_all(drawn)} == {"0px"}
    lists = first.locator("li").evaluate_all("all => all.map((e) => getComputedStyle(e).border)")
    assert all(border.startswith("0px") for border in lists)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert_accessible(page)


def test_what_nothing_is_about_folds_passages_that_share_words(page: Page) -> None:
    page.goto("/ui/ask")
    ask(page, UNANSWERABLE)
    expect(page.get_by_text(NOTHING_NEAR)).to_be_visible()
    expect(cards_of(page).first).to_be_hidden()
    page.get_by_text("Passages with some of the same words").click()
    expect(cards_of(page).first.get_by_role("button", name="Mark as answer")).to_be_visible()


def test_an_answer_folds_more_passages_that_it_does_not_cite(page: Page) -> None:
    page.goto("/ui/ask")
    ask(page, ANSWERED)
    turn = page.locator(".turn")
    expect(turn.locator(".confidence")).to_have_text(re.compile(r"^Checked quote: .+ \d+ %$"))
    expect(cards_of(page).first).to_be_hidden()
    # The arrows go by what is folded.
    page.locator("#main").press("ArrowLeft")
    expect(turn.locator(".answer-body [data-cite]").last).to_be_focused()
    turn.get_by_text("More passages").click()
    expect(cards_of(page).first).to_be_visible()
    expect(turn.get_by_text("the anchor and its chain")).to_have_count(1)
    page.locator("#main").press("ArrowLeft")
    expect(cards_of(page).last.locator("[data-cite]")).to_be_focused()


def test_a_passage_is_marked_as_the_answer_once(page: Page, site: Site) -> None:
    page.goto("/ui/ask")
    ask(page, UNSURE_QUESTION)
    first = cards_of(page).first
    button = first.get_by_role("button", name="Mark as answer")
    with page.expect_request("**/feedback") as sent:
        button.click()
    expect(first.get_by_text("Thank you for your feedback.")).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")
    body = sent.value.post_data_json or {}
    answer_id = page.locator(".turn").get_attribute("data-answer")
    (close, *_) = site.client.get(f"/answers/{answer_id}").json()["closest"]
    span = {name: close["passage"][name] for name in ("start_char", "end_char")}
    assert body == {"rating": "up", "passage": {"document_id": close["document_id"], **span}}
    sent_again: list[str] = []
    page.on("request", lambda request: sent_again.append(request.url))
    button.click()
    first.get_by_role("button", name="Open source").click()
    expect(page.locator("#source #passage")).to_be_visible()
    assert not [url for url in sent_again if url.endswith("/feedback")]


def test_a_passage_that_cannot_be_marked_says_why(watched: tuple[Page, object]) -> None:
    page, _ = watched
    page.goto("/ui/ask")
    ask(page, UNSURE_QUESTION)
    button = cards_of(page).first.get_by_role("button", name="Mark as answer")
    button.evaluate("(button) => { button.dataset.endChar = '1'; button.dataset.startChar = '0'; }")
    button.click()
    expect(cards_of(page).first.locator(".said")).to_contain_text("none of the passages")
    expect(button).to_have_attribute("aria-pressed", "false")
