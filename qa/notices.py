"""Messages shown with an answer or in place of one."""

from qa.intent import IntentKind

NOTHING_NEAR = "Nothing in your documents is about this."
GREETING = "Hello. Ask a question, and the documents answer it in their own words."
UNNAMED = (
    "Name the document that is to be summed up, by its title. Only a few are summed up together."
)
# Precedes the passages shown in place of an answer.
UNSURE = "I am not sure. The most relevant passages:"
# Precedes a part of the question.
UNANSWERED = "Not answered by your documents:"

_NOTICES = {IntentKind.GREETING: GREETING, IntentKind.OVERVIEW: UNNAMED}


def notice_of(intent: str) -> str:
    """Return the message for an answer with neither text nor passages.

    Args:
        intent: The intent of an answer; empty for older ones.
    """
    return _NOTICES.get(IntentKind(intent), NOTHING_NEAR) if intent else NOTHING_NEAR
