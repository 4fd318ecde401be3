"""Content that pkb understands but rejects."""

from corpus.errors.base import PkbError


class UnprocessableContent(PkbError):
    """The content is rejected."""

    status = 422
    code = "unprocessable_content"


class NotFetched(UnprocessableContent):
    """The URL cannot be fetched.

    Attributes:
        answered: HTTP status of the server's response; 0 without a response.
    """

    code = "not_fetched"

    def __init__(self, detail: str, *, answered: int = 0) -> None:
        super().__init__(detail)
        self.answered = answered


class Redirected(NotFetched):
    """The URL redirects to another one, which pkb did not fetch.

    Attributes:
        target: The other URL, as the server wrote it.
        is_permanent: The redirect is permanent.
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
    """The file is damaged, or is not of the type it claims."""

    code = "unreadable_file"


class IdempotencyKeyReused(UnprocessableContent):
    """The idempotency key was used with another request."""

    code = "idempotency_key_reused"
