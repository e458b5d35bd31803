"""devices.py: where tensors are, whoever holds them."""

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode

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
