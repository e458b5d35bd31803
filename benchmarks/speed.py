"""The layer's speed beside its peers, on the CPU.

    python benchmarks/speed.py [--quick] [--rounds N] [--json FILE]

Chapter 6 shows the table that `markdown` makes of benchmarks/results.json.

All candidates run in one process, one call each per round and in another
order every round, so that a busy moment of the machine hits all of them.
Printed are medians and their ratio to the plain two-table module.

glibc may or may not hand freed memory back to the system after each call, as
it happens to lie. Then a call pays for fresh pages, and the ratios change. So
everything is measured twice, in a process of its own: with an allocator told
to keep freed memory, and with glibc's default. The promises are for both.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/layer"))

from embedding_layer import TransformerEmbeddings
from embedding_layer.contract import Plain

# What tells glibc to keep freed memory; elsewhere it does nothing.
KEEP = {
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),  # the most glibc accepts
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
}
MEMORY = ("kept", "default")
BASELINE = "plain two tables"
OURS = "embedding_layer"
BARE = "bare gather + in-place add"

# The eval forward is bound by memory: where the bare operations alone take 0.79
# of the plain module, the second number is the one that says something.
# work: (largest ratio to the baseline, largest ratio to the bare operations)
TARGETS = {
    "eval forward": (0.85, 1.1),
    "one token at position 0": (0.65, None),
    "one token at its position": (1.0, None),
    "train forward": (0.4, None),
    "train forward + backward": (0.9, None),
    "the same, sparse gradient": (0.3, None),
}


def candidates(vocab_size, d_model, max_seq_len):
    """The modules, by name, all with dropout 0.1 and dense gradients."""
    # Here, since only the processes that measure need transformers.
    from peers import HuggingFaceInputPath, PlainTables, XTransformersInputPath

    sizes = (vocab_size, d_model, max_seq_len, 0.1)
    return {
        BASELINE: PlainTables(*sizes),
        OURS: TransformerEmbeddings(*sizes),
        "transformers' GPT-2": HuggingFaceInputPath(*sizes),
        "x-transformers": XTransformersInputPath(*sizes),
    }


def interleave(calls, rounds, inner=1, prepare=lambda: None):
    """Median milliseconds of each call: {name: float}."""
    times = {name: [] for name in calls}
    order = list(calls)
    for round_number in range(rounds + 2):  # the first two warm up
        random.shuffle(order)
        for name in order:
            prepare()
            start = time.perf_counter()
            for _ in range(inner):
                calls[name]()
            if round_number >= 2:
                seconds = (time.perf_counter() - start) / inner
                times[name].append(1e3 * seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def measure(batch, seq_len, d_model, vocab_size, rounds):
    """All kinds of work: {work: {name: milliseconds}}."""
    modules = candidates(vocab_size, d_model, seq_len)
    ours = modules[OURS]
    ids = torch.randint(0, vocab_size, (batch, seq_len))
    one = ids[:, :1].contiguous()
    weight = ours.token_embeddings.weight
    positions = ours.position_embeddings.weight
    results = {}

    def forward(module, input_ids, **more):
        return lambda: module(input_ids, **more)

    for module in modules.values():
        module.eval()
    with torch.no_grad():
        calls = {name: forward(m, ids) for name, m in modules.items()}
        calls[BARE] = lambda: F.embedding(ids, weight).add_(positions[:seq_len])
        results["eval forward"] = interleave(calls, 3 * rounds)
        calls = {name: forward(m, one) for name, m in modules.items()}
        calls[BARE] = lambda: F.embedding(one, weight).add_(positions[:1])
        results["one token at position 0"] = interleave(calls, 5 * rounds, inner=100)
        # A cached step of generation: it says where the token stands.
        where = torch.full((1, 1), seq_len // 2)
        told = {name: modules[name] for name in (OURS, "transformers' GPT-2")}
        told[BASELINE] = Plain(vocab_size, d_model, seq_len, 0.1).eval()
        calls = {name: forward(m, one, position_ids=where) for name, m in told.items()}
        results["one token at its position"] = interleave(calls, 5 * rounds, inner=100)

    for module in modules.values():
        module.train()
    calls = {name: forward(m, ids) for name, m in modules.items()}
    results["train forward"] = interleave(calls, rounds)

    grad = torch.randn(batch, seq_len, d_model)

    def step(module):
        return lambda: module(ids).backward(grad)

    def clear():
        for module in (*modules.values(), sparse):
            module.zero_grad(set_to_none=True)

    sparse = TransformerEmbeddings(vocab_size, d_model, seq_len, sparse=True)
    calls = {name: step(m) for name, m in modules.items()}
    calls["sparse"] = step(sparse)
    times = interleave(calls, rounds, prepare=clear)
    sparse_time = times.pop("sparse")
    results["train forward + backward"] = times
    results["the same, sparse gradient"] = {
        BASELINE: times[BASELINE],
        OURS: sparse_time,
    }
    return results


def report(results):
    """Results as text, with what the project promises beside what it got."""
    lines = [f"{'work':27}{'candidate':28}{'ms':>9}{'ratio':>8}  promised"]
    for work, times in results.items():
        most, most_of_bare = TARGETS[work]
        for name, milliseconds in times.items():
            ratio = milliseconds / times[BASELINE]
            promise = ""
            if name == OURS:
                promise = f"<= {most} {'kept' if ratio <= most else 'BROKEN'}"
                if most_of_bare:
                    of_bare = milliseconds / times[BARE]
                    verdict = "kept" if of_bare <= most_of_bare else "BROKEN"
                    promise += f"; <= {most_of_bare} x bare: {of_bare:.2f} {verdict}"
            lines.append(
                f"{work:27}{name:28}{milliseconds:9.3f}{ratio:8.2f}  {promise}".rstrip()
            )
            work = ""
    return "\n".join(lines)


def processor():
    """The CPU's name as the system tells it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [ln.split(":")[1].strip() for ln in lines if "model name" in ln]
        return " ".join(names[0].split())
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def markdown(record):
    """The stored results as the table of chapter 6: medians and ratios."""
    lines = [
        "| work | plain, ms | this layer | transformers | x-transformers "
        "| bound | this layer, default memory |",
        "|---|---|---|---|---|---|---|",
    ]
    default = record["milliseconds"]["default"]
    for work, times in record["milliseconds"]["kept"].items():
        base = times[BASELINE]
        cells = [f"{base:.3g}"] + [
            f"{times[name] / base:.2f}" if name in times else ""
            for name in (OURS, "transformers' GPT-2", "x-transformers")
        ]
        other = default[work][OURS] / default[work][BASELINE]
        row = [work, *cells, str(TARGETS[work][0]), f"{other:.2f}"]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def run(memory, arguments):
    """This program again as a child under one allocator; its milliseconds."""
    kept = {} if memory == "default" else KEEP
    env = {k: v for k, v in os.environ.items() if k not in KEEP} | kept
    command = [sys.executable, __file__, "--child", *arguments]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small, a few seconds")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    rounds = args.rounds or (5 if args.quick else 15)
    sizes = dict(batch=8, seq_len=1024, d_model=768, vocab_size=50257)
    if args.quick:
        sizes = dict(batch=4, seq_len=256, d_model=256, vocab_size=5000)
    torch.set_num_threads(2)
    if args.child:
        torch.manual_seed(0)
        random.seed(0)
        print(json.dumps(measure(**sizes, rounds=rounds)))
        return
    arguments = ["--rounds", str(rounds), *(["--quick"] if args.quick else [])]
    print(", ".join(f"{name}={size}" for name, size in sizes.items()), "float32")
    milliseconds = {}
    for memory in MEMORY:
        milliseconds[memory] = run(memory, arguments)
        print(f"memory: {memory}")
        print(report(milliseconds[memory]))
    if args.json:
        record = dict(
            sizes=sizes,
            processor=processor(),
            threads=torch.get_num_threads(),
            torch=torch.__version__,
            milliseconds=milliseconds,
        )
        text = json.dumps(record, indent=1) + "\n"
        pathlib.Path(args.json).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
