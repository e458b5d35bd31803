"""Fetch what the site serves itself, so that a page asks nobody else.

Two npm packages, pinned by version and checksum, go to book/_static/vendor.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from chapter import ROOT

VENDOR = ROOT / "book/_static/vendor"
# (package, folder, what is taken, SHA-512 as npm states it)
PACKAGES = [
    (
        # The style and fonts of the formulas; sphinxcontrib-katex has the code.
        "katex@0.16.22",
        "katex",
        ("dist/katex.min.css", "dist/fonts/*.woff2", "LICENSE"),
        "XCHRdUw4lf3SKBaJe4EvgqIuWwkPSo9XoeO8GjQW94Bp7TWv9hNhzZjZ"
        "+OH9yf1UmLygb7DIT5GSFQiyt16zYg==",
    ),
    (
        # Shows saved ipywidgets without a kernel.
        "@jupyter-widgets/html-manager@1.0.15",
        "widgets",
        ("dist/embed.js", "dist/embed.js.LICENSE.txt", "dist/*.woff2"),
        "5thBIV6ymNgmPVOHvzx+gGy8ZSKmSazhtGw4/c4xJDVzRhG9PTeQsRjF3FUTopvFi"
        "//SABeNz1yp47bCrJ3CQA==",
    ),
]


def fetch(name, into):
    """The npm package as a file in the folder `into`."""
    npm = Path(sys.executable).with_name("npm")
    done = subprocess.run(
        [npm, "pack", "--silent", name], cwd=into, capture_output=True, text=True
    )
    files = list(Path(into).glob("*.tgz"))
    if done.returncode or len(files) != 1:
        reason = (done.stderr.strip().splitlines() or ["no answer"])[0]
        sys.exit(f"vendor: npm could not fetch {name} ({reason}); network?")
    return files[0]


def unpack(file, wanted, folder):
    with tarfile.open(file) as tar:
        for member in tar.getmembers():
            path = Path(member.name).relative_to("package")
            if member.isfile() and any(path.match(w) for w in wanted):
                inside = path.relative_to("dist") if path.parts[0] == "dist" else path
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(tar.extractfile(member).read())


def main():
    wanted = "\n".join(name + " " + digest for name, _, _, digest in PACKAGES)
    stamp = VENDOR / "made-from"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    new = VENDOR.with_name("vendor.new")
    shutil.rmtree(new, ignore_errors=True)
    for name, folder, files, digest in PACKAGES:
        print(f"vendor: fetching {name}", flush=True)
        with tempfile.TemporaryDirectory() as into:
            file = fetch(name, into)
            found = base64.b64encode(hashlib.sha512(file.read_bytes()).digest())
            if found.decode() != digest:
                sys.exit(f"vendor: {name} has another checksum than pinned")
            unpack(file, files, new / folder)
    (new / "made-from").write_text(wanted)
    shutil.rmtree(VENDOR, ignore_errors=True)
    new.rename(VENDOR)


if __name__ == "__main__":
    main()
