"""A new version or another address, in every place that names it.

python tools/release.py version 0.3.0
python tools/release.py address https://github.com/you/embedding-layer
python tools/release.py check https://github.com/you/embedding-layer

`check` is what publishing calls: Colab installs from the address and the version
that the chapters name, so the one must be the repository's own and the other
must be there, as a tag.
"""

import datetime
import re
import subprocess
import sys

import yaml
from chapter import ROOT, write
from sync import run, version

CONFIG, CITATION = ROOT / "_config.yml", ROOT / "CITATION.cff"
INIT = ROOT / "src/embedding_layer/__init__.py"


def put(file, line, value):
    """`value` for what follows `line` at the beginning of a line of the file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    (at,) = [i for i, text in enumerate(lines) if text.startswith(line)]
    lines[at] = line + value
    write(file, "\n".join(lines) + "\n")


def check(url):
    """What is wrong with publishing this book from the repository at `url`, or None."""
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    named = config["repository"]["url"]
    if named.lower() != url.lower():
        return (
            f"the chapters install from {named}, this repository is {url}: call "
            f"`make address URL={url}`, commit and push"
        )
    tag = f"v{version()}"
    asked = ["git", "ls-remote", "--exit-code", "--tags", "origin", tag]
    if subprocess.run(asked, cwd=ROOT, capture_output=True).returncode:
        return (
            f"the chapters install {tag}, and there is no such tag: call "
            f"`git tag {tag}` and `git push origin {tag}`"
        )


def main():
    match sys.argv[1:]:
        case ["version", new] if re.fullmatch(r"\d+\.\d+\.\d+", new):
            put(INIT, "__version__ = ", f'"{new}"')
            put(CITATION, "version: ", new)
            put(CITATION, "date-released: ", datetime.date.today().isoformat())
            run()
            print(
                f"release: version {new} is written. Commit, `git tag v{new}`, then "
                f"`git push --atomic origin main v{new}`"
            )
        case ["address", url] if re.fullmatch(r"https://[^/]+/[^/]+/[^/]+", url):
            owner, name = url.split("/")[-2:]
            put(CONFIG, "  url: ", url)
            put(CONFIG, "  baseurl: ", f"https://{owner.lower()}.github.io/{name}/")
            run()
            print(f"release: the address is {url}. Commit and push")
        case ["check", url]:
            if fault := check(url):
                sys.exit(f"release: {fault}")
        case _:
            sys.exit(__doc__.partition("\n\n")[2].partition("\n\n")[0])


if __name__ == "__main__":
    main()
