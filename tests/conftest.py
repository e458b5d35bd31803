import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import pytest  # noqa: E402

pytest.register_assert_rewrite("browsing")
from browsing import address, browser, visit  # noqa: E402, F401
