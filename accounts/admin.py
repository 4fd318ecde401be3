"""Admin pages of API keys, OpenID identities and the audit log."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.keys import revoke_key
from accounts.models import ApiKey, Event, Identity
from corpus.admin.base_admin import UndeletableAdmin

if TYPE_CHECKING:
    BaseUserAdmin = auth_admin.UserAdmin[User]
else:
    BaseUserAdmin = auth_admin.UserAdmin

# As Django registers them, their fields have none of the styles of the other pages.
admin.site.unregister([User, Group])


@admin.register(User)
class UserAdmin(BaseUserAdmin, ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    # Two lists side by side are wider than the page.
    filter_horizontal = ()


@admin.register(Group)
class GroupAdmin(auth_admin.GroupAdmin, ModelAdmin):
    filter_horizontal = ()


@admin.register(ApiKey)
class ApiKeyAdmin(UndeletableAdmin):
    list_display = ["name", "user", "token_key", "scopes", "state", "last_used_at", "expiry"]
    list_filter = ["user"]
    list_select_related = ["user"]
    exclude = ["digest"]
    actions = ["revoke"]

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_apikey")

    @admin.action(description="Revoke keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        for key in keys:
            revoke_key(key)
        self.message_user(request, f"{len(keys)} keys revoked.")


@admin.register(Identity)
class IdentityAdmin(ModelAdmin):
    """Admin page of identities, to add one if the provider does not verify e-mail addresses."""

    list_display = ["user", "subject", "issuer", "created_at", "last_used_at"]
    list_select_related = ["user"]


@admin.register(Event)
class EventAdmin(UndeletableAdmin):
    list_display = [
        "created_at", "username", "key_id", "action", "subject", "count", "status", "address",
    ]  # fmt: skip
    list_filter = ["action"]
    date_hierarchy = "created_at"
    search_fields = ["subject"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return Event.objects.named()

    @admin.display
    def username(self, event: Any) -> str:
        return event.username or ""
