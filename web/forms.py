"""What the pages are sent: parsed, bounded, cleaned."""

from typing import Any

from django import forms
from django.http import QueryDict

from corpus.errors import InvalidInput
from corpus.models import DEFAULT_COLLECTION, Document, Job
from corpus.tags import normalize_tags

MODES = [
    ("hybrid", "Meaning and words"),
    ("semantic", "Meaning only"),
    ("lexical", "Words only"),
]


class Tags(forms.Field):
    """Repeated values, or several in one, separated by commas; cleaned to a tuple of names."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> tuple[str, ...]:
        return normalize_tags(name for part in value or [] for name in str(part).split(","))


class CollectionField(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, required=False, **kwargs)

    def clean(self, value: Any) -> str:
        return super().clean(value) or DEFAULT_COLLECTION


class PageForm(forms.Form):
    @classmethod
    def read(cls, sent: QueryDict, **kwargs: Any) -> dict[str, Any]:
        """Return the cleaned values.

        Raises:
            InvalidInput: A value is out of its bounds.
        """
        form = cls(sent, **kwargs)
        if not form.is_valid():
            field, messages = next(iter(form.errors.items()))
            raise InvalidInput(" ".join(str(message) for message in messages), field=field)
        return form.cleaned_data


class SearchForm(PageForm):
    q = forms.CharField(max_length=1_000, required=False)
    collection = CollectionField()
    tag = Tags(required=False)
    mode = forms.ChoiceField(choices=MODES, required=False)
    threshold = forms.FloatField(min_value=0, max_value=1, required=False)
    rerank = forms.BooleanField(required=False)
    page = forms.IntegerField(min_value=1, max_value=5, required=False)


class LibraryFilter(PageForm):
    q = forms.CharField(max_length=1_000, required=False)
    # Empty: all collections.
    collection = forms.CharField(max_length=100, required=False)
    tag = Tags(required=False)
    status = forms.ChoiceField(choices=Document.Status.choices, required=False)
    page = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)


class JobFilter(PageForm):
    status = forms.ChoiceField(choices=Job.Status.choices, required=False)
    page = forms.IntegerField(min_value=1, max_value=1_000_000, required=False)


class _Target(PageForm):
    collection = CollectionField()
    tags = forms.CharField(max_length=2_000, required=False)

    def clean_tags(self) -> tuple[str, ...]:
        return normalize_tags(self.cleaned_data["tags"].split(","))


class UploadForm(_Target):
    """The files themselves are in ``request.FILES``."""


class PasteForm(_Target):
    title = forms.CharField(max_length=512, required=False)
    text = forms.CharField(strip=False)


class FolderForm(_Target):
    content_path = forms.CharField(max_length=4096, strip=False)


class CollectionForm(PageForm):
    name = forms.CharField(max_length=100)
    description = forms.CharField(max_length=10_000, required=False)


class TagsForm(PageForm):
    tags = forms.CharField(max_length=2_000, required=False)

    def clean_tags(self) -> tuple[str, ...]:
        return normalize_tags(self.cleaned_data["tags"].split(","))


class SpanForm(PageForm):
    """A span of a document's text, in characters; ``sha`` is the version it belongs to."""

    start = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)
    end = forms.IntegerField(min_value=1, max_value=2**31 - 1, required=False)
    sha = forms.RegexField("^[0-9a-f]{64}$", required=False)


class NearestForm(PageForm):
    q = forms.CharField(max_length=2_000)
    collection = CollectionField()
    tag = Tags(required=False)


class MapForm(PageForm):
    collection = CollectionField()
