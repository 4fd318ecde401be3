"""Find the amount of money that a document states as its own: an invoice's total. Pure.

An amount is a number beside a currency, or below one that its column names. That of a document is
the one behind a label such as "Total" or "Amount due"; without a label, the only one. What may
be read in two ways is not read: "1.000 EUR" without a sign that the text is German, rates, ranges,
and amounts that are "about" or "up to" something.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from corpus.loaders.metadata import normalize_date


class Amount(NamedTuple):
    """An amount of money, characters ``start:end`` of a text.

    Attributes:
        currency: Its code, such as ``EUR``.
        label: In lower case; empty without one.
        place: The line of a table or record that holds it; -1 in other text.
    """

    value: Decimal
    currency: str
    start: int
    end: int
    label: str = ""
    place: int = -1

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


class StatedDate(NamedTuple):
    """A date in ISO 8601, characters ``start:end`` of a text."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AmountRange:
    """The amounts that are asked for; None is without a bound, "" any currency."""

    low: Decimal | None
    high: Decimal | None
    with_bounds: bool
    currency: str

    def __contains__(self, value: Decimal) -> bool:
        if self.with_bounds and value in (self.low, self.high):
            return True
        above = self.low is None or value > self.low
        return above and (self.high is None or value < self.high)


_CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|RON|INR|CAD|AUD|NZD|SGD|HKD|ZAR|BRL|MXN|TRY"
    "|ILS|KRW"
)
_DOLLARS = {"US": "USD", "C": "CAD", "CA": "CAD", "A": "AUD", "AU": "AUD", "NZ": "NZD", "HK": "HKD"}
_NAMES = {
    "€": "EUR", "$": "USD", "£": "GBP", "¥": "¥", "EURO": "EUR", "EUROS": "EUR", "DOLLAR": "USD",
    "DOLLARS": "USD", "POUNDS STERLING": "GBP", "SWISS FRANCS": "CHF",
    **{f"{country}$": code for country, code in _DOLLARS.items()},
}  # fmt: skip
_CURRENCY = (
    rf"(?:(?:\b(?:{'|'.join(_DOLLARS)}))?\$|[€£¥]|\b(?:{_CODES})\b"
    r"|\b(?i:EURO?S?|(?:US )?dollars?|pounds sterling|swiss francs)\b)"
)
_BLANK = "[ \u00a0\u202f]"
_RUN = r"(?<![\w.,])\d++(?:[.,'\u2019\u00a0\u202f]\d++)*+"
_SCALES = {"k": 3, "thousand": 3, "m": 6, "mio": 6, "million": 6, "bn": 9, "billion": 9}
_SCALE = rf"(?:{_BLANK}?(?P<scale>(?i:{'|'.join(sorted(_SCALES, reverse=True))}))\b\.?)?"
_MONEY = re.compile(
    rf"(?:(?P<before>{_CURRENCY})(?:\)?:)?{_BLANK}?)?(?P<minus>[-\u2212]?)(?P<run>{_RUN}){_SCALE}"
    rf"(?:,-|\.-)?(?:{_BLANK}?(?P<after>{_CURRENCY}))?"
)
# Numbers by how they are written.
_ENGLISH = re.compile(r"\A(?:\d{1,3}(?:,\d{3})+\.\d{1,2}|\d{1,3}(?:,\d{3}){2,}|\d+\.\d{1,2})\Z")
_GERMAN = re.compile(r"\A(?:\d{1,3}(?:\.\d{3})+,\d{1,2}|\d{1,3}(?:\.\d{3}){2,}|\d+,\d{1,2})\Z")
_BY_BLANKS = re.compile(r"\A\d{1,3}(?:['\u2019\u00a0\u202f]\d{3})+(?:[.,]\d{1,2})?")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}([.,])\d{3}")
_GERMAN_WORDS = re.compile(r"\b(?:Betrag|Datum|Rechnung|Vertrag|das|der|die|und|von)\b")
_MIN_GERMAN_WORDS = 2
# Before and behind an amount that is a bound, of a range, a rate, or one of two readings.
_UNSURE_BEFORE = re.compile(
    r"(?:\b(?:about|above|almost|approx\w*|around|at least|at most|below|between|bis zu|cap\w*"
    r"|circa|etwa|exceed\w*|from|less than|limit\w*|max\w*|min\w*|more than|nearly|over|rund|under"
    r"|up to|within)\.?(?: of| to)?|\bca\."
    r"|[~\u2248<>\u2264\u2265+]|\d\W{0,3}(?:[A-Z]{3})?\s?(?:-|\u2013|to|bis|and|und|x)"
    r"|(?<!\d)\d{1,3}|[|:]\s?\()\s?\Z",
    re.IGNORECASE,
)
_UNSURE_BEHIND = re.compile(
    r"-|\s?(?:[/+\d]|[-\u2013]\s?\d|(?:per|each|apiece|hourly|daily|weekly|monthly|yearly|annually|pro"
    r"|je|an? (?:day|hour|month|night|person|piece|week|year)|or (?:more|less)|p\. ?a"
    r"|(?:and|plus) \d+ cents?|(?:to|bis) \D{0,4}\d)\b)",
    re.IGNORECASE,
)
# Before an amount that is only a part, unless it has a label.
_PART = re.compile(
    r"\b(?:deposit|discount|daily|fine|hourly|monthly|mwst|penalty|rabatt|rate|shipping|skonto"
    r"|sub-?total|surcharge|tax|vat|weekly|zwischensumme)\b[^.;|\n]{0,20}\Z",
    re.IGNORECASE,
)
_IN_THOUSANDS = re.compile(
    r"\bin (?:thousand|million|billion)s?\b|\bT(?:EUR|\u20ac)|[$€£]000\b", re.I
)
_OTHER_DOLLARS = re.compile(r"\b(?:CAD|AUD|NZD|SGD|HKD|MXN)\b|\b(?:C|CA|A|AU|NZ|HK)\$")
_ARTICLES = r"the|an?|our|this|agreed|der|die|das|den|eine?n?"
_LABEL = (
    r"(?:(?:grand|invoice|order|final|overall|contract) )?total(?: (?:amount|price|costs?|value"
    r"|fees?|sum|charges?|due|payable|to pay))?(?: (?:due|payable))?"
    r"|(?:amount|balance|sum) (?:due|payable|owed|to pay)"
    r"|(?:agreement|contract|invoice|order|purchase) (?:value|price|sum|amount)"
    r"|(?:gesamt|rechnungs|end|zahl|vertrags|auftrags)(?:betrag|summe|preis|wert)|gesamt|summe"
    r"|kaufpreis|zu zahlen(?:der betrag)?"
)
_GAP = (
    rf"(?:[\s:=*_|()\[\]]|\.{{2,}}|{_CURRENCY}|\b(?:of|is|was|amounts? to|equals|in|net|gross|netto"
    r"|brutto|betr\u00e4gt|von|(?:including|incl|excluding|excl|inkl|with|zzgl)\b\.? (?:\d+ ?% )?"
    r"(?:VAT|tax|GST|MwSt|USt))\b)*+"
)
_LABELLED = re.compile(
    rf"(?:\A[\s*#|_-]*|[|:;.,!?()*] *|\s[-\u2013] |\b(?:{_ARTICLES}) )"
    rf"(?P<label>{_LABEL})\b(?P<gap>{_GAP})\Z",
    re.IGNORECASE,
)
# Characters before an amount in which its label stands.
_LABEL_CHARS = 100
_RULE = re.compile(r"\|(?: *:?-+:? *\|)+")
_RECORD = re.compile(r"\A[^:;|]+: [^;|]+(?:; [^:;|]+: [^;|]+)+")

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"(?<![\w.,/-])(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}"
    rf"|\d{{1,2}}\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})(?![\w/-])"
)
_DATED = re.compile(
    r"(?:(?:\A|[|;,(:.])\W{0,9}|\b(?:invoice|contract|order|issue|signing|agreement) )"
    r"(?:date(?: of (?:issue|invoice))?|\w*datum)\W{0,9}\Z"
    r"|\b(?:dated|(?:issued|signed)(?: on)?)\W{0,9}\Z",
    re.IGNORECASE,
)
_OTHER_DATE = re.compile(
    r"\b(?:due|until|till|by|before|after|deliver\w*|birth|born|expir\w*|ends?|from|starts?|begins?"
    r"|valid|pa(?:y|id)\w*|f\u00e4llig|bis)\b[^.;|]{0,100}\Z",
    re.IGNORECASE,
)

_ABOVE = "over|above|more than|greater than|larger than|higher than|exceeding|in excess of|>"
_BELOW = "under|below|less than|smaller than|lower than|<"
_FROM = "at least|no less than|not less than|>=|\u2265"
_UP_TO = "at most|up to|no more than|not more than|<=|\u2264"
# How a comparison with an amount begins.
COMPARISONS = "|".join((_FROM, _UP_TO, _ABOVE, _BELOW, "exactly", "between"))
_NUMBER = rf"(?:{_CURRENCY} ?)?{_RUN}(?: ?(?:{'|'.join(_SCALES)})\b)?(?: ?{_CURRENCY})?"
_COMPARED = re.compile(
    rf"(?:(?P<above>{_ABOVE})|(?P<below>{_BELOW})|(?P<from>{_FROM})|(?P<up_to>{_UP_TO})|exactly"
    rf"|(?P<between>between)) ?(?P<first>{_NUMBER})(?: and (?P<second>{_NUMBER}))?",
    re.IGNORECASE,
)


def parse_range(text: str) -> AmountRange | None:
    """Return the range of "over 500 EUR" or "between $100 and $200"; None for anything else."""
    match = _COMPARED.fullmatch(" ".join(text.split()))
    if match is None or bool(match["between"]) != bool(match["second"]):
        return None
    read = [_MONEY.fullmatch(_capitals(match[each])) for each in ("first", "second") if match[each]]
    found = [(_value_of(each, set()), _currency_of(each)) for each in read if each]
    values = [value for value, _ in found if value is not None]
    currencies = {currency for _, currency in found} - {""}
    if len(values) < len(read) or len(currencies) > 1:
        return None
    low = None if match["below"] or match["up_to"] else min(values)
    high = None if match["above"] or match["from"] else max(values)
    with_bounds = not (match["above"] or match["below"])
    return AmountRange(low, high, with_bounds, "".join(currencies))


def _capitals(text: str) -> str:
    """Return a number of a question with its currency as texts write it: "500 eur"."""
    return re.sub(rf"\b(?:{_CODES})\b", lambda m: m[0].upper(), text, flags=re.I)


def _currency_of(match: re.Match[str]) -> str:
    """Return the code of the only currency beside a number; empty without one, or with two."""
    found = {_code(each) for each in (match["before"], match["after"]) if each}
    return found.pop() if len(found) == 1 else ""


def _code(written: str) -> str:
    name = written.upper().removeprefix("US ")
    return _NAMES.get(name, name)


def _style_of(text: str, runs: Sequence[str]) -> set[str]:
    """Return how numbers of a text are written: ``en``, ``de``, both, or neither if none tells."""
    styles = {
        style
        for run in runs
        for style, form in (("en", _ENGLISH), ("de", _GERMAN))
        if form.fullmatch(run)
    }
    is_german = len(set(_GERMAN_WORDS.findall(text))) >= _MIN_GERMAN_WORDS
    return styles | {"de"} if is_german else styles


def _value_of(match: re.Match[str], styles: set[str]) -> Decimal | None:
    """Return the number, or None if it may be read in two ways."""
    run, scale = match["run"], match["scale"]
    if thousands := _THOUSANDS.fullmatch(run):
        # Nobody writes amounts with three decimals; but a comma is a point in German.
        if styles != {"de"} if thousands[1] == "." else "de" in styles:
            return None
        digits = re.sub(r"\D", "", run)
    elif run.isdigit():
        digits = run
    elif _ENGLISH.fullmatch(run):
        digits = run.replace(",", "")
    elif _GERMAN.fullmatch(run):
        digits = run.replace(".", "").replace(",", ".")
    elif _BY_BLANKS.fullmatch(run):
        digits = re.sub("['\u2019\u00a0\u202f]", "", run).replace(",", ".")
    else:
        return None
    return Decimal(digits) * Decimal(10 ** (_SCALES[scale.lower()] if scale else 0))


def compile_noun(noun: str) -> re.Pattern[str]:
    """Return the pattern of a noun in a name, in the singular and the plural: ``invoice-17``."""
    words = re.findall(r"[^\W_]+", noun.lower())
    last = words.pop()
    singular = re.sub(r"(?<=[^aeiou])ies\Z", "y", last)
    singular = re.sub(r"(?<=ch|sh|ss)es\Z|(?<=x)es\Z|(?<!s)s\Z|(?<=ung)en\Z", "", singular)
    plural = re.sub(r"(?<=[^aeiou])y\Z", "ie", singular)
    form = rf"(?:{re.escape(singular)}|{re.escape(plural)}(?:e?s|en)|{re.escape(last)})"
    spelt = r"[\W_]+".join([*map(re.escape, words), form])
    return re.compile(rf"(?<![^\W\d_]){spelt}(?![^\W\d_])", re.IGNORECASE)


class _Number(NamedTuple):
    """A number of a text with its currency, or a labelled one without."""

    match: re.Match[str]
    currency: str
    label: str
    place: int


def find_amounts(text: str) -> list[Amount]:
    """Return the amounts that may be the document's; none if that is unclear.

    Several are labelled differently, such as "total" and "amount due".
    """
    numbers = list(_numbers_of(text))
    if _IN_THOUSANDS.search(text) or _lacks_amount(text):
        return []
    styles = _style_of(text, [each.match["run"] for each in numbers if each.currency])
    has_dollars = _OTHER_DOLLARS.search(text) is not None
    found, unsure = [], []
    for match, currency, label, place in numbers:
        end = match.end()
        start = match.start("run" if ":" in match[0] else 0)  # the number alone in a record
        value = _value_of(match, styles)
        before = text[max(0, match.start() - _LABEL_CHARS) : match.start()]
        is_unsure = (
            not currency
            or match["minus"]
            or before.endswith(("-", "\u2212"))
            or (has_dollars and re.search(r"(?<![A-Z])\$", match[0]))
            or _UNSURE_BEFORE.search(before)
            or _UNSURE_BEHIND.match(text, end)
            or (not label and _PART.search(before))
        )
        if value is None or is_unsure:
            unsure.append(label)
        else:
            found.append(Amount(value, currency, start, end, label, place))
    labelled = [each for each in found if each.label]
    if any(unsure) or (unsure and not labelled):
        return []
    chosen = labelled or found
    for label in {each.label for each in chosen}:
        alike = [each for each in chosen if each.label == label]
        # The rows of a list have a total each.
        if len({each[:2] for each in alike}) > 1 or len({each.place for each in alike}) > 1:
            return []
    return list({each[:2]: each for each in chosen}.values())


def _lacks_amount(text: str) -> bool:
    """Return whether a label stands alone in its line: the amount may be any."""
    return any(_LABELLED.fullmatch(line) for line in text.split("\n") if len(line) < _LABEL_CHARS)


def _numbers_of(text: str) -> Iterator[_Number]:
    """Yield the numbers with a currency, and those behind a label, in order."""
    lines = ["", *text.split("\n"), ""]
    header: list[str] = []
    start = 0
    for place, (before, line, below) in enumerate(zip(lines, lines[1:], lines[2:], strict=False)):
        matches = list(_MONEY.finditer(text, start, start + len(line)))
        is_row = line.startswith("|") and line.endswith("|")
        if is_row and _RULE.fullmatch(below):
            header = _cells(line)
        elif is_row and not _RULE.fullmatch(line):
            is_only = _RULE.fullmatch(before) is not None and not below.startswith("|")
            yield from _numbers_of_row(line, start, matches, header, is_only=is_only, place=place)
        elif not is_row:
            header = []
            is_record = _RECORD.fullmatch(line) is not None
            yield from _numbers_of_line(text, start, matches, place if is_record else -1)
        start += len(line) + 1


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]


def _numbers_of_row(
    line: str,
    start: int,
    matches: Sequence[re.Match[str]],
    header: Sequence[str],
    *,
    is_only: bool,
    place: int,
) -> Iterator[_Number]:
    """Yield the amounts of a row, labelled by its first cell; those of an only row, by column."""
    names = header or [""] * len(_cells(line))
    first = next(filter(None, _cells(line)), "")
    of_row = _LABELLED.fullmatch(first)
    found = []
    for match in matches:
        column = line.count("|", 0, match.start() - start) - 1
        name = names[column] if column < len(names) else ""
        of_column = _LABELLED.fullmatch(name) if is_only else None
        label = of_row or of_column
        currency = (
            _currency_of(match)
            or _only_currency(name)
            or _only_currency(of_row[0] if of_row else "")
        )
        if currency or label:
            found.append(_Number(match, currency, label["label"].lower() if label else "", place))
    # Beside amounts, numbers of the row without a currency count something else.
    yield from [each for each in found if each.currency] or found


def _numbers_of_line(
    text: str, start: int, matches: Sequence[re.Match[str]], place: int
) -> Iterator[_Number]:
    for match in matches:
        begin = max(start, match.start() - _LABEL_CHARS)
        before = ("" if begin == start else "x") + text[begin : match.start()]
        label = _LABELLED.search(before)
        currency = _currency_of(match) or (_only_currency(label["gap"]) if label else "")
        is_quantity = re.match(r" ?[A-Za-z%]", text[match.end() : match.end() + 2])
        if currency or (label and not is_quantity):
            yield _Number(match, currency, label["label"].lower() if label else "", place)
            start = match.end()


def _only_currency(text: str) -> str:
    found = {_code(each) for each in re.findall(_CURRENCY, text)}
    return found.pop() if len(found) == 1 else ""


def find_date(text: str) -> StatedDate | None:
    """Return the date that a text states as its own: the labelled one, or the only one."""
    labelled, others = [], []
    for match in _DATE.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        before = text[max(start, match.start() - _LABEL_CHARS) : match.start()]
        date = StatedDate(normalize_date(match[0]), *match.span())
        if _DATED.search(before):
            labelled.append(date)
        else:
            others.append(date._replace(value="") if _OTHER_DATE.search(before) else date)
    values = {each.value for each in labelled or others}
    return (labelled or others)[0] if len(values) == 1 and "" not in values else None
