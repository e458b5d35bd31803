import pytest

pytest.register_assert_rewrite("browsing")
from browsing import (  # noqa: E402, F401
    address,
    browser,
    specimen_folder,
    specimen_site,
    visit,
)
