"""Detect English, for which the rules for quotes are written."""

from collections.abc import Sequence

from qa.grounding.support.words import Word

_ENGLISH = frozenset(
    "the and that this these those it its they their them there with from which who whose what are"
    " were been being have has had does did would should could must may might cannot not he she"
    " you your we our us his when where while because than then but if unless by for of is was be"
    " only such into about before after between through more most each some many can any all every"
    " nobody nothing never rarely often to".split()
)
# Frequent words of other languages; those that negate are what a quote must not lose.
_FOREIGN = frozenset(
    "der die das den dem des und ist sind ein eine einen von mit nicht kein keine nie ohne nur le"
    " la les du et est sont pas une dans que qui ne jamais el los las y es por para nunca solo sin"
    " il lo gli di che per senza mai \u00e9 n\u00e3o nem um uma het een niet geen van zijn hij og"
    " er det ikke ej och inte nie si\u0119 jest je nen\u00ed nu nem var".split()
)
# English has a function word of the list in every third to fifth word; a title of names has none.
_ONE_IN = 14


def is_english(words: Sequence[Word]) -> bool:
    """Return whether a sentence has more English function words than foreign ones."""
    english = sum(word.text in _ENGLISH for word in words)
    foreign = sum(word.text in _FOREIGN or not word.text.isascii() for word in words)
    return english > foreign and english * _ONE_IN >= len(words)
