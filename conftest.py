"""What nbval does here beside its defaults."""

import os

import pytest

# Two workers on two cores; the stored outputs hold for any thread count.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A progress bar is no output to compare.
os.environ.setdefault("TQDM_DISABLE", "1")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """SVG is a picture like PNG: each figure also prints what it shows."""
    collected = yield
    collectors = collected if isinstance(collected, list) else [collected]
    for collector in collectors:
        if hasattr(collector, "skip_compare"):
            collector.skip_compare = (*collector.skip_compare, "image/svg+xml")
    return collected


def pytest_collection_modifyitems(items):
    """A cell that needs an accelerator is skipped in sight where none is."""
    for item in items:
        cell = getattr(item, "cell", None)
        if cell and "gpu" in cell.metadata.get("tags", []):
            import torch

            if not torch.accelerator.is_available():
                item.add_marker(pytest.mark.skip(reason="needs an accelerator"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """One line, the last but pytest's own, for what a missing browser left out."""
    yield
    skipped = terminalreporter.stats.get("skipped", ())
    count = sum("no browser" in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"{count} tests need a browser: install Chromium, Chrome or Edge"
        )
