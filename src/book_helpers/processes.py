"""Processes beside the notebook that compute together: the magic `%%both`.

A cell that begins with `%%both` runs in each of two processes, which reach each
other by `torch.distributed`. What the first one prints is shown. The same cells
run on any number of processes with

    torchrun --nproc-per-node 2 -m book_helpers.processes NOTEBOOK

PyTorch's own `spawn` cannot be used in a notebook: it looks for its function
in a file.
"""

import atexit
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

MAGIC = "%%both"
PATIENCE = timedelta(seconds=60)  # for one who waits for another that has failed


class Processes:
    """Several Pythons that run the same code, each with its own rank.

    Raises:
        RuntimeError: this PyTorch or this system has no gloo, or a process
            ended; what its code raised, with its rank
    """

    def __init__(self, count=2):
        if not (dist.is_available() and dist.is_gloo_available()):
            raise RuntimeError(
                "no processes can compute together here: this PyTorch has no gloo; "
                "the outputs stored in the notebook are what two of them printed"
            )
        store = Path(tempfile.mkdtemp(), "store")
        self.workers = [
            subprocess.Popen(
                [sys.executable, "-m", __name__, store.as_uri(), str(rank), str(count)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(count)
        ]
        atexit.register(self.close)

    def run(self, code):
        """Run the code in each; print what the first one printed."""
        for worker in self.workers:
            worker.stdin.write(json.dumps(code) + "\n")
            worker.stdin.flush()
        replies = [worker.stdout.readline() for worker in self.workers]
        for rank, reply in enumerate(replies):
            printed, error = json.loads(reply) if reply else ("", "it ended")
            if rank == 0:
                print(printed, end="")
            if error:
                raise RuntimeError(f"in process {rank}: {error}")

    def close(self):
        for worker in self.workers:
            worker.stdin.close()
            worker.wait()


def start_processes(count=2):
    """Start them and give the notebook its magic `%%both`."""
    from IPython import get_ipython

    processes = Processes(count)

    def both(line, cell):
        processes.run(cell)

    get_ipython().register_magic_function(both, "cell", MAGIC.strip("%"))
    return processes


def run_and_tell(code, names):
    """Run code; what it printed, and its traceback or nothing."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, MAGIC, "exec"), names)
    except Exception:
        return out.getvalue(), traceback.format_exc()
    return out.getvalue(), ""


def follow(address, rank, count):
    """A worker: run each line of the input as code, answer with a line."""
    torch.set_num_threads(1)
    options = dict(init_method=address, timeout=PATIENCE)
    dist.init_process_group("gloo", rank=int(rank), world_size=int(count), **options)
    names = {}
    for line in sys.stdin:
        print(json.dumps(run_and_tell(json.loads(line), names)), flush=True)
    dist.destroy_process_group()


def run_notebook(path):
    """Under torchrun: run the notebook's cells for processes, in order."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=PATIENCE)
    names = {}
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
        first, _, code = "".join(cell["source"]).partition("\n")
        if first.strip() == MAGIC:
            printed, error = run_and_tell(code, names)
            if dist.get_rank() == 0:
                print(printed, end="")
            if error:
                sys.exit(f"in process {dist.get_rank()}: {error}")
    dist.destroy_process_group()


if __name__ == "__main__":
    run_notebook(*sys.argv[1:]) if len(sys.argv) == 2 else follow(*sys.argv[1:])
