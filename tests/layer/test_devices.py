"""Where tensors are: devices.py, and the layer on devices that are not there."""

import pytest
import torch
from helpers import IN_2_6
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from embedding_layer import TransformerEmbeddings
from embedding_layer.devices import (
    check_optimizer,
    check_placed,
    choose_device,
    describe_device,
    find_tensors,
)


class Everything(nn.Module):
    """One tensor in each way that a module can hold one."""

    def __init__(self):
        super().__init__()
        self.emb = TransformerEmbeddings(10, 4, 8)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.emb.token_embeddings.weight
        self.register_buffer("saved", torch.zeros(2))
        self.register_buffer("unsaved", torch.zeros(2), persistent=False)
        self.register_buffer("nothing", None)
        self.plain = torch.zeros(2)
        self.listed = [torch.zeros(1), "no tensor"]
        self.pair = (torch.zeros(1),)
        self.named = {"a": torch.zeros(1), 3: None}
        self.parameters_listed = nn.ParameterList([torch.zeros(1)])


KINDS = {
    "emb.token_embeddings.weight": "parameter",
    "emb.position_embeddings.weight": "parameter",
    "head.weight": "parameter",
    "parameters_listed.0": "parameter",
    "saved": "buffer",
    "unsaved": "buffer",
    "plain": "attribute",
    "listed.0": "attribute",
    "pair.0": "attribute",
    "named.a": "attribute",
}


def taught(emb):
    """The layer after a step of Adam, with the optimizer."""
    adam = torch.optim.Adam(emb.parameters())
    emb(torch.zeros(1, 2, dtype=torch.long)).sum().backward()
    adam.step()
    adam.zero_grad()
    return adam


def test_choose_device_follows_torch_accelerator(monkeypatch):
    there = torch.device("cuda")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert choose_device() == torch.device("cpu")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: there)
    assert choose_device() == there


def test_describe_device_is_one_line():
    for device in ("cpu", torch.device("cpu")):
        assert describe_device(device) == "1 x cpu"


def test_find_tensors_finds_each_way_of_holding():
    model = Everything()
    found = find_tensors(model)
    assert {name: kind for name, (kind, _) in found.items()} == KINDS
    tied = found["head.weight"][1]
    assert tied is found["emb.token_embeddings.weight"][1] is model.head.weight


def test_find_tensors_of_our_layer_are_its_two_tables():
    emb = TransformerEmbeddings(10, 4, 8)
    taught(emb)  # a step leaves nothing on the module
    assert list(find_tensors(emb)) == list(emb.state_dict())


def test_check_placed_names_exactly_what_stayed():
    model = Everything()
    check_placed(model, "cpu")
    with pytest.raises(RuntimeError) as told:
        check_placed(model.to("meta"), "meta")
    assert str(told.value) == (
        "not on meta: attribute plain on cpu, attribute listed.0 on cpu, "
        "attribute pair.0 on cpu, attribute named.a on cpu"
    )
    with pytest.raises(RuntimeError, match="buffer unsaved on meta"):
        check_placed(model, torch.device("cpu"))


def test_check_placed_takes_a_device_without_an_index():
    with FakeTensorMode(), torch.no_grad():
        emb = TransformerEmbeddings(10, 4, 8, device="cuda")
        check_placed(emb, "cuda")
        check_placed(emb, torch.device("cuda", 0))
        with pytest.raises(RuntimeError, match="weight on cuda:0"):
            check_placed(emb, "cuda:1")
        with pytest.raises(RuntimeError, match="not on cpu"):
            check_placed(emb, "cpu")


def test_check_optimizer_finds_an_optimizer_made_before_to_empty():
    emb = TransformerEmbeddings(10, 4, 8, device="meta")
    early = torch.optim.SGD(emb.parameters(), lr=0.1)
    check_optimizer(early, emb)
    emb.to_empty(device="cpu")
    with pytest.raises(RuntimeError, match="hold token_embeddings.weight"):
        check_optimizer(early, emb)
    check_optimizer(torch.optim.SGD(emb.parameters(), lr=0.1), emb)


def test_check_optimizer_passes_frozen_parameters_and_groups():
    emb = TransformerEmbeddings(10, 4, 8)
    emb.position_embeddings.weight.requires_grad_(False)
    check_optimizer(torch.optim.SGD([emb.token_embeddings.weight]), emb)
    groups = [{"params": [p]} for p in emb.parameters()]
    check_optimizer(torch.optim.AdamW(groups), emb)


def test_check_optimizer_finds_state_that_stayed():
    emb = TransformerEmbeddings(10, 4, 8)
    adam = taught(emb)
    check_optimizer(adam, emb)
    emb.double()
    with pytest.raises(RuntimeError, match="exp_avg of token_embeddings.weight"):
        check_optimizer(adam, emb)
    adam.load_state_dict(adam.state_dict())
    check_optimizer(adam, emb)
    emb(torch.zeros(1, 2, dtype=torch.long)).sum().backward()
    adam.step()


def test_check_optimizer_finds_state_on_another_device():
    emb = TransformerEmbeddings(10, 4, 8)
    adam = taught(emb)
    state = adam.state[emb.position_embeddings.weight]
    state["exp_avg_sq"] = state["exp_avg_sq"].to("meta")
    with pytest.raises(RuntimeError, match="exp_avg_sq of position.* on meta"):
        check_optimizer(adam, emb)


# ---- the layer, on devices that this machine need not have ----


def test_nothing_is_made_on_the_default_device(emb):
    """wingedsheep/transformer#4: with another default device, tables and ids on the
    CPU still meet.
    """
    ids = torch.randint(0, 50, (2, 3))
    with torch.device("meta"):
        for train in (True, False):
            emb.train(train)
            assert emb(ids).device.type == "cpu"
            assert emb(ids, position_ids=torch.zeros_like(ids)).device.type == "cpu"


def test_meta_device_start_up():
    meta = TransformerEmbeddings(50, 8, 16, padding_idx=2, device="meta")
    meta.to_empty(device="cpu")
    for table in (meta.token_embeddings, meta.position_embeddings):
        table.reset_parameters()
    assert 0.01 < meta.token_embeddings.weight.std() < 0.03
    assert not meta.token_embeddings.weight[2].any()


@pytest.mark.skipif(
    IN_2_6 and torch.version.cuda is not None and not torch.cuda.is_available(),
    reason="fake tensors of PyTorch 2.6's CUDA build ask for a driver",
)
@pytest.mark.parametrize("where", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_fake_cuda(train, where):
    """A GPU rehearsed without one: fake tensors on cuda."""
    with FakeTensorMode(), torch.no_grad():
        m = TransformerEmbeddings(50, 8, 16, device="cuda").train(train)
        ids = torch.zeros(2, 3, dtype=torch.long, device="cuda")
        out = m(ids, position_ids=ids if where else None)
        assert out.device.type == "cuda" and out.shape == (2, 3, 8)
        with pytest.raises(RuntimeError, match="cuda"):
            m(torch.zeros(2, 3, dtype=torch.long, device="cpu"))


@pytest.mark.parametrize("train", [False, True])
def test_fake_cpu(train):
    with FakeTensorMode():
        m = TransformerEmbeddings(50, 8, 16).train(train)
        assert m(torch.zeros(2, 3, dtype=torch.long)).shape == (2, 3, 8)


def test_a_real_layer_under_a_mode_that_fakes(emb):
    """Each operation is shown to a mode that watches: the short cut is none."""
    ids = torch.zeros(2, 3, dtype=torch.long)
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__.partition(".")[0])
            return func(*args, **(kwargs or {}))

    with Watch(), torch.no_grad():
        emb(ids)
    assert seen.count("embedding") == 2 and "add" in seen


def test_on_a_device_it_computes_what_the_cpu_does(emb, device):
    ids = torch.randint(0, 50, (3, 7))
    want = emb(ids)
    for cast in (torch.float32, torch.bfloat16):
        there = emb.to(device, cast)
        out = there(ids.to(device))
        assert out.device.type == device.type and out.dtype == cast
        assert torch.allclose(out.cpu().float(), want, atol=1e-3)
        dropped = (there.train()(ids.to(device).repeat(50, 1)) == 0).float().mean()
        assert 0.05 < dropped < 0.15
        there.eval()
