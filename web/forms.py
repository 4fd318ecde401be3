"""Forms of the pages: parse, bound and clean their input."""

from typing import Any
from uuid import UUID

from django import forms
from django.http import QueryDict

from corpus.access.principal import Scope
from corpus.api.count_views import MAX_ROWS
from corpus.errors import InvalidInput
from corpus.jobs.kinds.edit_job import MAX_DOCUMENTS, Act
from corpus.lexical import ENGLISH, LANGUAGES
from corpus.loaders.registry import FORMATS
from corpus.mentions import GROUPS, MAX_AMOUNT_CHARS, MAX_PHRASE_CHARS, UNITS
from corpus.mentions import SORTS as MENTION_SORTS
from corpus.models import (
    DEFAULT_COLLECTION,
    MAX_QUALIFIED_NAME_CHARS,
    NAME_PATTERN,
    Collection,
    Document,
    Grant,
    Job,
)
from corpus.models.collection import MAX_WRONG_PERCENT
from corpus.models.document import SORTS
from corpus.models.webhook import MAX_WEBHOOK_URL_CHARS
from corpus.sites import DEFAULT_DEPTH, DEFAULT_PAGES, MAX_DEPTH
from corpus.tags import normalize_tags
from corpus.webhooks import WebhookEvent
from qa.api.grid_views import MAX_FOLDER_CHARS, MAX_NAME_CHARS, MAX_QUESTION_CHARS
from qa.models import MAX_GRID_QUESTIONS

MODES = [
    ("hybrid", "Meaning + keywords"),
    ("semantic", "Meaning only"),
    ("lexical", "Keywords only"),
]


class Tags(forms.Field):
    """Repeated values, or several in one, separated by commas; cleaned to a tuple of names."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> tuple[str, ...]:
        return normalize_tags(name for part in value or [] for name in str(part).split(","))


class TagNames(forms.CharField):
    """Names in one value, separated by commas; cleaned to a tuple."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=2_000, required=False, **kwargs)

    def clean(self, value: Any) -> Any:
        return normalize_tags(super().clean(value).split(","))


class Words(forms.CharField):
    """Words in one value, separated by commas or spaces; cleaned to a list."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=1_000, required=False, **kwargs)

    def clean(self, value: Any) -> Any:
        return super().clean(value).replace(",", " ").split()


class CollectionField(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_QUALIFIED_NAME_CHARS, required=False, **kwargs)

    def clean(self, value: Any) -> str:
        return super().clean(value) or DEFAULT_COLLECTION


class PageForm(forms.Form):
    @classmethod
    def read(cls, sent: QueryDict) -> dict[str, Any]:
        """Return the cleaned values.

        Raises:
            InvalidInput: A value is out of its bounds.
        """
        form = cls(sent)
        if not form.is_valid():
            field, messages = next(iter(form.errors.items()))
            raise InvalidInput(" ".join(str(message) for message in messages), field=field)
        return form.cleaned_data


class ChosenCollectionForm(PageForm):
    collection = CollectionField()


class SearchForm(PageForm):
    q = forms.CharField(max_length=1_000, required=False)
    collection = CollectionField()
    tag = Tags(required=False)
    document = forms.UUIDField(required=False)
    mode = forms.ChoiceField(choices=MODES, required=False)
    threshold = forms.FloatField(min_value=0, max_value=1, required=False)
    rerank = forms.BooleanField(required=False)
    page = forms.IntegerField(min_value=1, max_value=5, required=False)


class CountForm(PageForm):
    q = forms.CharField(max_length=MAX_PHRASE_CHARS, required=False)
    amount = forms.CharField(max_length=MAX_AMOUNT_CHARS, required=False)
    # Empty: all collections.
    collection = forms.CharField(max_length=MAX_QUALIFIED_NAME_CHARS, required=False)
    tag = Tags(required=False)
    group_by = forms.ChoiceField(choices=[(name, name) for name in GROUPS], required=False)
    unit = forms.ChoiceField(choices=[(name, name) for name in UNITS], required=False)
    sort = forms.ChoiceField(choices=[(name, name) for name in MENTION_SORTS], required=False)
    page = forms.IntegerField(min_value=1, max_value=MAX_ROWS, required=False)
    csv = forms.BooleanField(required=False)


# A minus before the column: the largest first.
SORT_CHOICES = [(sign + name, name) for name in SORTS for sign in ("", "-")]


class LibraryFilter(PageForm):
    q = forms.CharField(max_length=1_000, required=False)
    # Empty: all collections.
    collection = forms.CharField(max_length=MAX_QUALIFIED_NAME_CHARS, required=False)
    tag = Tags(required=False)
    type = forms.ChoiceField(choices=[(name, name) for name in FORMATS], required=False)
    status = forms.ChoiceField(choices=Document.Status.choices, required=False)
    sort = forms.ChoiceField(choices=SORT_CHOICES, required=False)
    after = forms.CharField(max_length=4_000, required=False)
    before = forms.CharField(max_length=4_000, required=False)


class DocumentIds(forms.Field):
    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> list[UUID]:
        try:
            ids = [UUID(str(each)) for each in value or []]
        except ValueError as exc:
            raise forms.ValidationError("This is not the ID of a document.") from exc
        if not 1 <= len(ids) <= MAX_DOCUMENTS:
            raise forms.ValidationError(f"Select 1 to {MAX_DOCUMENTS} documents.")
        return ids


class BulkForm(PageForm):
    id = DocumentIds()
    act = forms.ChoiceField(choices=[(act.value, act.value) for act in Act])
    tags = TagNames()
    to = forms.CharField(max_length=MAX_QUALIFIED_NAME_CHARS, required=False)
    confirmed = forms.BooleanField(required=False)
    # The list to come back to, as a query.
    back = forms.CharField(max_length=8_000, required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        act = values.get("act")
        if act in {Act.TAG, Act.UNTAG} and not values.get("tags"):
            self.add_error("tags", "Enter one or more tags, separated by commas.")
        if act == Act.MOVE and not values.get("to"):
            self.add_error("to", "Choose the collection to move to.")
        return values


class JobFilter(PageForm):
    status = forms.ChoiceField(choices=Job.Status.choices, required=False)
    page = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)


class _Target(PageForm):
    collection = CollectionField()
    tags = TagNames()


class UploadForm(_Target):
    """The files themselves are in ``request.FILES``."""


class PasteForm(_Target):
    title = forms.CharField(max_length=512, required=False)
    text = forms.CharField(strip=False)


class FolderForm(_Target):
    content_path = forms.CharField(max_length=4096, strip=False)


EVERY = [("", "on demand"), ("1", "every hour"), ("24", "every day"), ("168", "every week")]


class SiteForm(_Target):
    url = forms.CharField(max_length=2048)
    what = forms.ChoiceField(choices=[("page", "page"), ("site", "site")])
    depth = forms.IntegerField(min_value=0, max_value=MAX_DEPTH, required=False)
    max_pages = forms.IntegerField(min_value=1, max_value=100_000, required=False)
    every_hours = forms.ChoiceField(choices=EVERY, required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        depth, pages, hours = (values.get(name) for name in ("depth", "max_pages", "every_hours"))
        return {
            **values,
            "depth": DEFAULT_DEPTH if depth is None else depth,
            "max_pages": pages or DEFAULT_PAGES,
            "every_hours": int(hours) if hours else None,
        }


class RemoveSiteForm(PageForm):
    with_documents = forms.BooleanField(required=False)


class CollectionForm(PageForm):
    """As POST /collections takes them; what is left empty is by default."""

    name = forms.RegexField(
        NAME_PATTERN,
        error_messages={"invalid": "Start with a letter, then use letters, digits, - and _."},
    )
    description = forms.CharField(max_length=10_000, required=False)
    embedding_model = forms.CharField(max_length=200, required=False)
    language = forms.ChoiceField(choices=[(name, name) for name in LANGUAGES], required=False)
    strategy = forms.ChoiceField(choices=Collection.Strategy.choices, required=False)
    unit = forms.ChoiceField(choices=Collection.Unit.choices, required=False)
    size = forms.IntegerField(min_value=16, max_value=40_000, required=False)
    overlap = forms.IntegerField(min_value=0, max_value=20_000, required=False)
    overlap_sentences = forms.IntegerField(min_value=0, max_value=10, required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        names = ("strategy", "unit", "size", "overlap", "overlap_sentences")
        chosen = {name: values.get(name) for name in names}
        return {
            "name": values.get("name"),
            "description": values.get("description", ""),
            "embedding_model": values.get("embedding_model") or None,
            "language": values.get("language") or ENGLISH,
            "chunking": {name: each for name, each in chosen.items() if each not in {None, ""}},
        }


class RenameCollectionForm(ChosenCollectionForm):
    name = CollectionForm.base_fields["name"]


class TagsForm(PageForm):
    tags = TagNames()


class SpanForm(PageForm):
    """A span of a document's text, in characters; ``sha`` is the version it belongs to."""

    start = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    end = forms.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    sha = forms.RegexField("^[0-9a-f]{64}$", required=False)


class ChatsFilter(PageForm):
    q = forms.CharField(max_length=200, required=False)
    page = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)


class NameForm(PageForm):
    name = forms.CharField(max_length=200, required=False)


class ExportForm(PageForm):
    format = forms.ChoiceField(choices=[("markdown", "Markdown"), ("json", "JSON")])


class RuleForm(PageForm):
    """A rule; lists are separated by commas."""

    name = forms.CharField(max_length=1_000, required=False)
    path = forms.CharField(max_length=1_000, required=False)
    title = forms.CharField(max_length=10_000, required=False)
    words = forms.CharField(max_length=10_000, required=False)
    sender = forms.CharField(max_length=1_000, required=False)
    tags = forms.CharField(max_length=2_000, required=False)
    collection = forms.CharField(max_length=100, required=False)
    act = forms.ChoiceField(choices=[(act, act) for act in ("try", "keep", "apply")])


class Questions(forms.CharField):
    """Lines of a text; cleaned to a list of those with words, each once."""

    def clean(self, value: Any) -> Any:
        lines = (line.strip() for line in super().clean(value).splitlines())
        questions = list(dict.fromkeys(filter(None, lines)))
        if len(questions) > MAX_GRID_QUESTIONS or max(map(len, questions)) > MAX_QUESTION_CHARS:
            raise forms.ValidationError(
                f"Write at most {MAX_GRID_QUESTIONS} questions, one on a line, each with at most"
                f" {MAX_QUESTION_CHARS} characters."
            )
        return questions


class PageNumberForm(PageForm):
    page = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)


class GridQuestionsForm(PageForm):
    name = forms.CharField(max_length=MAX_NAME_CHARS)
    questions = Questions()


class GridForm(GridQuestionsForm):
    collection = CollectionField()
    tag = Tags(required=False)
    folder = forms.CharField(max_length=MAX_FOLDER_CHARS, required=False)


# How long a key may last; empty for ever.
KEY_DAYS = [("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("", "until revoked")]


class KeyForm(PageForm):
    name = forms.CharField(max_length=100)
    scope = forms.MultipleChoiceField(choices=[(each.value, each.value) for each in Scope])
    days = forms.TypedChoiceField(choices=KEY_DAYS, coerce=int, empty_value=None, required=False)
    networks = Words()
    collections = Words()


class GrantForm(PageForm):
    """As POST /collections/{name}/access takes it."""

    user = forms.CharField(max_length=150, required=False)
    group = forms.CharField(max_length=150, required=False)
    role = forms.ChoiceField(choices=Grant.Role.choices)


class PublishForm(PageForm):
    is_public = forms.BooleanField(required=False)


class ConfidenceForm(ChosenCollectionForm):
    max_wrong_percent = forms.IntegerField(min_value=1, max_value=MAX_WRONG_PERCENT, required=False)
    learns_confidence = forms.BooleanField(required=False)


class StandingQuestionForm(PageForm):
    stop = forms.BooleanField(required=False)


class WebhookForm(PageForm):
    url = forms.CharField(max_length=MAX_WEBHOOK_URL_CHARS)
    events = forms.MultipleChoiceField(choices=WebhookEvent.choices)
    collection = CollectionField()


class WebhookStateForm(PageForm):
    delete = forms.BooleanField(required=False)
    send = forms.UUIDField(required=False)
    is_active = forms.BooleanField(required=False)
