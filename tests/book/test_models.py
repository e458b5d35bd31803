"""Facts from outside: each row says where it was read."""

import datetime
import json
import re

from chapter import ROOT

MODELS = json.loads(
    (ROOT / "src/book_helpers/data/models.json").read_text(encoding="utf-8")
)["models"]


def test_each_row_names_its_source_and_has_every_field():
    assert len(MODELS) >= 10
    fields = set(MODELS[0])
    for row in MODELS:
        assert set(row) == fields
        assert re.fullmatch(r"[0-9a-f]{40}", row["commit"])
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", row["repository"])
        assert row["path"].endswith(".py")
        assert datetime.date.fromisoformat(row["read"]).year == 2026
        assert row["rows"] > 10_000 and row["columns"] > 100
        assert bool(row["extra"]) == bool(row["extra_rows"])
    assert len({row["model"] for row in MODELS}) == len(MODELS)
    assert [row["year"] for row in MODELS] == sorted(row["year"] for row in MODELS)
