"""Messages beside an answer or in place of one, the same in all interfaces."""

from collections.abc import Iterable

from qa.intent import IntentKind

NOTHING_NEAR = "No answer found in your documents."
GREETING = "Hello. Ask a question about your documents."
UNNAMED = "Name the document to summarize by its title. Only a few can be summarized at once."
NOT_SHORTER = "There is no shorter quote of the last answer."
NOT_REWORDED = (
    "Answers are quotes. Without a language model, they cannot be translated, reworded or arranged."
)
NOT_MENTIONED = (
    "No document mentions exactly these words. Other forms of them are not counted;"
    " Search finds them."
)
NO_AMOUNTS = (
    "None of the documents named so clearly states such an amount. A clear amount is the only one,"
    " or has a label such as “Total”. Amounts in several currencies are not compared: name one."
)
# Heads the passages shown in place of an answer.
UNSURE = "Not sure. Closest passages:"
# Heads the numbered sources below a text with markers such as [1].
SOURCES = "Sources:"
# Precedes each unanswered part of a question.
UNANSWERED = "Not answered by your documents:"

# How pkb 0.1 began such replies; clients send them back as part of a conversation.
_EARLIER = (
    "Nothing in your documents is about this.",
    "Hello. Ask a question, and the documents answer it in their own words.",
    "Name the document that is to be summed up, by its title.",
    "I am not sure. The most relevant passages:",
)
_NOTICES = {
    IntentKind.GREETING: GREETING,
    IntentKind.OVERVIEW: UNNAMED,
    IntentKind.COUNT: NOT_MENTIONED,
    IntentKind.AMOUNTS: NO_AMOUNTS,
    IntentKind.SHORTER: NOT_SHORTER,
    IntentKind.REWORDING: NOT_REWORDED,
}


def notice_of(intent: str) -> str:
    """Return the message for an intent that yields neither an answer nor passages.

    Args:
        intent: Of the answer; empty for answers stored before intents were recorded.
    """
    return _NOTICES.get(IntentKind(intent), NOTHING_NEAR) if intent else NOTHING_NEAR


def not_about_notice(names: Iterable[str], documents: Iterable[str]) -> str:
    """Return the message beside an answer about something else than the question names.

    Args:
        names: Those that the quoted documents are not about.
        documents: The names of the quoted documents.
    """
    sources = " and ".join(f"“{name}”" for name in dict.fromkeys(documents))
    return f"Not about {' or '.join(names)}: this is from {sources}."


def is_notice(reply: str) -> bool:
    """Return whether a reply is one of these messages, in the present or earlier words."""
    messages = {NOTHING_NEAR, *_NOTICES.values()}
    return reply in messages or reply.startswith((UNSURE, *_EARLIER))
