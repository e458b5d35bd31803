"""Build the site, open it, serve it.

    python tools/pages.py build | open | serve [port]
"""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import webbrowser
from pathlib import Path

from notebooks import ROOT

HTML = ROOT / "_build/html"
# The landing page itself; the root's index.html only sends there.
START = HTML / "book/index.html"


def build():
    """Stored outputs to pages. A warning ends the build.

    From nothing each time: Sphinx does not see changes in our extension.
    """
    shutil.rmtree(ROOT / "_build", ignore_errors=True)
    command = ["jupyter-book", "build", ".", "-W", "-n", "--keep-going", "-q"]
    command[0] = str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run(command, cwd=ROOT)
    if done.returncode:
        sys.exit("site: the build failed; the warnings above say where")


def open_page():
    print(f"site: built. Open {START.relative_to(ROOT)} in a browser")
    desktop = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if desktop and not os.environ.get("CI"):
        webbrowser.open(START.as_uri())


def serve(port):
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(HTML)
    )
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        sys.exit(f"site: port {port} is in use; name another: make serve PORT={port + 1}")
    print(f"site: http://127.0.0.1:{port}/ (Ctrl+C ends)", flush=True)
    try:
        server.serve_forever()
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
