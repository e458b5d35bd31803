"""py.typed is a promise: the package and a program that uses it are strict."""

import subprocess
import sys

import pytest
from chapter import ROOT

pytest.importorskip("mypy")

PROGRAM = """\
import torch

from embedding_layer import TransformerEmbeddings, sinusoidal_table
from embedding_layer.contract import check_contract

emb = TransformerEmbeddings(50257, 768, 1024, dropout=0.1, init_std=0.02)
input_ids = torch.randint(0, 50257, (2, 8))
output: torch.Tensor = emb.forward(input_ids, position_ids=None)
rows: torch.Tensor = emb.token_embeddings.weight
waves: torch.Tensor = sinusoidal_table(1024, emb.d_model)
kept: list[str] = check_contract(TransformerEmbeddings).kept
"""


def mypy(*paths):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, paths)],
        cwd=ROOT,
        env={"MYPYPATH": "src", "MYPY_CACHE_DIR": ".venv/mypy"},
        capture_output=True,
        text=True,
    )


def test_the_package_and_a_program_that_uses_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = mypy("src/embedding_layer", program)
    assert done.returncode == 0, done.stdout


def test_a_wrong_use_is_seen(tmp_path):
    program = tmp_path / "program.py"
    wrong = PROGRAM.replace("50257, 768, 1024", '50257, "768", 1024')
    program.write_text(wrong, encoding="utf-8")
    done = mypy(program)
    assert 'Argument 2 to "TransformerEmbeddings" has incompatible type' in done.stdout
