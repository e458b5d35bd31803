"""The contract has teeth: wrong layers, each caught by the right promise."""

import pytest
import torch
import wrong_layers
from peers import HuggingFaceInputPath, PlainTables, XTransformersInputPath
from torch import nn
from wrong_layers import FromOne, Own, ShortCut

from embedding_layer import TransformerEmbeddings, contract
from embedding_layer.contract import PROMISES, check_contract

# What a layer made of other parts than the contract's cannot keep anyway.
PLAIN_BREAKS = {
    "length limit",
    "id range",
    "id dtype",
    "id shape",
    "sizes and rates",
    "start",
}
WRONG = [kind for kind in vars(wrong_layers).values() if hasattr(kind, "caught_by")]


def test_our_layer_keeps_every_promise():
    report = check_contract(TransformerEmbeddings)
    assert report.broken == [] and report.not_applicable == [], str(report)
    assert report.kept == list(PROMISES)


def test_every_promise_has_caught_a_wrong_layer():
    assert len(WRONG) >= 20
    caught = set()
    for kind in WRONG:
        caught |= {kind.caught_by, *getattr(kind, "also", ())}
    assert caught == set(PROMISES), set(PROMISES) ^ caught


@pytest.mark.parametrize("kind", [Own, ShortCut])
def test_what_the_wrong_layers_inherit_is_right(kind):
    report = check_contract(kind)
    assert report.kept == list(PROMISES), str(report)


@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_wrong_layer_is_caught(kind):
    """Its own promise breaks, with what follows from it, and all others hold."""
    broken = {kind.caught_by, *getattr(kind, "also", ())}
    report = check_contract(kind, compile=bool({"compile", "export"} & broken))
    assert set(report.broken) == broken, str(report)
    assert report[kind.caught_by].evidence


def test_plain_tables():
    report = check_contract(PlainTables, compile=False)
    assert set(report.broken) == PLAIN_BREAKS
    asked = {"offset decode", "left padding", "own positions", "positions decide"}
    asked |= {"position range", "position shape"}
    assert set(report.not_applicable) == asked


def test_hugging_face():
    pytest.importorskip("transformers")
    report = check_contract(HuggingFaceInputPath, compile=False)
    more = {"position range", "position shape", "empty input"}
    assert set(report.broken) == PLAIN_BREAKS - {"start"} | more
    assert report.not_applicable == []


# x-transformers imports what uses torch.jit
def test_x_transformers():
    pytest.importorskip("x_transformers")
    report = check_contract(XTransformersInputPath, compile=False)
    assert set(report.broken) == PLAIN_BREAKS | {"values", "gradients"}


# ---- whose fault it is ----


def fails(*args, **kwargs):
    raise RuntimeError("no kernel for this\nand a second line")


def test_an_error_of_the_layer_counts_as_its_own():
    """In the error's own words, its first line."""

    class Fails(Own):
        def join(self, tokens, positions):
            fails()

    report = check_contract(Fails, only=["values", "compile", "export"])
    assert report.broken == ["values", "compile", "export"]
    words = "RuntimeError: no kernel for this"
    assert report["values"].evidence == f"stopped by: {words}"


def test_an_error_at_construction_counts_as_the_layer_s():
    class Wants(Own):
        def __init__(self, only_one):
            pass

    report = check_contract(Wants, only=["values"])
    assert report.broken == ["values"]
    assert "stopped by: TypeError: " in report["values"].evidence


def test_a_machine_that_cannot_is_not_the_layer_s_fault(monkeypatch):
    monkeypatch.setattr(torch.func, "vmap", fails)
    report = check_contract(Own, only=["values", "per-sample gradients"])
    assert report.kept == ["values"] and report.broken == []
    assert report.not_judged == ["per-sample gradients"]
    assert report["per-sample gradients"].evidence == (
        "two plain tables too: vmap over 3 sequences: RuntimeError: no kernel for this"
    )
    assert str(report).startswith("Own: 1 kept, 0 broken, 1 not judged\n")


def test_a_name_that_vanished_from_torch_is_not_the_layer_s_fault(monkeypatch):
    monkeypatch.delattr(torch.compiler, "reset")
    report = check_contract(TransformerEmbeddings, only=["compile"])
    assert report.not_judged == ["compile"]
    assert "has no attribute 'reset'" in report["compile"].evidence


def test_a_name_that_the_layer_alone_misses_is():
    """Where plain tables get through, the layer is what does not."""

    class Misses(Own):
        def join(self, tokens, positions):
            return torch.no_such_name(tokens + positions)

    report = check_contract(Misses, only=["values"])
    assert report.broken == ["values"]
    assert "no_such_name" in report["values"].evidence


def test_two_plain_tables_get_through_every_check():
    """They break promises about bad input; nothing that they do stops a check."""
    report = check_contract(contract.Plain)
    assert set(report.broken) == PLAIN_BREAKS | {"position range", "position shape"}
    assert not [r for r in report.results if "stopped" in r.evidence]


def test_tables_that_are_no_modules_cannot_be_exchanged():
    class Bare(nn.Module):
        def __init__(self, vocab_size, d_model, max_seq_len, dropout):
            super().__init__()
            self.token = nn.Parameter(torch.randn(vocab_size, d_model))
            self.position = nn.Parameter(torch.randn(max_seq_len, d_model))

        def forward(self, input_ids):
            return self.token[input_ids] + self.position[: input_ids.shape[1]]

    asked = ["hooks", "kept rows", "offload", "exchanged table", "later options"]
    report = check_contract(Bare, only=["values", *asked])
    assert report.kept == ["values"] and set(report.not_applicable) == set(asked)
    assert "no modules" in report["hooks"].evidence


# ---- the report ----


def test_report_text_is_the_same_every_time():
    texts = set()
    for seed in range(2):
        torch.manual_seed(seed)
        texts.add(str(check_contract(FromOne, compile=False)))
    assert len(texts) == 1
    text = texts.pop()
    assert text.startswith("FromOne: 25 kept, 9 broken\n")
    line = "> position_ids=[[0]]: not what the full pass gives there\n"
    assert line in text


def test_random_state_is_left_alone():
    state = torch.get_rng_state()
    check_contract(PlainTables, compile=False)
    assert torch.equal(state, torch.get_rng_state())


def test_nothing_stays_on_torch_s_classes():
    before = nn.Embedding.forward, dict(vars(nn.modules.module))
    check_contract(Own, only=["hooks", "replaced forward"])
    assert nn.Embedding.forward is before[0]
    assert not nn.modules.module._global_forward_hooks
    assert dict(vars(nn.modules.module)) == before[1]


def test_only_some_promises():
    report = check_contract(PlainTables, only=["values", "start"])
    assert report.kept == ["values"] and report.broken == ["start"]
    assert report["start"].evidence
    with pytest.raises(KeyError):
        report["gradients"]
    with pytest.raises(ValueError, match="no promise.*'valeus'.*'values'"):
        check_contract(PlainTables, only=["valeus"])
    assert check_contract(PlainTables, only=[]).results == ()
