import pytest

pytest.register_assert_rewrite("browsing")
from browsing import address, browser, specimen_site, visit  # noqa: E402, F401
