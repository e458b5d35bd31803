"""Build the site, open it, serve it.

python tools/pages.py build | open | serve [port]
"""

import functools
import gzip
import http.server
import io
import os
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path
from urllib.parse import urlparse

import yaml
from chapter import ROOT
from env import progress

HTML = ROOT / "_build/html"
EBOOK = HTML / "embedding-layer.epub"
# The pinned one that `make test` brings on Linux x64, then the system's own.
BROWSERS = (
    str(ROOT / ".venv/browser/start"),
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge", "microsoft-edge-stable"),
    *(
        f"/Applications/{name}.app/Contents/MacOS/{name}"
        for name in ("Google Chrome", "Chromium", "Microsoft Edge")
    ),
)
# The landing page itself; the root's index.html only sends there.
START = HTML / "book/index.html"


def build(root=ROOT):
    """Stored outputs to pages. A warning ends the build.

    From nothing each time: Sphinx does not see changes in our extension.
    Site and e-book are made at the same time.
    """
    shutil.rmtree(root / "_build", ignore_errors=True)
    work = root / "_build/ebook"
    work.mkdir(parents=True)
    with progress("site: building the pages and the ePub"):
        both = [jupyter_book(root), jupyter_book(root, *as_ebook(root, work))]
        said = [made.communicate()[0] for made in both]
    for made, text in zip(both, said, strict=True):
        if made.returncode:
            print("\n" + text)
            if made.returncode < 0:
                sys.exit(f"site: the build was ended by signal {-made.returncode}")
            sys.exit("site: the build failed; the warnings above say where")
    shutil.copy(work / "_build/epub" / EBOOK.name, root / "_build/html")


def jupyter_book(root, *more):
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", ".", "-W", "-n", "--keep-going", "-q", *more]
    return subprocess.Popen(
        command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def as_ebook(root, work):
    """What makes the same pages one file; the site links to it."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    sphinx = config["sphinx"]
    sphinx["local_extensions"] = {
        name: str(root / "book/_ext")
        for name in (*sphinx["local_extensions"], "book_epub")
        if name != "book_weight"
    }
    sphinx["config"].update(
        html_static_path=["book/_epub"],
        html_js_files=[],
        html_css_files=["ebook.css"],
        project=config["title"],
        version="1",
        epub_title=config["title"],
        epub_basename=EBOOK.stem,
        epub_tocscope="includehidden",
        epub_show_urls="no",
        epub_description="An executable book, as text",
        epub_contributor=config["author"],
        epub_identifier=EBOOK.stem,
        epub_uid=EBOOK.stem,
    )
    changed = work / "_config.yml"
    changed.write_text(yaml.safe_dump(config), encoding="utf-8")
    into = ("--config", changed, "--path-output", work)
    return (*into, "--builder", "custom", "--custom-builder", "epub")


def open_page():
    print(f"site: built. Open {START.relative_to(ROOT)} in a browser")
    desktop = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if desktop and not os.environ.get("CI"):
        webbrowser.open(START.as_uri())


class Host(http.server.SimpleHTTPRequestHandler):
    """The site as a host has it: packed, under its path, with its 404 page."""

    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    prefix = urlparse(config["html"]["baseurl"]).path
    quiet = False

    def __init__(self, *args):
        super().__init__(*args, directory=str(HTML))

    def translate_path(self, path):
        if path.startswith(self.prefix):
            path = "/" + path.removeprefix(self.prefix)
        return super().translate_path(path)

    def send_head(self):
        file = Path(self.translate_path(self.path))
        accepts = "gzip" in self.headers.get("Accept-Encoding", "")
        if (
            file.is_file()
            and accepts
            and file.suffix in (".html", ".css", ".js", ".svg")
        ):
            return self.answer(200, file)
        return super().send_head()

    def send_error(self, code, message=None, explain=None):
        if code != 404:
            return super().send_error(code, message, explain)
        answer = self.answer(404, HTML / "404.html")
        if self.command != "HEAD":
            self.copyfile(answer, self.wfile)

    def answer(self, code, file):
        body = packed(file, file.stat().st_mtime_ns)
        self.send_response(code)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return io.BytesIO(body)

    def log_message(self, *args):
        if not self.quiet:
            super().log_message(*args)


@functools.lru_cache
def packed(file, written):
    return gzip.compress(file.read_bytes(), mtime=0)


def server(port=0):
    """A server of the built site on this machine; port 0 takes a free one."""
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Host)


def chromium():
    """The path of a Chromium on this machine, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def serve(port):
    try:
        site = server(port)
    except OSError:
        sys.exit(
            f"site: port {port} is in use; name another: make serve PORT={port + 1}"
        )
    print(f"site: http://127.0.0.1:{port}/ (Ctrl+C ends)", flush=True)
    try:
        site.serve_forever()
    except KeyboardInterrupt:
        print()


def main():
    match sys.argv[1:]:
        case ["build"]:
            build()
        case ["open"]:
            open_page()
        case ["serve", port] if port.isdigit():
            serve(int(port))
        case _:
            sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
