"""Two processes on the CPU give what one gives: DDP, FSDP2, a sharded table."""

import copy
import pathlib
import sys
import traceback

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from helpers import IN_2_6
from torch import nn

from embedding_layer import TransformerEmbeddings

if sys.platform == "win32" or not dist.is_available():
    pytest.skip("needs gloo", allow_module_level=True)

from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

IDS = torch.tensor([[3, 1, 3, 49], [7, 0, 3, 1], [9, 9, 9, 9], [2, 4, 6, 8]])


def build():
    torch.manual_seed(0)
    return TransformerEmbeddings(50, 8, 16, dropout=0.0, padding_idx=0)


def gradients(emb, ids=IDS):
    emb.zero_grad()
    emb(ids).sin().sum().backward()
    return [p.grad for p in emb.parameters()]


def whole(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def ddp(rank, mesh):
    emb = build()
    want = gradients(copy.deepcopy(emb))
    got = gradients(DistributedDataParallel(emb), IDS[2 * rank : 2 * rank + 2])
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(2 * a, b)  # DDP takes the mean over two


def fsdp(rank, mesh):
    for parts in (False, True):  # the layer as one, or its tables one by one too
        emb = build()
        want = gradients(copy.deepcopy(emb))
        with torch.no_grad():
            values = copy.deepcopy(emb)(IDS)
        if parts:
            fully_shard(emb.token_embeddings, mesh=mesh)
            fully_shard(emb.position_embeddings, mesh=mesh)
        fully_shard(emb, mesh=mesh)
        with torch.no_grad():
            assert torch.equal(emb(IDS), values)
        for a, b in zip(gradients(emb), want, strict=True):
            torch.testing.assert_close(whole(a), b)


def fsdp_from_meta(rank, mesh):
    for padding_idx in (None, 49):
        with torch.device("meta"):
            emb = TransformerEmbeddings(51, 8, 16, padding_idx=padding_idx)
        fully_shard(emb, mesh=mesh)
        emb.to_empty(device="cpu")
        try:
            for table in (emb.token_embeddings, emb.position_embeddings):
                table.reset_parameters()
        except NotImplementedError:  # torch cannot write one row of a sharded table:
            assert padding_idx is not None  # said aloud, never a row that is not 0
            continue
        rows = whole(emb.token_embeddings.weight.detach())
        assert 0.01 < rows.std() < 0.03
        assert padding_idx is None or not rows[padding_idx].any()


def rowwise(rank, mesh):
    """The token table cut by rows, then both tables."""
    plan = dict(input_layouts=Replicate(), output_layouts=Replicate())
    for names in (["token_embeddings"], ["token_embeddings", "position_embeddings"]):
        emb = build()
        want = gradients(copy.deepcopy(emb))
        values = copy.deepcopy(emb)(IDS)
        parallelize_module(emb, mesh, {name: RowwiseParallel(**plan) for name in names})
        assert emb.token_embeddings.weight.to_local().shape == (25, 8)
        assert torch.equal(whole(emb(IDS)), values)
        for a, b in zip(gradients(emb), want, strict=True):
            torch.testing.assert_close(whole(a), b)


class Tied(nn.Module):
    """A layer and a head on one table, which is reached through forward alone."""

    def __init__(self):
        super().__init__()
        self.emb = build()
        self.head = nn.Linear(8, 50, bias=False)
        self.head.weight = self.emb.token_embeddings.weight

    def forward(self, ids):
        return self.head(self.emb(ids))


def tied_head(rank, mesh):
    """mlfoundations/open_flamingo#260: a head met the sharded table as a flat
    vector. Sharded together, as one unit, layer and head see the whole table.
    """
    pair, alone = Tied(), Tied()
    want = gradients(alone)
    with torch.no_grad():
        logits = alone(IDS)
    fully_shard(pair, mesh=mesh)
    assert pair.head.weight is pair.emb.token_embeddings.weight
    with torch.no_grad():
        assert torch.equal(pair(IDS), logits)
    for a, b in zip(gradients(pair), want, strict=True):
        torch.testing.assert_close(whole(a), b)


WAYS = {f.__name__: f for f in (ddp, fsdp, fsdp_from_meta, rowwise, tied_head)}


def worker(rank, folder):
    """Run every way in one pair of processes; leave a traceback or nothing."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    for name, way in WAYS.items():
        try:
            way(rank, mesh)
            text = ""
        except Exception:
            text = traceback.format_exc()
        pathlib.Path(folder, f"{name}.{rank}").write_text(text, encoding="utf-8")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_processes")
    mp.spawn(worker, args=(str(folder),), nprocs=2, join=True)
    return folder


NO_FSDP = pytest.mark.skipif(IN_2_6, reason="FSDP2 of PyTorch 2.6: not on the CPU")


@pytest.mark.parametrize(
    "way",
    ["ddp", "fsdp_from_meta", "rowwise"]
    + [pytest.param(way, marks=NO_FSDP) for way in ("fsdp", "tied_head")],
)
def test_two_processes_give_what_one_gives(way, folder):
    for rank in range(2):
        fault = (folder / f"{way}.{rank}").read_text(encoding="utf-8")
        assert not fault, fault
