"""What is public, what is typed, and which private names of PyTorch are used."""

import pathlib
import re
import subprocess
import sys
from importlib import metadata
from pkgutil import resolve_name

import pytest
import torch
from torch import nn

import embedding_layer
from embedding_layer import TransformerEmbeddings

PACKAGE = pathlib.Path(embedding_layer.__file__).parent


def run(*command):
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, encoding="utf-8"
    )


# ---- public names ----


def test_public_names_are_there():
    assert all(hasattr(embedding_layer, name) for name in embedding_layer.__all__)
    assert embedding_layer.__all__ == sorted(embedding_layer.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+", embedding_layer.__version__)


def test_docstrings_name_every_kind_of_error():
    for kind in ("ValueError", "TypeError", "IndexError"):
        assert kind in TransformerEmbeddings.__doc__


# ---- what it needs ----


def test_the_layer_needs_torch_alone():
    """What `pip install` asks for, without extras."""
    try:
        needs = metadata.requires("embedding-layer")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed here, only on the path")
    assert [need for need in needs if "extra ==" not in need] == ["torch>=2.6"]


def test_importing_the_layer_imports_nothing_of_the_book():
    code = (
        "import sys, embedding_layer.contract, embedding_layer.devices;"
        "print(sorted({m.split('.')[0] for m in sys.modules} &"
        " {'book_helpers', 'matplotlib', 'ipywidgets', 'tiktoken', 'transformers'}))"
    )
    done = run("-c", code)
    assert done.stdout.strip() == "[]", done.stderr


# ---- the sanity check ----


def test_sanity_check_command():
    done = run("-m", "embedding_layer")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "input shape:  (2, 8)\noutput shape: (2, 8, 768)\nthe module ran\n"
    )


def test_sanity_check_fails_on_a_wrong_shape(monkeypatch, capsys):
    from embedding_layer import __main__

    class Wrong(nn.Module):
        def __init__(self, *sizes):
            super().__init__()

        def forward(self, input_ids):
            return torch.zeros(8, 2, 768)

    monkeypatch.setattr(__main__, "TransformerEmbeddings", Wrong)
    assert __main__.main() != 0
    assert "(2, 8, 768)" in capsys.readouterr().err


# ---- private names of PyTorch ----


HOOKS = ("forward_pre_hooks", "forward_hooks", "backward_pre_hooks", "backward_hooks")
PRIVATE = {
    "torch._C._functorch": ["peek_interpreter_stack"],
    "torch._C": [
        "_get_tracing_state",
        "_len_torch_function_stack",
        "_len_torch_dispatch_stack",
    ],
    "torch.nn.modules.module": [f"_global_{hooks}" for hooks in HOOKS],
    "a module": [
        "_parameters",
        "_buffers",
        "_modules",
        "_call_impl",
        "_compiled_call_impl",
        *(f"_{hooks}" for hooks in HOOKS),
    ],
}


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in PRIVATE for name in PRIVATE[owner]]
)
def test_a_private_name_is_still_there(owner, name):
    """Where one is missing, this says which; torch_internals.py is what to mend."""
    a_module = nn.Linear(1, 1)
    assert hasattr(a_module if owner == "a module" else resolve_name(owner), name)


def private_names(file):
    """Names with an underscore before them that the file does not define itself."""
    text = file.read_text(encoding="utf-8")
    used = set(re.findall(r"(?:\.|[\"'])(_[a-zA-Z]\w*)", text))
    return used - set(re.findall(r"def (_\w+)", text))


def test_private_names_stand_in_one_file_and_are_all_listed():
    listed = {n for names in PRIVATE.values() for n in names if n.startswith("_")}
    for file in PACKAGE.glob("*.py"):
        ours = file.stem == "torch_internals"
        assert private_names(file) == (listed | {"_C", "_functorch"} if ours else set())
