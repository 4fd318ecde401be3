"""What was sent is understood, and cannot be taken in."""

from corpus.errors.base import PkbError


class UnprocessableContent(PkbError):
    """The content is rejected."""

    status = 422
    code = "unprocessable_content"


class NotFetched(UnprocessableContent):
    """The address cannot be fetched.

    Attributes:
        answered: The status that its server answered, 0 where none came.
    """

    code = "not_fetched"

    def __init__(self, detail: str, *, answered: int = 0) -> None:
        super().__init__(detail)
        self.answered = answered


class Redirected(NotFetched):
    """The address leads to another one, which was not asked.

    Attributes:
        target: The other one, as its server names it.
        is_permanent: The server says that it will stay so.
    """

    def __init__(self, detail: str, *, target: str, answered: int) -> None:
        super().__init__(detail, answered=answered)
        self.target = target

    @property
    def is_permanent(self) -> bool:
        return self.answered in {301, 308}


class TextTooShort(UnprocessableContent):
    """The text is too short."""

    code = "text_too_short"


class TextTooLong(UnprocessableContent):
    """The text is too long."""

    code = "text_too_long"


class BinaryText(UnprocessableContent):
    """The text contains binary or control characters."""

    code = "binary_text"


class EmptyDocument(UnprocessableContent):
    """The document contains no text."""

    code = "empty_document"


class UnreadableFile(UnprocessableContent):
    """The file cannot be read as what it claims to be."""

    code = "unreadable_file"


class IdempotencyKeyReused(UnprocessableContent):
    """The idempotency key was used with another request."""

    code = "idempotency_key_reused"
