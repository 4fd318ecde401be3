"""Logging in with a browser at an OpenID provider, which is a process of its own."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import chromium
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, provider_process
from tests.support.processes import wait_for_environment

pytestmark = pytest.mark.slow


def test_a_browser_logs_in_at_the_provider_and_out_again(live_server: Any, settings: Any) -> None:
    python = wait_for_environment("clients") / "bin" / "python"
    with provider_process(python) as provider, chromium() as browser:
        provider.knows("s-1", preferred_username="ida")
        settings.PKB_AUTH_REQUIRED = settings.PKB_OIDC_CREATE_USERS = True
        settings.PKB_OIDC_ISSUER = provider.issuer
        settings.PKB_OIDC_NAME = "the harbour office"
        settings.PKB_OIDC_CLIENT_ID = CLIENT_ID
        settings.PKB_OIDC_CLIENT_SECRET = CLIENT_SECRET
        page = browser.new_page(base_url=live_server.url)
        page.goto("/ui/jobs")
        page.get_by_role("link", name="Log in with the harbour office").click()
        page.get_by_placeholder("sub").fill("s-1")
        page.get_by_role("button", name="Authorize").click()
        expect(page).to_have_url(f"{live_server.url}/ui/jobs")
        page.get_by_role("link", name="Account").click()
        expect(page.locator("h1")).to_have_text("ida")
        page.get_by_role("button", name="Log out").click()
        expect(page).to_have_url(re.compile("/ui/login$"))
        page.goto("/ui/login/openid/callback?code=a&state=b")
        expect(page.locator(".problem")).to_contain_text("started in another browser")
        page.get_by_role("link", name="Go to login").click()
        expect(page.get_by_label("Password")).to_be_visible()
        page.close()
