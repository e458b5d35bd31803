"""How long each chapter takes, from a fresh kernel to its last cell.

    python benchmarks/chapters.py

The seconds go to chapters.json beside this file; the status page shows them.
"""

import datetime
import json
import os
import sys
import time
from pathlib import Path

import torch
from speed import processor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from chapter import chapters, read
from execute import execute

RESULTS = Path(__file__).with_name("chapters.json")


def main():
    seconds = {}
    for chapter in chapters():
        began = time.perf_counter()
        execute(read(chapter.path), chapter.path.parent)
        seconds[chapter.stem] = round(time.perf_counter() - began)
        print(f"{chapter.stem}: {seconds[chapter.stem]} s", flush=True)
    RESULTS.write_text(
        json.dumps(
            {
                "date": datetime.date.today().isoformat(),
                "processor": processor(),
                "threads": int(os.environ.get("BOOK_THREADS", "1")),
                "torch": torch.__version__,
                "seconds": seconds,
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
