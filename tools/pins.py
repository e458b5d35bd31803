"""Resolve what requirements.txt brings, for all promised Pythons at once.

Writes constraints.txt. A pin there stays as long as it can; remove its line,
and it moves to the newest release that fits.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from env import PYTHONS

ROOT = Path(__file__).resolve().parent.parent
UV = "uv==0.13.9"
HEAD = """\
# The rest of the resolved set, held still; direct packages: requirements.txt.
# Holds for every Python from 3.11.0 to 3.13: `make pins` writes it.
"""
OLDEST = "{}.{}.0".format(*PYTHONS[0])
BEYOND = f"{PYTHONS[-1][0]}.{PYTHONS[-1][1] + 1}"
HERE = f"implementation_name == 'cpython' and python_full_version < '{BEYOND}'"
# Where the book runs; Windows runs it in WSL.
PLACES = f"""\
[project]
name = "book"
version = "0"
requires-python = ">={OLDEST}"
[tool.uv]
environments = [
    "{HERE} and sys_platform == 'linux'",
    "{HERE} and sys_platform == 'darwin'",
]
"""
# Other builds of PyTorch need others of these; each names its own exactly.
LEFT_TO_TORCH = re.compile("nvidia-|cuda-|triton")


def run(*command, **more):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, **more)
    if done.returncode:
        sys.exit("pins: nothing was written; the lines above say why")
    return done.stdout


def resolve(wanted, kept):
    """All pins that `wanted` brings, each kept as in `kept` if it can be."""
    with tempfile.TemporaryDirectory() as place:
        run(sys.executable, "-m", "venv", f"{place}/uv")
        run(f"{place}/uv/bin/pip", "install", "--quiet", UV)
        Path(place, "pyproject.toml").write_text(PLACES, encoding="utf-8")
        pins = Path(place, "constraints.txt")
        pins.write_text(kept, encoding="utf-8")
        run(
            *(f"{place}/uv/bin/uv", "pip", "compile", "-", "--universal", "--quiet"),
            *("--no-annotate", "--no-header", "--output-file", pins.name),
            # One version for all Pythons, not the newest for each.
            *("--fork-strategy", "fewest", "--python-version", OLDEST),
            cwd=place,
            input=wanted,
        )
        return pins.read_text(encoding="utf-8").splitlines()


def main():
    constraints = ROOT / "constraints.txt"
    wanted = (
        (ROOT / "requirements.txt")
        .read_text(encoding="utf-8")
        .replace("-c constraints.txt", "")
    )
    direct = set(re.findall(r"^([\w.-]+)==", wanted, re.M))
    pins = resolve(wanted, constraints.read_text(encoding="utf-8"))
    names = Counter(pin.split("==")[0] for pin in pins)
    # A constraint binds only what is installed anyway: the only version of a
    # package needs no marker.
    lines = [
        pin if names[name] > 1 else pin.split(" ;")[0]
        for pin in pins
        for name in [pin.split("==")[0]]
        if name not in direct and not LEFT_TO_TORCH.match(name)
    ]
    constraints.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"pins: {len(lines)} beside the {len(direct)} direct packages")


if __name__ == "__main__":
    main()
