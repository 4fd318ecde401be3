"""Helpers shared by the admin pages."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.forms import ActionForm

from corpus.errors import InvalidInput
from corpus.tags import MAX_TAG_CHARS, normalize_tags

# (deleted objects, counts by kind, missing permissions, protected rows)
Deletion = tuple[list[str], dict[str, int], set[str], list[str]]

# Styled as a link, which unfold does not do by itself.
LINK = "text-primary-600 dark:text-primary-500"


class UnaddableAdmin(ModelAdmin):
    """Shows rows that are not added by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(UnaddableAdmin):
    """Shows rows that are not edited by hand either."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class UndeletableAdmin(ReadOnlyAdmin):
    """Shows rows that are deleted with others only."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def link(url_name: str, key: object, text: object) -> SafeString:
    """Return a link to a row's page in the admin."""
    url = reverse(f"admin:{url_name}", args=[key])
    return format_html('<a class="{}" href="{}">{}</a>', LINK, url, text)


def link_list(url_name: str, lookup: str, key: object, text: object) -> SafeString:
    """Return a link to a list of the admin with one filter."""
    url = reverse(f"admin:{url_name}_changelist")
    return format_html('<a class="{}" href="{}?{}={}">{}</a>', LINK, url, lookup, key, text)


def counted_deletion(
    rows: Iterable[Any], *, protected: Iterable[Any] = (), **counts: int
) -> Deletion:
    """Return the counts of a deletion: Django would read every row."""
    named = {name.replace("_", " "): count for name, count in counts.items()}
    return [str(row) for row in rows], named, set(), [str(row) for row in protected]


def tag_action_form(actions: list[str]) -> type[ActionForm]:
    """Return an action form with a tag field for these actions."""
    looks = {
        "class": "bg-white px-2 py-1 rounded-default text-base-700",
        "placeholder": "tag",
        "aria-label": "Tag",
        "x-show": f"{actions}.includes(action)",
    }
    field = forms.CharField(
        label="",
        required=False,
        max_length=MAX_TAG_CHARS,
        widget=forms.TextInput(attrs=looks),
    )
    return type("TagActionForm", (ActionForm,), {"tag": field})


def read_tag(request: HttpRequest) -> str:
    """Return the normalized tag of an action, or "" after an error message."""
    try:
        names = normalize_tags([request.POST.get("tag", "")])
    except InvalidInput as exc:
        messages.error(request, str(exc))
        return ""
    if not names:
        messages.error(request, "Enter a tag beside the action.")
    return "".join(names)
