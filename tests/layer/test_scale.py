"""Two processes on the CPU give what one gives: DDP, FSDP2, a sharded table."""

import copy
import pathlib
import sys
import traceback

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from embedding_layer import TransformerEmbeddings

pytestmark = pytest.mark.skipif(
    not dist.is_available() or sys.platform == "win32", reason="needs gloo"
)

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


WAYS = {f.__name__: f for f in (ddp, fsdp, fsdp_from_meta, rowwise)}


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
        pathlib.Path(folder, f"{name}.{rank}").write_text(text)
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_processes")
    mp.spawn(worker, args=(str(folder),), nprocs=2, join=True)
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_two_processes_give_what_one_gives(way, folder):
    for rank in range(2):
        fault = (folder / f"{way}.{rank}").read_text()
        assert not fault, fault


def test_tie_survives_ddp_style_moves():
    emb = build()
    head = nn.Linear(8, 50, bias=False)
    head.weight = emb.token_embeddings.weight
    pair = nn.ModuleList([emb, head])
    for move in (
        lambda m: m.to(torch.bfloat16),
        lambda m: m.half(),
        lambda m: m.float(),
        copy.deepcopy,
    ):
        pair = move(pair)
        assert pair[1].weight is pair[0].token_embeddings.weight
    pair.load_state_dict(pair.state_dict())
    assert pair[1].weight is pair[0].token_embeddings.weight
