"""Each message of book/errors.md is raised here, and its cure is run.

To add a message: write its entry on the page, then add here, under the
entry's label, a function that raises each message, in the page's order, and
one that runs the cure.
"""

import re
import subprocess
import sys

import nbformat
import pytest
import torch
from chapter import ROOT
from nbclient import NotebookClient
from safetensors.torch import load_model, save_file, save_model
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype

from embedding_layer import (
    TransformerEmbeddings,
    add_positions,
    check_id_range,
    check_positions_differ,
    check_sequences_alone,
    load_gpt2_tables,
    positions_from_mask,
)
from embedding_layer.devices import check_optimizer, check_placed, choose_device

PAGE = (ROOT / "book/errors.md").read_text(encoding="utf-8")
CODE = re.compile(r"(`+)(.+?)\1(?!`)")
IDS = torch.tensor([[1, 2]])  # (1, 2)


class NotHere(str):
    """Why a message is not raised here."""


def entries():
    """Label to (messages, text) of each entry of the page."""
    found = {}
    parts = re.split(r"^\(([\w-]+)\)=\n### (.+)$", PAGE, flags=re.M)[1:]
    for label, heading, text in zip(*[iter(parts)] * 3, strict=True):
        also = re.search(r"^\*\*Also\.\*\* (.+)$", text, re.M)
        line = heading + (" " + also[1] if also else "")
        found[label] = [match[2] for match in CODE.finditer(line)], text
    return found


def layer(**options):
    """A layer of 10 ids, 8 columns, 4 places, without dropout."""
    return TransformerEmbeddings(10, 8, 4, **{"dropout": 0.0, **options})


def backward(emb):
    emb(IDS.to(emb.token_embeddings.weight.device)).sum().backward()
    return emb


def tied():
    """A layer and a head on one table."""
    emb, head = layer(), nn.Linear(8, 10, bias=False)
    head.weight = emb.token_embeddings.weight
    return nn.ModuleDict({"emb": emb, "head": head})


def save_the_model(folder):
    old, new = tied(), tied()
    save_model(old, folder / "model")
    load_model(new, folder / "model")
    assert new["head"].weight is new["emb"].token_embeddings.weight
    assert torch.equal(new["head"].weight, old["head"].weight)


def stepped(make, *, sparse=False, only=None, **options):
    """One step of an optimizer on a layer, or on one of its tables."""
    emb = backward(layer(sparse=sparse))
    table = [getattr(emb, only).weight] if only else emb.parameters()
    make(table, lr=0.1, **options).step()
    return emb


def moved():
    """A layer and its Adam, moved to float64 after a step, with gradients."""
    emb = backward(layer())
    optimizer = torch.optim.Adam(emb.parameters())
    optimizer.step()
    emb.double().zero_grad()
    return backward(emb), optimizer


def on_meta_and_back():
    emb = layer(device="meta")
    optimizer = torch.optim.Adam(emb.parameters())
    emb.to_empty(device="cpu")
    return emb, optimizer


def on_fake_cuda():
    with FakeTensorMode(), torch.no_grad():
        return layer(device="cuda")(torch.zeros(1, 2, dtype=torch.long))


def mixed():
    emb = layer()
    emb.position_embeddings.to("meta")
    return emb


def along_the_batch(ids):
    """Positions counted over the wrong axis."""
    positions = torch.arange(ids.shape[0]).view(-1, 1, 1)
    return nn.functional.one_hot(ids, 10) + positions


def run_python(*arguments):
    """The last line that a fresh Python without packages writes."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else done.stdout


def run_notebook(*sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return NotebookClient(nbformat.v4.new_notebook(cells=cells)).execute()


def compare(folder, stored):
    """What nbval says of a cell that prints 2, whose stored output is given."""
    cell = nbformat.v4.new_code_cell("print(2)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "one.ipynb")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--nbval",
            "--nbval-current-env",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "--color=no",
            "one.ipynb",
        ],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return done.returncode, done.stdout


def outputs_differ(folder):
    returned, told = compare(folder, "1\n")
    assert returned == 1
    return told


def outputs_agree(folder):
    assert compare(folder, "2\n")[0] == 0


# ---- cures ----


def name_the_bad_id():
    with pytest.raises(IndexError, match=r"token id 10 at \(0,\)"):
        check_id_range(torch.tensor([10]), nn.Embedding(10, 8).num_embeddings)


def grow():
    old, old_size = layer().eval(), 10
    new = TransformerEmbeddings(old_size + 1, 8, 4).eval()
    with torch.no_grad():
        new.token_embeddings.weight[:old_size] = old.token_embeddings.weight
        new.position_embeddings.weight.copy_(old.position_embeddings.weight)
    assert torch.equal(new(IDS), old(IDS))
    new(torch.tensor([[10]]))


def labels_from_a_copy():
    input_ids, is_padding = torch.tensor([[1, 2, 0]]), torch.tensor([[0, 0, 1]])
    labels = input_ids.masked_fill(is_padding.bool(), -100)
    logits = layer()(input_ids) @ torch.ones(8, 10)
    assert F.cross_entropy(logits.flatten(0, 1), labels.flatten()).isfinite()


def say_the_places():
    emb, mask = layer(), torch.tensor([[0, 1]])
    emb(IDS, position_ids=positions_from_mask(mask))
    emb(IDS[:, :1], position_ids=torch.tensor([[3]]))
    emb(IDS.repeat(3, 1), position_ids=torch.arange(2).unsqueeze(0))


def pad_on_the_right():
    texts = [[1, 2], [3]]
    ids = nn.utils.rnn.pad_sequence(
        [torch.tensor(t) for t in texts], batch_first=True, padding_value=0
    )
    assert ids.tolist() == [[1, 2], [3, 0]]
    layer()(ids)


def crop():
    ids = torch.zeros(1, 9, dtype=torch.long)
    layer()(ids[:, -4:])


def along_the_sequence():
    x, table = torch.zeros(3, 5, 8), torch.randn(16, 8)
    assert add_positions(x, table[: x.size(1)]).shape == (3, 5, 8)
    emb = TransformerEmbeddings(10, 8, 16).eval()
    ids = torch.randint(0, 10, (3, 5))
    check_sequences_alone(emb, ids)
    check_positions_differ(emb, ids)


def where_the_ids_are():
    emb = layer()
    emb(IDS.to(emb.token_embeddings.weight.device))
    with FakeTensorMode(), torch.no_grad():
        emb = layer(device="cuda")
        ids = torch.zeros(1, 2, dtype=torch.long)
        out = emb(ids.to(emb.token_embeddings.weight.device))
        assert out.device.type == "cuda"
        assert torch.arange(2, device=out.device).device == out.device
    holder = nn.Module()
    holder.register_buffer("table", torch.ones(2))
    check_placed(holder.to("meta"), "meta")


def on_the_cpu():
    ids = torch.tensor([[1, 10]])
    with pytest.raises(IndexError, match=r"token id 10 at \(0, 1\)"):
        layer().to("cpu")(ids.cpu())


def take_what_is_there():
    device = choose_device()
    layer().to(device)(IDS.to(device))


def fill_from_a_checkpoint():
    emb, checkpoint = layer(device="meta").eval(), layer().eval()
    emb.to_empty(device="cpu").load_state_dict(checkpoint.state_dict())
    assert torch.equal(emb(IDS), checkpoint(IDS))


def one_dtype():
    model = nn.Sequential(layer(), nn.Linear(8, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(IDS).dtype == torch.bfloat16
    assert model.to(torch.bfloat16)(IDS).dtype == torch.bfloat16


def load_longer():
    TransformerEmbeddings(10, 8, 6).load_state_dict(
        TransformerEmbeddings(10, 8, 6).state_dict()
    )
    small, big, n = layer(), TransformerEmbeddings(10, 8, 6), 4
    with torch.no_grad():
        small.position_embeddings.weight.copy_(big.position_embeddings.weight[:n])
    assert torch.equal(
        small.position_embeddings.weight, big.position_embeddings.weight[:4]
    )


def gpt2(prefix=""):
    return {
        f"{prefix}wte.weight": torch.ones(10, 8),
        f"{prefix}wpe.weight": torch.ones(4, 8),
    }


def find_the_names():
    for prefix in ("", "transformer.", "module.transformer."):
        emb = layer()
        load_gpt2_tables(emb, gpt2(prefix))
        assert (emb(IDS) == 2).all()


def save_and_load(folder, module, **options):
    torch.save(module, folder / "file.pt")
    return torch.load(folder / "file.pt", **options)


def tensors_only(folder):
    emb = layer()
    layer().load_state_dict(save_and_load(folder, emb.state_dict()))
    assert torch.equal(save_and_load(folder, emb, weights_only=False)(IDS), emb(IDS))


def two_optimizers():
    stepped(torch.optim.AdamW)
    emb = backward(layer(sparse=True))
    torch.optim.SparseAdam([emb.token_embeddings.weight]).step()
    torch.optim.AdamW([emb.position_embeddings.weight]).step()


def groups():
    emb = backward(layer(sparse=True))
    table, rest = emb.token_embeddings.weight, [emb.position_embeddings.weight]
    nn.utils.clip_grad_norm_(rest, 1.0)
    for make in (torch.optim.SGD, torch.optim.Adagrad):
        own = {"params": [table], "weight_decay": 0}
        with torch.sparse.check_sparse_tensor_invariants():  # else it warns
            make([own, {"params": rest}], lr=0.1, weight_decay=0.1).step()


def load_its_own_state():
    emb, optimizer = moved()
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    check_optimizer(optimizer, emb)


def make_it_last():
    emb, _ = on_meta_and_back()
    check_optimizer(torch.optim.Adam(emb.parameters()), emb)


def rates():
    for rate in (0.1, 0.0):
        layer(dropout=rate)(IDS)


def this_python_has_it():
    assert run_python("-c", "import embedding_layer; print(1)") == "1\n"


# label: (what raises each message, in the page's order; the cure).
# A function that takes `folder` gets an empty one.
ENTRIES = {
    "index-out-of-range": (
        [lambda: nn.Embedding(10, 8)(torch.tensor([10]))],
        name_the_bad_id,
    ),
    "id-outside-the-table": ([lambda: layer()(torch.tensor([[10]]))], grow),
    "minus-100": ([lambda: layer()(torch.tensor([[1, -100]]))], labels_from_a_copy),
    "position-outside-the-table": (
        [
            lambda: layer()(IDS, position_ids=torch.tensor([[-1, 0]])),
            lambda: layer()(IDS, position_ids=torch.tensor([0, 1])),
            lambda: layer()(IDS, position_ids=torch.tensor([[0.0, 1.0]])),
        ],
        say_the_places,
    ),
    "float-ids": (
        [
            lambda: nn.Embedding(10, 8)(torch.Tensor([[1, 2]])),
            lambda: layer()(torch.Tensor([[1, 2]])),
        ],
        lambda: (
            layer()(torch.tensor([[1, 2]])),
            layer()(torch.Tensor([[1, 2]]).long()),
        ),
    ),
    "not-a-tensor": (
        [lambda: nn.Embedding(10, 8)([1, 2]), lambda: layer()([1, 2])],
        lambda: layer()(torch.tensor([[1, 2]])),
    ),
    "got-proxy": (
        [lambda: torch.fx.symbolic_trace(layer())],
        lambda: torch.export.export(layer(), (IDS,)),
    ),
    "texts-of-different-length": (
        [lambda: torch.tensor([[1, 2], [3]])],
        pad_on_the_right,
    ),
    "padding-idx": (
        [
            lambda: layer(padding_idx=10),
            lambda: nn.Embedding(10, 8, padding_idx=10),
        ],
        lambda: TransformerEmbeddings(11, 8, 4, padding_idx=10),
    ),
    "size-not-positive": (
        [lambda: TransformerEmbeddings(10, 768 / 2, 4)],
        lambda: TransformerEmbeddings(10, 768 // 2, 4),
    ),
    "no-batch-axis": (
        [lambda: layer()(IDS[:, -1])],
        lambda: (layer()(IDS[0].unsqueeze(0)), layer()(IDS[:, -1:])),
    ),
    "sequence-too-long": ([lambda: layer()(torch.zeros(1, 9, dtype=torch.long))], crop),
    "size-of-tensor-a": (
        [
            lambda: torch.zeros(3, 5, 8) + torch.zeros(3, 8),
            lambda: add_positions(torch.zeros(3, 5, 8), torch.zeros(3, 8)),
            lambda: check_sequences_alone(along_the_batch, IDS.repeat(2, 1)),
            lambda: check_positions_differ(along_the_batch, IDS),
        ],
        along_the_sequence,
    ),
    "two-devices": (
        [
            on_fake_cuda,
            NotHere("CUDA's own check of a lookup; fake tensors word it as above"),
            lambda: torch.zeros(2, device="meta") + torch.zeros(2),
            lambda: check_placed(mixed(), "cpu"),
        ],
        where_the_ids_are,
    ),
    "device-side-assert": (
        [
            NotHere("needs CUDA, and ends the process's GPU work"),
            NotHere("printed by a CUDA kernel"),
            NotHere("printed by a newer CUDA kernel"),
        ],
        on_the_cpu,
    ),
    "torch-not-compiled-with-cuda": (
        [
            NotHere("this PyTorch has CUDA")
            if torch.version.cuda
            else lambda: layer().to("cuda")
        ],
        take_what_is_there,
    ),
    "copy-out-of-meta": (
        [lambda: layer(device="meta").to("cpu")],
        fill_from_a_checkpoint,
    ),
    "two-dtypes": ([lambda: nn.Linear(8, 2).bfloat16()(layer()(IDS))], one_dtype),
    "size-mismatch": (
        [
            lambda: layer().load_state_dict(
                TransformerEmbeddings(10, 8, 6).state_dict()
            ),
            lambda: load_gpt2_tables(TransformerEmbeddings(10, 8, 6), gpt2()),
        ],
        load_longer,
    ),
    "missing-keys": (
        [
            lambda: layer().load_state_dict(gpt2()),
            lambda: layer().load_state_dict(gpt2()),
            lambda: load_gpt2_tables(layer(), {}),
        ],
        find_the_names,
    ),
    "weights-only": ([lambda folder: save_and_load(folder, layer())], tensors_only),
    "shared-memory": (
        [lambda folder: save_file(tied().state_dict(), folder / "model")],
        save_the_model,
    ),
    "two-units": ([NotHere("chapter 11 raises it, in two processes")], None),
    "sparse-gradients": (
        [
            lambda: stepped(torch.optim.AdamW, sparse=True),
            lambda: stepped(torch.optim.SparseAdam, sparse=True),
        ],
        two_optimizers,
    ),
    "sparse-weight-decay": (
        [
            lambda: stepped(torch.optim.SGD, sparse=True, weight_decay=0.1),
            lambda: stepped(torch.optim.Adagrad, sparse=True, weight_decay=0.1),
            lambda: nn.utils.clip_grad_norm_(
                backward(layer(sparse=True)).parameters(), 1.0
            ),
        ],
        groups,
    ),
    "optimizer-stayed": (
        [
            lambda: moved()[1].step(),
            lambda: _group_tensors_by_device_and_dtype(
                [[torch.zeros(2)], [torch.zeros(2, device="meta")]]
            ),
            lambda: check_optimizer(*reversed(moved())),
        ],
        load_its_own_state,
    ),
    "optimizer-holds-others": (
        [lambda: check_optimizer(*reversed(on_meta_and_back()))],
        make_it_last,
    ),
    "dropout-rate": (
        [
            lambda: nn.Dropout(10),
            lambda: layer(dropout=10),
            lambda: layer(dropout="0.1"),
        ],
        rates,
    ),
    "no-module-named-embedding-layer": (
        [lambda: run_python("-I", "-S", "-c", "import embedding_layer")],
        this_python_has_it,
    ),
    "cell-outputs-differ": ([outputs_differ], outputs_agree),
    "kernel-died": (
        [
            lambda: run_notebook("import os\nos._exit(1)"),
            NotHere("JupyterLab says it in the browser"),
        ],
        lambda: run_notebook("1"),
    ),
    "widget-model-not-found": ([NotHere("JupyterLab says it in the browser")], None),
}


def call(function, folder):
    takes = "folder" in function.__code__.co_varnames[: function.__code__.co_argcount]
    return function(folder) if takes else function()


def wordings(error):
    """What a reader may see of an error: its last line, whole, or any line."""
    text = " ".join(str(error).split())
    for kind in type(error).__mro__:
        yield f"{kind.__name__}: {text}"
        yield f"{kind.__module__}.{kind.__name__}: {text}"
    yield from (" ".join(line.split()) for line in str(error).splitlines())


def fits(message, seen):
    pattern = ".*".join(re.escape(part) for part in message.split("…"))
    return re.fullmatch(pattern, seen, re.S)


def test_every_entry_of_the_page_is_here_and_no_other():
    assert list(entries()) == list(ENTRIES)


@pytest.mark.parametrize("label", entries())
def test_an_entry_has_its_parts(label):
    messages, text = entries()[label]
    raisers, _ = ENTRIES[label]
    for part in ("Cause", "Cure", "Read"):
        assert f"**{part}.**" in text
    assert len(messages) == len(raisers), "each message is raised, or NotHere"
    reported = any(isinstance(r, NotHere) for r in raisers)
    # depends on the build of PyTorch, not on the message
    if label != "torch-not-compiled-with-cuda":
        assert ("**Reported.**" in text) == reported


@pytest.mark.parametrize(
    ("label", "place"),
    [
        (label, place)
        for label, (messages, _) in entries().items()
        for place in range(len(messages))
    ],
)
def test_the_message_is_what_the_page_says(label, place, tmp_path):
    message = entries()[label][0][place]
    raiser = ENTRIES[label][0][place]
    if isinstance(raiser, NotHere):
        pytest.skip(raiser)
    try:
        told = call(raiser, tmp_path)
    except Exception as error:
        seen = list(wordings(error))
    else:
        assert isinstance(told, str), "no error"
        seen = [line.strip() for line in told.splitlines()]
    assert any(fits(message, one) for one in seen), seen


@pytest.mark.parametrize("label", [k for k, (_, cure) in ENTRIES.items() if cure])
def test_the_cure_works(label, tmp_path):
    call(ENTRIES[label][1], tmp_path)
