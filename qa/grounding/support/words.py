"""Split a sentence into comparable words: folded, stemmed, with clause boundaries."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from corpus.characters import normalize

_TOKEN = re.compile(
    r"""
    (?P<number>
      (?:(?<![\w.])[-\u2212](?=\.?\d))?                   # a minus stands before no word
      (?:\d{1,3}(?:,\d{3}){1,10}+(?:\.\d++)?(?!,*\d) | \d+(?:\.\d+)? | (?<![\w.])\.\d+)
      (?:\^[-\u2212]?\d{1,3}(?!\d))?)
    |(?P<word>[^\W\d_](?:[^\W_]|'(?=\w))*)
    |(?P<sign>[%$\u20ac\u00a3\u00a5\u00b0<>\u2264\u2265\u2260\u2248~=+\u00b1\u00d7^])
    |(?P<mark>[;()\[\]]|[,:\u2013\u2014](?!(?<=\d.)\d)|\s-\s)   # within "10:30" is none
    """,
    re.VERBOSE,
)
_ISO_DATE = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b")
PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2010": "-"}
)
# NFKC makes 106 of 10\u2076 and 51/2 of 5\u00bd; a sign between them keeps them apart.
_RAISED = re.compile(r"\u207b?[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]+")
_MIXED_FRACTION = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
# A prefix that takes the meaning away makes one word with what it stands before: "non-toxic" says
# nothing of "toxic", and is "nontoxic". UN in capitals is no prefix.
_PREFIXED = re.compile(
    r"\b([Nn]on|NON|[Aa]nti|ANTI|[Uu]n|[Ee]x|[Pp]seudo|[Qq]uasi|[Ss]o(?=-called)|[Ww]ould(?=-be))"
    r"-(?=[^\W\d_])"
)
MONTHS = (
    "january february march april may june july august september october november december".split()
)
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen".split()
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL_NUMBERS = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_SHORT_FORMS = {"won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not")}
_SIGNS = {"%": "percent", "$": "dollar", "\u20ac": "euro", "\u00a3": "pound", "\u00a5": "yen"}
_SIGNS |= {"\u00b0": "degree", "\u2264": "<=", "\u2265": ">="}
_VOWEL = re.compile(r"[aeiouy]")

# Words that carry no statement of their own.
FUNCTION_WORDS = frozenset(
    "a an the and or but nor so yet of in on at by for with from to into onto over under about as"
    " than then that this these those it its they them their he she his her him we our us you your"
    " i my me who whom whose which what when where while how why is are was were be been being am"
    " has have had having do does did doing will would shall should can could may might must there"
    " here also such both each other same own if because through during per via upon within"
    " between among against".split()
)


class Word(NamedTuple):
    """A word of a sentence.

    Attributes:
        text: Folded: lower case, plain quotes, no thousands separators.
        stem: Without inflection; a number's is its value.
        is_name: Written like a name: with a capital or a digit within the sentence.
        opens_clause: A comma, colon, bracket or dash is before it.
        is_joined: No space is before it: "5%", "alcohol-free", "mg/l" and "5-10" are two words
            each, and a quote has both or neither.
    """

    text: str
    stem: str
    is_name: bool
    opens_clause: bool
    is_joined: bool = False

    @property
    def is_number(self) -> bool:
        return self.text[-1].isdigit() and self.text.lstrip("-")[0].isdigit()

    @property
    def is_content(self) -> bool:
        return self.text not in FUNCTION_WORDS

    @property
    def is_sign(self) -> bool:
        return not any(map(str.isalnum, self.text))


# A sentence is read again and again while one answer is proved, from some 100 sentences. One of 130
# characters takes 3.6 kB here, and 85 us to be read again (docs/decisions/0014).
@lru_cache(maxsize=512)
def read_words(sentence: str) -> tuple[Word, ...]:
    """Return the words of a sentence, with contractions and ISO dates expanded."""
    # Normalize characters, join prefixes to their words, and expand ISO dates.
    text = _RAISED.sub(lambda m: f"^{m[0]}", _MIXED_FRACTION.sub(" ", sentence))
    text = normalize("NFKC", text).translate(PLAIN)
    text = _PREFIXED.sub(r"\1", text)
    text = _ISO_DATE.sub(lambda m: f"{int(m[3])} {MONTHS[int(m[2]) - 1].title()} {m[1]}", text)
    words: list[Word] = []
    opens = True
    end = len(text)
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "mark":
            opens = True
            continue
        # A first word needs a second capital, or a digit.
        rest = token[0] if words else token[0][1:]
        is_name = token[0][0].isalpha() and any(each.isupper() or each.isdigit() for each in rest)
        gap = text[end : token.start()]
        is_joined = not opens and not any(map(str.isspace, gap))
        for part in filter(None, _parts(token)):
            words.append(Word(part, stem(part), is_name, opens, is_joined))
            opens = is_joined = False
        end = token.end()
    return tuple(words)


def speaks_of(text: str, topic: str) -> bool:
    """Return whether a text has all distinctive words of a topic, in any inflection."""
    wanted = {word.stem for word in read_words(topic) if word.is_content}
    return bool(wanted) and wanted <= {word.stem for word in read_words(text)}


def _parts(token: re.Match[str]) -> Iterable[str]:
    text = token[0].lower()
    if token.lastgroup == "number":
        # Normalize a number: -.50 becomes -0.5; 10^06 stays.
        base, raised, exponent = text.replace(",", "").replace("\u2212", "-").partition("^")
        if "." in base:
            whole, _, fraction = base.rstrip("0").partition(".")
            base = whole if whole.strip("-") else f"{whole}0"
            base += f".{fraction}" if fraction else ""
        return ((base + raised + exponent),)
    if token.lastgroup == "sign":
        return (_SIGNS.get(text, text),)
    if text in _SHORT_FORMS:
        return _SHORT_FORMS[text]
    # "n't" is written out; a genitive's and other endings go.
    return (text[:-3], "not") if text.endswith("n't") else (text.partition("'")[0],)


def stem(word: str) -> str:
    """Return a word without plural, past and progressive endings; derived words differ.

    A number word becomes its digits.
    """
    if word in SMALL_NUMBERS:
        return str(SMALL_NUMBERS[word])
    if len(word) <= 3 or not word.isalpha():  # noqa: PLR2004
        return word
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004
        word = word[:-3] + "y"
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return _without_tense(word).removesuffix("e")


def _without_tense(word: str) -> str:
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        is_tense = rest != word and not word.endswith("eed")
        if is_tense and len(rest) >= 3 and _VOWEL.search(rest):  # noqa: PLR2004
            doubled = rest[-1] == rest[-2] and rest[-1] not in "lsz"
            return rest[:-1] if doubled else _with_y(rest)
    return _with_y(word)


def _with_y(word: str) -> str:
    """Return "study" for "studi", the rest of "studied"."""
    return f"{word[:-1]}y" if word.endswith("i") and len(word) > 3 else word  # noqa: PLR2004
