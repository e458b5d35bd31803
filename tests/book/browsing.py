"""The built site, and Chromium to open it as a reader without a network."""

import os
import threading
from urllib.parse import urljoin

import pytest
from chapter import chapters
from pages import HTML, Host, chromium, server
from playwright.sync_api import sync_playwright

PAGES = sorted(
    str(p.relative_to(HTML))
    for p in HTML.glob("*/*.html")
    if not p.parent.name.startswith("_")
)
CHAPTERS = [f"{chapter.page}.html" for chapter in chapters()]
NO_BROWSER = "no browser on this machine"
by_http_and_from_a_file = pytest.mark.parametrize(
    "base", [None, f"{HTML.as_uri()}/"], ids=["http", "file"]
)
# embed.js checks the saved state with a schema that its checker finds odd.
KNOWN = ("strict mode: use allowUnionTypes",)


@pytest.fixture(scope="module")
def address():
    Host.quiet = True
    site = server()
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{site.server_port}/"
    site.shutdown()
    site.server_close()


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-sync",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Open a page; afterwards nothing outside was asked, no error was told."""
    told, contexts = [], []

    def ours(url):
        return url.startswith((address, "file:", "data:", "blob:"))

    def visit(page_name, width=1280, scheme="light", base=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("request", lambda r: ours(r.url) or told.append(f"asked {r.url}"))
        page.on("pageerror", lambda e: told.append(f"error {e}"))
        page.on("response", lambda r: r.ok or told.append(f"{r.status} {r.url}"))
        page.on(
            "console",
            lambda m: (
                m.type in ("error", "warning")
                and not m.text.startswith(KNOWN)
                and told.append(f"console: {m.text}")
            ),
        )
        page.goto(urljoin(base or address, page_name))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert told == []


def wake(page):
    """Bring the page's widget into view, if it has one, and wait until it lives."""
    still = page.locator(".widget-still")
    if not still.count():
        return False
    still.scroll_into_view_if_needed()
    page.locator(".widget-subarea .noUi-handle").wait_for()
    return True
