"""Whatever a site says, nothing but the site is connected to."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from corpus import public_web
from corpus.models import Collection, Document, Job
from corpus.sites import SiteLimits, add_site, refresh_site
from tests.support.documents import LIGHTHOUSE
from tests.support.jobs import run_job
from tests.support.ports import was_asked
from tests.support.site_server import Site, page, serving

pytestmark = pytest.mark.usefixtures("cheap_model")

# Each with the port of a listener that nobody is to ask.
FORBIDDEN = (
    "http://127.0.0.1:{port}/ http://localhost:{port}/ http://2130706433:{port}/ "
    "http://0x7f000001:{port}/ http://0177.0.0.1:{port}/ http://127.1:{port}/ http://0:{port}/ "
    "http://[::1]:{port}/ http://[::ffff:127.0.0.1]:{port}/ http://[::ffff:7f00:1]:{port}/ "
    "http://[64:ff9b::7f00:1]:{port}/ http://[2002:7f00:1::]:{port}/ http://LOCALHOST.:{port}/ "
    "http://10.0.0.1:{port}/ http://172.16.0.1:{port}/ http://192.168.0.1:{port}/ "
    "http://100.64.0.1:{port}/ http://169.254.169.254:{port}/latest/meta-data/ "
    "http://metadata.google.internal:{port}/ http://[fd00:ec2::254]:{port}/ "
    "http://[fe80::1]:{port}/ http://user@127.0.0.1:{port}/ //127.0.0.1:{port}/ "
    "https://127.0.0.1:{port}/ file:///etc/passwd gopher://127.0.0.1:{port}/ "
    "ftp://127.0.0.1:{port}/ http://[::1 http://127.0.0.1:{port}\\@localhost/"
).split()


@pytest.fixture
def site(fetching: None) -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, int]]:
    """What a connection was tried to."""
    tried: set[tuple[str, int]] = set()
    connect = socket.create_connection

    def note(address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        tried.add(address)
        return connect(address, *args, **options)

    monkeypatch.setattr(socket, "create_connection", note)
    return tried


def crawl(url: str) -> Job:
    kept, _ = add_site(url, SiteLimits(), collection=Collection.objects.get_named("default"))
    job = refresh_site(kept.pk)
    return run_job(job)


def test_no_link_sitemap_canonical_or_redirect_leads_out_of_the_site(
    site: Site, listener: socket.socket, connected: set[tuple[str, int]]
) -> None:
    named = [each.format(port=listener.getsockname()[1]) for each in FORBIDDEN]
    lines = [f"Sitemap: {each}" for each in named]
    site.says("/robots.txt", "\n".join([*lines, "Sitemap: /list", "Sitemap: /moved"]).encode())
    entries = "".join(f"<url><loc>{each}</loc></url>" for each in named)
    lists = "".join(f"<sitemap><loc>{each}</loc></sitemap>" for each in named)
    site.says("/sitemap.xml", f"<urlset>{entries}</urlset>".encode())
    site.says("/list", f"<sitemapindex>{lists}</sitemapindex>".encode())
    site.leads("/moved", named[0])
    redirects = [f"/to/{number}" for number in range(len(named))]
    for path, target in zip(redirects, named, strict=True):
        site.leads(path, target)
    head = "".join(f'<link rel="canonical" href="{each}">' for each in named)
    site.has("/", page("Coast", LIGHTHOUSE, *named, *redirects, head=head))
    job = crawl(f"{site.url}/")
    assert (job.status, job.done) == ("succeeded", 1 + len(named))
    assert connected == {("127.0.0.1", site.server_port)}
    assert not was_asked(listener)


@pytest.mark.parametrize("status", [301, 302])
def test_robots_txt_and_first_page_lead_nowhere_else(
    site: Site, listener: socket.socket, connected: set[tuple[str, int]], status: int
) -> None:
    for path in ("/", "/robots.txt"):
        site.leads(path, f"http://127.0.0.1:{listener.getsockname()[1]}/", status)
        assert crawl(f"{site.url}/").status == "failed"
        del site.pages[path]
    assert connected == {("127.0.0.1", site.server_port)}
    assert not was_asked(listener)


def test_a_host_that_is_another_machine_the_next_time_is_not_asked_there(
    site: Site, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was public and is not any more: its documents stay."""
    settings.PKB_FETCH_HOSTS = set()
    site.has("/", page("Coast", LIGHTHOUSE, "/a"))
    site.has("/a", page("Bavoke", LIGHTHOUSE * 2))
    found = iter([*["93.184.216.34"] * 3, *["127.0.0.1"] * 9])
    tried: list[str] = []
    connect = socket.create_connection

    def resolve(host: str, port: int, **options: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(found), port))]

    def to_the_site(address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        tried.append(address[0])
        return connect(("127.0.0.1", site.server_port), *args, **options)

    monkeypatch.setattr(public_web, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", to_the_site)
    job = crawl("http://coast.example/")
    assert (job.status, job.done, job.failed) == ("failed", 1, 1)
    assert "no public IP address" in job.errors[0]["reason"]
    assert tried == ["93.184.216.34"] * 3
    crawl("http://coast.example/")
    assert len(tried) == 3
    assert Document.objects.get().title == "Coast"
