"""The benchmark runs, and chapter 6 shows what it stored."""

import json
import sys

import lighthouse
import speed
from chapter import ROOT, Chapter, chapters

RECORD = json.loads((ROOT / "benchmarks/results.json").read_text(encoding="utf-8"))


def test_the_stored_results_keep_every_promise():
    for memory in speed.MEMORY:
        text = speed.report(RECORD["milliseconds"][memory])
        assert "BROKEN" not in text
        assert text.count("kept") == len(speed.TARGETS) + 1


def test_chapter_6_shows_the_stored_results_and_names_the_machine():
    cells = Chapter(ROOT / "notebooks/06_embedding_layer.ipynb").cells
    (shown,) = [c.source for c in cells if speed.markdown(RECORD) in c.source]
    assert RECORD["processor"] in shown
    assert f"{RECORD['threads']} threads" in shown


def test_the_benchmark_runs_and_writes_its_results(tmp_path, monkeypatch):
    """One memory is measured, in its own process; it stands for both here."""
    once = speed.run("kept", ["--quick", "--rounds", "1"])
    monkeypatch.setattr(speed, "run", lambda memory, arguments: once)
    file = tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["speed.py", "--quick", "--json", str(file)])
    speed.main()
    found = json.loads(file.read_text(encoding="utf-8"))["milliseconds"]
    assert set(found) == set(speed.MEMORY)
    assert all(set(times) == set(speed.TARGETS) for times in found.values())


def test_the_stored_run_times_are_those_of_all_chapters_and_under_a_minute():
    seconds = json.loads(
        (ROOT / "benchmarks/chapters.json").read_text(encoding="utf-8")
    )["seconds"]
    assert set(seconds) == {chapter.stem for chapter in chapters()}
    assert 0 < max(seconds.values()) < 60


def test_the_stored_scores_keep_every_limit():
    rows = json.loads(lighthouse.RESULTS.read_text(encoding="utf-8"))["pages"]
    assert len(rows) == 4 and {row["form"] for row in rows} == {"mobile", "desktop"}
    for row in rows:
        assert row["performance"] >= lighthouse.PERFORMANCE[row["form"]], row
        assert all(row[name] >= least for name, least in lighthouse.LOWEST.items())
