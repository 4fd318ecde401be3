"""Read the numbers of a sentence with their units, in digits or in words."""

from collections.abc import Sequence
from decimal import Decimal, DecimalException
from typing import NamedTuple

from qa.grounding.support.words import SMALL_NUMBERS, Word

_SCALES = {
    word: Decimal(value)
    for word, value in {
        "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
        "hundreds": 100, "thousands": 10**3, "millions": 10**6, "billions": 10**9, "dozen": 12,
    }.items()
}  # fmt: skip
# Ordinals, and words that mean a count; "second" is left out: it is a unit too.
_OTHER = {
    "first": Decimal(1), "third": Decimal(3), "fourth": Decimal(4), "fifth": Decimal(5),
    "sixth": Decimal(6), "seventh": Decimal(7), "eighth": Decimal(8), "ninth": Decimal(9),
    "tenth": Decimal(10), "half": Decimal("0.5"), "once": Decimal(1), "twice": Decimal(2),
    "double": Decimal(2), "doubled": Decimal(2), "doubles": Decimal(2), "thrice": Decimal(3),
    "triple": Decimal(3), "tripled": Decimal(3), "triples": Decimal(3),
}  # fmt: skip
# "One of them", "the first": said of anything; a claim may use them though the source does not.
_LOOSE = frozenset({"one", "first", "once", "half"})

_UNIT_SPELLINGS = {
    "percent": "percent percents percentage",
    "km": "km kilometre kilometer", "m": "m metre meter", "cm": "cm centimetre centimeter",
    "mm": "mm millimetre millimeter", "mile": "mile mi", "foot": "foot feet ft", "inch": "inch",
    "kg": "kg kilogram kilo", "g": "g gram", "mg": "mg milligram",
    "\u03bcg": "\u03bcg microgram ug mcg",
    "pound": "pound lb lbs", "ton": "ton tonne", "l": "l litre liter",
    "ml": "ml millilitre milliliter",
    "ms": "ms millisecond", "s": "s sec second", "min": "min minute", "h": "h hr hour",
    "day": "day", "week": "week", "month": "month", "year": "year yr", "decade": "decade",
    "century": "century", "dollar": "dollar usd", "euro": "euro eur", "degree": "degree",
    "byte": "byte", "kb": "kb kilobyte", "mb": "mb megabyte", "gb": "gb gigabyte",
    "tb": "tb terabyte", "token": "token", "character": "character",
    "hz": "hz hertz", "khz": "khz", "mhz": "mhz", "ghz": "ghz", "w": "w watt", "kw": "kw kilowatt",
    "mw": "mw megawatt", "nm": "nm nanometre nanometer",
}  # fmt: skip
_UNITS = {spelling: unit for unit, line in _UNIT_SPELLINGS.items() for spelling in line.split()}
_CURRENCIES = frozenset({"dollar", "euro", "pound", "yen"})


class Number(NamedTuple):
    """A value with its unit, or an empty one; ``is_loose``: maybe only a figure of speech."""

    value: Decimal
    unit: str
    is_loose: bool


def read_numbers(words: Sequence[Word]) -> list[Number]:
    """Return the numbers of a sentence in order: ``1,200 km``, ``twenty-five percent``."""
    numbers = []
    at = 0
    while at < len(words):
        value, end = _read_value(words, at)
        if value is None:
            at += 1
            continue
        before = words[at - 1].text if at else ""
        unit = before if before in _CURRENCIES else _unit_at(words, end)
        numbers.append(Number(value, unit, is_loose=end == at + 1 and words[at].text in _LOOSE))
        at = end
    return numbers


def _read_value(words: Sequence[Word], at: int) -> tuple[Decimal | None, int]:
    """Read one number from ``at`` on; return its value, or None, and where it ends."""
    if at and words[at - 1].text == "^":  # the square of a unit, or a footnote
        return None, at
    if words[at].text in _OTHER:
        return _OTHER[words[at].text], at + 1
    total, group, end = Decimal(0), None, at
    while end < len(words) and (group is None or not words[end].opens_clause):
        text = words[end].text
        part = _plain_value(words[end])
        if part is not None and (
            group is None or (text in SMALL_NUMBERS and _adds_up(group, part))
        ):
            group = (group or Decimal(0)) + part
        elif text in _SCALES:
            group = (Decimal(1) if group is None else group) * _SCALES[text]
            if _SCALES[text] >= 1000:  # noqa: PLR2004
                total, group = total + group, Decimal(0)
        # "Two hundred and five".
        elif not (
            text == "and"
            and group is not None
            and words[end - 1].text in _SCALES
            and any(word.text in SMALL_NUMBERS for word in words[end + 1 : end + 2])
        ):
            break
        end += 1
    return (None, at) if end == at else (total + (group or Decimal(0)), end)


def _plain_value(word: Word) -> Decimal | None:
    if word.text in SMALL_NUMBERS:
        return Decimal(SMALL_NUMBERS[word.text])
    if not word.is_number:
        return None
    base, _, exponent = word.text.partition("^")
    try:
        value = Decimal(base) ** int(exponent or 1)
    except DecimalException:
        return None
    return value if value.is_finite() else None


def _adds_up(group: Decimal, part: Decimal) -> bool:
    """Return whether parts form one number, as "twenty five" and "two hundred five" do.

    No word stands for a group of ten thousand, and 30 digits are too many to parse.
    """
    if abs(group) >= 10_000:  # noqa: PLR2004
        return False
    if group % 100 == 0:
        return part < 100  # noqa: PLR2004
    return group % 10 == 0 and group % 100 >= 20 and part < 10  # noqa: PLR2004


def _unit_at(words: Sequence[Word], at: int) -> str:
    """Return the unit after a number; "5 per cent" is percent, 5 m² has "m^2"."""
    text = words[at].text if at < len(words) else ""
    if text == "per" and at + 1 < len(words) and words[at + 1].text == "cent":
        return "percent"
    unit = _UNITS.get(text) or _UNITS.get(text.removesuffix("s"), "")
    if unit and at + 2 < len(words) and words[at + 1].text == "^":
        return f"{unit}^{words[at + 2].text}"
    return unit


def counts(word: Word) -> bool:
    """Return whether a unit may follow a number; "one" is too often only a pronoun."""
    return word.text != "one" and (
        word.is_number or word.text in SMALL_NUMBERS or word.text in _SCALES
    )


def is_unit(words: Sequence[Word]) -> bool:
    """Return whether the words begin with a unit."""
    return bool(_unit_at(words, 0))


def is_currency(word: Word) -> bool:
    return _UNITS.get(word.text, word.text) in _CURRENCIES


def find_unknown_numbers(claim: Sequence[Word], source: Sequence[Word]) -> list[Number]:
    """Return the numbers of the claim that the source lacks, by value and unit."""
    known = {(number.value, number.unit) for number in read_numbers(source)}
    values = {value for value, _ in known}
    return [
        number
        for number in read_numbers(claim)
        if not number.is_loose
        and known.isdisjoint({(number.value, number.unit), (number.value, "")})
        and (number.unit or number.value not in values)
    ]
