"""Lighthouse on the landing page and the heaviest chapter: medians of five.

    make lighthouse

Needs a network once, for npm, and a Chromium. The scores go to
lighthouse.json beside this file; the status page shows them.
"""

import datetime
import json
import os
import statistics
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from pages import HTML, Host, chromium, packed, server  # noqa: E402

PACKAGE = "lighthouse@13.5.0"
FOLDER = ROOT / ".venv/lighthouse"
RESULTS = Path(__file__).with_name("lighthouse.json")
RUNS = 5
LOWEST = {"accessibility": 95, "best-practices": 95, "seo": 95}
PERFORMANCE = {"mobile": 90, "desktop": 95}
CHROME = "--headless=new --no-sandbox --disable-background-networking"


def program():
    """Lighthouse's own command, fetched by npm if it is not here yet."""
    command = FOLDER / "node_modules/.bin/lighthouse"
    if not command.exists():
        print(f"lighthouse: fetching {PACKAGE}", flush=True)
        FOLDER.mkdir(exist_ok=True)
        npm = Path(sys.executable).with_name("npm")
        done = subprocess.run(
            [
                npm,
                "install",
                "--no-save",
                "--no-audit",
                "--no-fund",
                "--silent",
                PACKAGE,
            ],
            cwd=FOLDER,
        )
        if done.returncode:
            sys.exit(f"lighthouse: npm could not fetch {PACKAGE}; network?")
    return command


def scores(command, page, form, browser):
    """The four scores of one run, out of 100."""
    done = subprocess.run(
        [
            command,
            page,
            "--quiet",
            "--output=json",
            f"--chrome-flags={CHROME}",
            f"--only-categories=performance,{','.join(LOWEST)}",
            *(["--preset=desktop"] if form == "desktop" else []),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        stdin=subprocess.DEVNULL,
        env={
            **os.environ,
            "CHROME_PATH": browser,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
    )
    if done.returncode:
        sys.exit(f"lighthouse: {page}: {done.stderr.strip() or 'no answer'}")
    found = json.loads(done.stdout)
    version = found["lighthouseVersion"]
    return version, {k: round(100 * c["score"]) for k, c in found["categories"].items()}


def main():
    browser = chromium()
    if browser is None:
        sys.exit("lighthouse: no Chromium found; install it")
    command = program()
    heaviest = max(HTML.glob("notebooks/*.html"), key=lambda p: len(packed(p, 0)))
    Host.quiet = True
    site = server()
    threading.Thread(target=site.serve_forever, daemon=True).start()
    rows, low = [], []
    for page in ("book/index.html", f"notebooks/{heaviest.name}"):
        for form, fast in PERFORMANCE.items():
            address = f"http://127.0.0.1:{site.server_port}/{page}"
            runs = [scores(command, address, form, browser) for _ in range(RUNS)]
            row = {
                name: int(statistics.median(run[name] for _, run in runs))
                for name in ("performance", *LOWEST)
            }
            print(f"lighthouse: {page}, {form}: {row}", flush=True)
            low += [
                f"{page}, {form}: {name} {row[name]} < {least}"
                for name, least in {"performance": fast, **LOWEST}.items()
                if row[name] < least
            ]
            rows.append({"page": page, "form": form, **row})
    RESULTS.write_text(
        json.dumps(
            {
                "lighthouse": runs[0][0],
                "runs": RUNS,
                "date": datetime.date.today().isoformat(),
                "pages": rows,
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )
    if low:
        sys.exit("lighthouse: too low: " + "; ".join(low))


if __name__ == "__main__":
    main()
