"""The cells for two processes run under torchrun too, on another number."""

import subprocess
import sys

import pytest
from chapter import ROOT

from book_helpers.processes import Processes

NOTEBOOK = ROOT / "notebooks/11_more_rows_than_one_machine_holds.ipynb"


@pytest.mark.parametrize("count", [3])
def test_the_chapter_s_cells_run_under_torchrun(count):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(count), "-m", "book_helpers.processes"]
    done = subprocess.run(
        [*command, NOTEBOOK], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert f"{count} processes; process 0 has rows 0 to" in done.stdout
    assert done.stdout.count("\n") > 10


def test_an_error_names_its_process_and_the_next_cell_runs():
    two = Processes(2)
    try:
        two.run("import torch.distributed as dist\nrank = dist.get_rank()")
        with pytest.raises(RuntimeError, match="in process 1: (.|\n)*rank was 1"):
            two.run("assert rank == 0, f'rank was {rank}'")
        two.run("assert rank in (0, 1)")
    finally:
        two.close()
