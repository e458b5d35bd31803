"""Fetch what the book needs and Python's index does not have.

`vendor.py`: three npm packages that the site serves itself, so that a page asks
nobody else; they go to book/_static/vendor. `vendor.py browser`: a Chromium for
the tests, on Linux x64; it goes to .venv/browser. Each is pinned by version and
checksum.
"""

import base64
import hashlib
import io
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from chapter import ROOT
from env import Failed, progress

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
    (
        # GPT-2's tokenizer, for "Your own sentence".
        "gpt-tokenizer@3.4.0",
        "tokenizer",
        ("dist/r50k_base.js", "LICENSE"),
        "wxFLnhIXTDjYebd9A9pGl3e31ZpSypbpIJSOswbgop5jLte/AsZVDvjlbEuVFlsqZixV"
        "KqbcoNmRlFDf6pz/UQ==",
    ),
]
# Built for machines that have nothing: headless, with the libraries it needs.
CHROMIUM = (
    "@sparticuz/chromium@153.0.0",
    ".",
    ("bin/*.br", "LICENSE"),
    "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7"
    "n88byyT0vk+dnsgQwA==",
)
BROWSER = ROOT / ".venv/browser"
# Its own fonts and Matplotlib's, and no others: the same page on each machine.
FONTS = """\
<?xml version="1.0"?>
<fontconfig>
  <dir>{browser}/fonts</dir>
  <dir>{matplotlib}</dir>
  <cachedir>{browser}/cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias>
    <family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer>
  </alias>
</fontconfig>
"""
START = """\
#!/bin/sh
export LD_LIBRARY_PATH="{browser}/lib" FONTCONFIG_FILE="{browser}/fonts.conf"
exec "{browser}/chromium" "$@"
"""


class Unreachable(Failed):
    pass


def fetch(name, into):
    """The npm package as a file in the folder `into`."""
    npm = Path(sys.executable).with_name("npm")
    done = subprocess.run(
        [npm, "pack", "--silent", name], cwd=into, capture_output=True, text=True
    )
    files = list(Path(into).glob("*.tgz"))
    if done.returncode or len(files) != 1:
        reason = (done.stderr.strip().splitlines() or ["no answer"])[0]
        raise Unreachable(f"npm could not fetch {name} ({reason}); network?")
    return files[0]


def unpack(tar, folder, wanted=("*",), root="."):
    """The wanted files of an archive, links and other odd things left out."""
    for member in tar.getmembers():
        path = Path(member.name).relative_to(root)
        if member.isfile() and any(path.match(w) for w in wanted):
            inside = path.relative_to("dist") if path.parts[0] == "dist" else path
            target = folder / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())


def made(folder, wanted, fill):
    """`folder`, as `fill` makes it: whole or not at all. Not made twice."""
    stamp = folder / "made-from"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    new = folder.with_name(folder.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        fill(new)
        (new / "made-from").write_text(wanted, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def bring(packages, folder, finish=lambda new: None):
    def fill(new):
        for name, inside, files, digest in packages:
            with (
                progress(f"vendor: fetching {name}"),
                tempfile.TemporaryDirectory() as into,
            ):
                file = fetch(name, into)
                found = base64.b64encode(hashlib.sha512(file.read_bytes()).digest())
                if found.decode() != digest:
                    raise Failed(f"{name} has another checksum than pinned")
                with tarfile.open(file) as tar:
                    unpack(tar, new / inside, files, "package")
        finish(new)

    wanted = "\n".join(name + " " + digest for name, _, _, digest in packages)
    made(folder, wanted, fill)


def unpack_browser(new):
    import brotli
    import matplotlib

    def packed(name):
        return brotli.decompress((new / f"bin/{name}.br").read_bytes())

    (new / "chromium").write_bytes(packed("chromium"))
    for name in ("al2023.tar", "fonts.tar"):
        with tarfile.open(fileobj=io.BytesIO(packed(name))) as tar:
            unpack(tar, new)
    shutil.rmtree(new / "bin")
    places = {"browser": BROWSER, "matplotlib": f"{matplotlib.get_data_path()}/fonts"}
    (new / "fonts.conf").write_text(FONTS.format(**places), encoding="utf-8")
    (new / "start").write_text(START.format(**places), encoding="utf-8")
    for name in ("chromium", "start"):
        (new / name).chmod(0o755)


def main():
    try:
        if sys.argv[1:] != ["browser"]:
            bring(PACKAGES, VENDOR)
        elif (sys.platform, platform.machine()) == ("linux", "x86_64"):
            bring([CHROMIUM], BROWSER, unpack_browser)
    except Unreachable as error:
        if sys.argv[1:] != ["browser"]:
            sys.exit(f"vendor: {error}")
        print(f"vendor: {error} The tests look for a browser of the system.")
    except (Failed, OSError) as error:
        sys.exit(f"vendor: {error}")
    except KeyboardInterrupt:
        sys.exit("vendor: stopped; the next call begins where this one began")


if __name__ == "__main__":
    main()
