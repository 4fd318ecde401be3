"""Messages beside an answer, or in place of one; the same words wherever people ask."""

from qa.intent import IntentKind

NOTHING_NEAR = "Nothing in your documents is about this."
GREETING = "Hello. Ask a question, and the documents answer it in their own words."
UNNAMED = (
    "Name the document that is to be summed up, by its title. Only a few are summed up together."
)
# Before the passages that are shown in place of an answer.
UNSURE = "I am not sure. The most relevant passages:"
# Before a part of the question.
UNANSWERED = "Not answered by your documents:"

_NOTICES = {IntentKind.GREETING: GREETING, IntentKind.OVERVIEW: UNNAMED}


def notice_of(intent: str) -> str:
    """Return what a person is told who gets neither an answer nor passages.

    Args:
        intent: As an answer has it; empty for one that was stored before intents were.
    """
    return _NOTICES.get(IntentKind(intent), NOTHING_NEAR) if intent else NOTHING_NEAR
