"""Amounts of money in texts: those of a document are found, and doubtful ones are not."""

from decimal import Decimal

import pytest

from corpus.amounts import AmountRange, compile_noun, find_amounts, find_date, parse_range

ITEMS = """Invoice 17

Date: 2024-03-17

| Item | Qty | Amount (EUR) |
| --- | --- | --- |
| Pens | 5 | 100.00 |
| Shipping | 1 | 19.00 |
| {label} | 6 | {total} |

Please pay by 1 April 2024."""
ONLY_ROW = "| Invoice | Date | Total |\n| --- | --- | --- |\n| 17 | 2024-03-17 | 119.00 EUR |"
RECORD = "Invoice: 17; Date: 2024-03-01; Total (EUR): 1190.00"


@pytest.mark.parametrize(
    ("text", "value", "quote"),
    [
        ("Invoice 7 from Acme: 119.00 EUR", "119.00 EUR", "119.00 EUR"),
        ("Subtotal: 100.00 EUR\n\nVAT: 19.00 EUR\n\nTotal: 119.00 EUR", "119.00 EUR", "119.00 EUR"),
        ("Pens 5 x 20.00 EUR\nTotal incl. 19% VAT: EUR 119.00", "119.00 EUR", "EUR 119.00"),
        ("The parties agree on a total price of 12,000 EUR.", "12000 EUR", "12,000 EUR"),
        ("Fee: £5.\nContract value: £1.5 million", "1500000.0 GBP", "£1.5 million"),
        ("Fee: $5.\n**Amount due** ........ $1,234.50", "1234.50 USD", "$1,234.50"),
        ("Fee: 5 €\nRechnungsbetrag: 1.190,00 €", "1190.00 EUR", "1.190,00 €"),
        ("Der Vertrag und das Datum. Vertragswert: 12.000 EUR", "12000 EUR", "12.000 EUR"),
        ("Fee: CHF 5.-\nTotal: CHF 1'200.50", "1200.50 CHF", "CHF 1'200.50"),
        ("Total: A$500.00", "500.00 AUD", "A$500.00"),
        ("Total: 12 hours. The fee is 800 US dollars.", "800 USD", "800 US dollars"),
        ("Paid 1,190.00 EUR. We received 1,190.00 EUR.", "1190.00 EUR", "1,190.00 EUR"),
        (ITEMS.format(label="Total", total="119.00"), "119.00 EUR", "119.00"),
        (ONLY_ROW, "119.00 EUR", "119.00 EUR"),
        (RECORD, "1190.00 EUR", "1190.00"),
        ("Invoice: 17; Price EUR: 12,50", "12.50 EUR", "12,50"),
        ("Total: 100 EUR; up to 20 EUR off.", "100 EUR", "100 EUR"),
    ],
)
def test_the_amount_of_a_document_is_found(text: str, value: str, quote: str) -> None:
    (found,) = find_amounts(text)
    assert f"{found.value} {found.currency}" == value
    assert text[slice(*found.span)] == quote


@pytest.mark.parametrize(
    "text",
    [
        "No amount at all, on 17 pages.",
        "Pens 20.00 EUR and paper 5.00 EUR.",
        "Total: 500",  # no currency
        "Total: 500 EUR 17",
        "Total: 12.000 EUR",  # twelve, or twelve thousand
        "Der Vertrag und das Datum. Total: 12,000 EUR",
        "Der Vertrag und das Datum. Fee: 12.50 EUR. Total: 12.000 EUR",
        "Total: 5,00,000 INR",
        "Fee 5 200 EUR",
        "Total: $500 (not CAD)",
        "Total: -500 EUR",
        "Total: -$500",
        "Total: (500 EUR)",
        "Total: 500.00- EUR, or $5",
        "Total: 500-600 EUR",
        "Total: about 500 EUR",
        "The total fee shall not exceed 12,000 EUR.",
        "They pay a maximum of 12,000 EUR.",
        "80 EUR per hour",
        "Shipping: 5 EUR",
        "Price: 5 EUR, in thousands",
        "Total\n\n500 EUR",
        "Total net: 100 EUR\nTotal: 119 EUR",
        f"{RECORD}\n\n{RECORD}",
        "| Invoice | Total |\n| --- | --- |\n| 17 | 119 EUR |\n| 18 | 119 EUR |",
        ITEMS.format(label="Total", total="-119.00"),
        ITEMS.format(label="Sum of these", total="119.00"),
        ITEMS.format(label="Total", total="").replace("6", ""),
        "| Item | Price |\n| --- | --- |\n| Total | 5 |",
    ],
)
def test_what_may_be_read_in_two_ways_is_no_amount(text: str) -> None:
    assert find_amounts(text) == []


def test_readings_with_other_labels_are_all_given() -> None:
    found = find_amounts("Total: 500 EUR\nPaid: 100 EUR\nAmount due: 400 EUR")
    stated = [(each.label, int(each.value)) for each in found]
    assert stated == [("total", 500), ("amount due", 400)]


@pytest.mark.parametrize(
    ("text", "low", "high", "with_bounds", "currency"),
    [
        ("over 500", "500", None, False, ""),
        ("Over 10,000 eur", "10000", None, False, "EUR"),
        ("more than 5k USD", "5000", None, False, "USD"),
        ("at least $1,000.50", "1000.50", None, True, "USD"),
        ("under €1.000,50", None, "1000.50", False, "EUR"),
        ("no more than 100 pounds sterling", None, "100", True, "GBP"),
        ("between 200 EUR and 100 EUR", "100", "200", True, "EUR"),
        ("exactly 2 million euros", "2000000", "2000000", True, "EUR"),
    ],
)
def test_a_comparison_is_read(
    text: str, low: str | None, high: str | None, with_bounds: bool, currency: str
) -> None:
    lowest, highest = (None if each is None else Decimal(each) for each in (low, high))
    assert parse_range(text) == AmountRange(lowest, highest, with_bounds, currency)


@pytest.mark.parametrize(
    "text",
    ["500", "over", "over 10.000 EUR", "over 5 pages", "between 5 and 6 years", "between 5 EUR",
     "over 5 and 6 EUR", "between 5 EUR and 6 USD", "EUR over 5", "over 5 EUR USD"],
)  # fmt: skip
def test_what_compares_with_no_one_amount_is_no_range(text: str) -> None:
    assert parse_range(text) is None


def test_bounds_are_minded() -> None:
    bounds = {
        "over 5": "6",
        "under 5": "4",
        "at least 5": "5 6",
        "at most 5": "4 5",
        "exactly 5": "5",
    }
    for text, inside in bounds.items():
        wanted = parse_range(text)
        assert wanted is not None
        assert [n for n in (4, 5, 6) if Decimal(n) in wanted] == [*map(int, inside.split())]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Invoice 17 of 17 March 2024", "2024-03-17"),
        ("Date: 2024-03-17. Due: 2024-04-17", "2024-03-17"),
        ("Rechnungsdatum: 17.03.2024, zahlbar bis 17.04.2024", "2024-03-17"),
        ("This contract, dated March 17th, 2024, ends on 2025-01-01.", "2024-03-17"),
        ("| Date | Total |\n| --- | --- |\n| 2024-03-17 | 5 EUR |", "2024-03-17"),
        ("Date: 03/04/2024", ""),  # March, or April
        ("Due date: 2024-03-17", ""),
        ("On 2024-03-17 and on 2024-03-18", ""),
        ("No date", ""),
    ],
)
def test_the_date_that_a_text_states_is_found(text: str, value: str) -> None:
    found = find_date(text)
    assert (found.value if found else "") == value


@pytest.mark.parametrize(
    ("noun", "name", "is_named"),
    [
        ("invoices", "a/Invoice_17.pdf", True),
        ("invoice", "2024 invoices", True),
        ("purchase orders", "purchase-order17", True),
        ("policies", "Policy of Acme", True),
        ("Rechnungen", "Rechnung 5", True),
        ("boxes", "box", True),
        ("invoices", "reinvoiced", False),
        ("orders", "border", False),
    ],
)
def test_a_noun_names_in_singular_and_plural(noun: str, name: str, is_named: bool) -> None:
    assert bool(compile_noun(noun).search(name)) is is_named
