"""Pages of accounts: login, password, API keys, and the first user."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.audit import record_event
from accounts.authentication import scopes_of
from accounts.keys import create_key, revoke_key
from accounts.lockouts import remember_browser
from accounts.models import ApiKey
from accounts.setup_links import consume_setup_token, is_setup_token_valid
from corpus.access.principal import Scope, current_user_id
from corpus.endpoints import BodySize, Cost, Endpoint, endpoint
from corpus.errors import InvalidInput, NotFound
from web.forms import KEY_DAYS, KeyForm

# As logins that pass axes have it.
BACKEND = "django.contrib.auth.backends.ModelBackend"


@endpoint(
    GET=Endpoint(is_open=True), POST=Endpoint(is_open=True, cost=Cost.LOGIN, body=BodySize.SMALL)
)
class Login(LoginView):
    template_name = "web/login.html"
    next_page = "web:ask"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "provider": settings.PKB_OIDC_NAME}

    def form_valid(self, form: Any) -> HttpResponse:
        reply = super().form_valid(form)
        remember_browser(self.request, reply, user=form.get_user())
        return reply


@endpoint(POST=Endpoint(scope=Scope.READ))
class Logout(LogoutView):
    next_page = "web:login"


@endpoint(POST=Endpoint(scope=Scope.READ, cost=Cost.ENCODE, body=BodySize.SMALL))
class ChangePassword(PasswordChangeView):
    template_name = "web/password.html"
    success_url = reverse_lazy("web:keys")

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        _find_user()
        return super().dispatch(*args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        record_event("change_password")
        return super().form_valid(form)


@endpoint(POST=Endpoint(scope=Scope.READ))
@never_cache
@require_http_methods(["GET", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    """Show the user's API keys, and a new one this once."""
    user = _find_user()
    context: dict[str, Any] = {}
    if request.method == "POST":
        fields = KeyForm.read(request.POST)
        context["made"], context["key"] = create_key(
            user,
            name=fields["name"],
            scopes=fields["scope"],
            days=fields["days"],
            networks=fields["networks"],
            collections=fields["collections"],
        )
    context["keys"] = ApiKey.objects.filter(user=user)
    context["scopes"] = sorted(scopes_of(user), reverse=True)
    return render(request, "web/keys.html", {**context, "user": user, "days": KEY_DAYS})


@endpoint(POST=Endpoint(scope=Scope.READ))
@require_POST
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    key = ApiKey.objects.filter(user=_find_user(), pk=key_id).first()
    if key is None:
        raise NotFound(f"You have no key {key_id}.")
    revoke_key(key)
    return redirect("web:keys")


@endpoint(
    GET=Endpoint(is_open=True), POST=Endpoint(is_open=True, cost=Cost.LOGIN, body=BodySize.SMALL)
)
@never_cache
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Create the first user, an administrator, with the link that the terminal printed."""
    token = request.POST.get("token") or request.GET.get("token", "")
    if not is_setup_token_valid(token):
        raise NotFound("This link has expired or was used. Restart pkb to get a new one.")
    form: UserCreationForm[Any] = UserCreationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            if not consume_setup_token(token):
                raise InvalidInput("This link was just used. Log in.")
            user = form.save(commit=False)
            user.is_staff = user.is_superuser = True
            user.save()
        login(request, user, backend=BACKEND)
        return redirect("web:library")
    return render(request, "web/setup.html", {"form": form, "token": token})


def _find_user() -> Any:
    """Return who is logged in.

    Raises:
        NotFound: No login is asked for, and so nobody is.
    """
    user_id = current_user_id()
    user = get_user_model().objects.filter(pk=user_id).first() if user_id else None
    if user is None:
        raise NotFound("Login is off (PKB_AUTH), so there are no accounts and no API keys.")
    return user
