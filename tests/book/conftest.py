import pytest

pytest.register_assert_rewrite("browsing")
from browsing import address, browser, visit  # noqa: E402, F401  pytest's fixtures
