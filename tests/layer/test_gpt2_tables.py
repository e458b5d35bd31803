"""Tables out of a GPT-2 checkpoint: whole, or nothing and a word why."""

import copy

import pytest
import torch
from helpers import refuses
from peers import HuggingFaceInputPath
from torch import nn

from embedding_layer import TransformerEmbeddings, load_gpt2_tables


def checkpoint(vocab_size=50, max_seq_len=16, prefix="", d_model=8):
    return {
        f"{prefix}wte.weight": torch.randn(vocab_size, d_model),
        f"{prefix}wpe.weight": torch.randn(max_seq_len, d_model),
    }


def unchanged(emb, before):
    return all(torch.equal(v, before[k]) for k, v in emb.state_dict().items())


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.", "module.gpt."])
def test_any_prefix(emb, prefix):
    """microsoft/dp-transformers#33: names by which wrappers hide a table."""
    state = checkpoint(prefix=prefix)
    others = {
        f"{prefix}h.0.ln_1.weight": torch.randn(8),
        f"{prefix}not_wte.weight": torch.randn(50, 8),
        "lm_head.weight": torch.randn(50, 8),
    }
    load_gpt2_tables(emb, others | state)
    assert all(map(torch.equal, emb.state_dict().values(), state.values()))


@pytest.mark.parametrize(
    ("names", "kind", "words"),
    [
        ({"wte.weight": (50, 8), "wpe.weight": (32, 8)}, ValueError, "32 16 wpe"),
        ({"wte.weight": (51, 8), "wpe.weight": (16, 8)}, ValueError, "51 50 wte"),
        ({"wte.weight": (50, 9), "wpe.weight": (16, 9)}, ValueError, "9 8"),
        ({"wte.weight": (50, 8)}, KeyError, "wpe.weight"),
        ({"wpe.weight": (16, 8)}, KeyError, "wte.weight"),
        ({}, KeyError, "wte.weight"),
        ({"xwte.weight": (50, 8), "wpe.weight": (16, 8)}, KeyError, "wte.weight"),
        (
            {"a.wte.weight": (50, 8), "b.wte.weight": (50, 8), "wpe.weight": (16, 8)},
            KeyError,
            "a.wte.weight b.wte.weight",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit(emb, names, kind, words):
    before = copy.deepcopy(emb.state_dict())
    state = {k: torch.ones(shape) for k, shape in names.items()}
    refuses(kind, lambda: load_gpt2_tables(emb, state), *words.split())
    assert unchanged(emb, before)


@pytest.mark.parametrize("bad", [torch.ones(16, 8, dtype=torch.long), [[1.0]], None])
def test_a_table_that_is_no_table(emb, bad):
    before = copy.deepcopy(emb.state_dict())
    state = checkpoint() | {"wpe.weight": bad}
    kind = "int64" if isinstance(bad, torch.Tensor) else type(bad).__name__
    refuses(TypeError, lambda: load_gpt2_tables(emb, state), "wpe.weight", kind)
    assert unchanged(emb, before)


@pytest.mark.parametrize("name", ["token_embeddings", "position_embeddings"])
def test_one_table_on_meta(emb, name):
    """A copy onto meta does nothing and says nothing: an error before any write."""
    before = copy.deepcopy(emb.state_dict())
    table = getattr(emb, name)
    rows, table.weight = table.weight, nn.Parameter(table.weight.to("meta"))
    words = (f"{name}.weight", "meta", "to_empty")
    refuses(RuntimeError, lambda: load_gpt2_tables(emb, checkpoint()), *words)
    table.weight = rows
    assert unchanged(emb, before)


def test_both_tables_on_meta():
    emb, state = TransformerEmbeddings(50, 8, 16, device="meta"), checkpoint()
    refuses(RuntimeError, lambda: load_gpt2_tables(emb, state), "meta", "to_empty")
    load_gpt2_tables(emb.to_empty(device="cpu"), state)
    assert all(map(torch.equal, emb.state_dict().values(), state.values()))


def test_a_checkpoint_on_meta(emb):
    before = copy.deepcopy(emb.state_dict())
    state = checkpoint()
    state["wpe.weight"] = state["wpe.weight"].to("meta")
    refuses(RuntimeError, lambda: load_gpt2_tables(emb, state), "wpe.weight", "meta")
    assert unchanged(emb, before)


def test_ties_dtype_and_device_stay(emb, device):
    emb = emb.to(device)
    head = nn.Linear(8, 50, bias=False)
    head.weight = emb.token_embeddings.weight
    load_gpt2_tables(emb, {k: v.half() for k, v in checkpoint().items()})
    assert head.weight is emb.token_embeddings.weight
    for table in emb.parameters():
        assert table.dtype == torch.float32 and table.device.type == device.type
        assert table.requires_grad and table.grad_fn is None
        assert torch.equal(table, table.half().float())  # the checkpoint's numbers


def test_the_checkpoint_keeps_its_own_memory(emb):
    state = checkpoint()
    before = copy.deepcopy(state)
    load_gpt2_tables(emb, state)
    with torch.no_grad():
        for table in emb.parameters():
            table.zero_()
    assert all(map(torch.equal, state.values(), before.values()))


def test_exchanged_tables(emb):
    """Any module with a weight of the right shape is filled, adapters left alone."""
    emb.position_embeddings = nn.Embedding(16, 8)
    emb.token_embeddings.adapter = nn.Parameter(torch.zeros(2))
    state = checkpoint()
    load_gpt2_tables(emb, state)
    assert torch.equal(emb.position_embeddings.weight, state["wpe.weight"])
    assert torch.equal(emb.token_embeddings.weight, state["wte.weight"])
    before = emb.token_embeddings.weight.detach().clone()
    emb.position_embeddings = nn.Sequential(nn.Embedding(16, 8))
    with pytest.raises(AttributeError, match="weight"):
        load_gpt2_tables(emb, checkpoint())
    assert torch.equal(emb.token_embeddings.weight, before)


def test_gpt2_itself(tmp_path):
    """A real safetensors file with the real names, and the model's own output."""
    transformers = pytest.importorskip("transformers")
    safetensors = pytest.importorskip("safetensors.torch")
    config = transformers.GPT2Config(
        vocab_size=60,
        n_embd=8,
        n_positions=16,
        n_layer=1,
        n_head=2,
        bos_token_id=None,
        eos_token_id=None,
    )
    gpt2 = transformers.GPT2LMHeadModel(config).eval()
    gpt2.save_pretrained(tmp_path)
    state = safetensors.load_file(tmp_path / "model.safetensors")
    assert "transformer.wte.weight" in state
    emb = TransformerEmbeddings(60, 8, 16).eval()
    load_gpt2_tables(emb, state)
    ids = torch.randint(0, 60, (2, 15))
    with torch.no_grad():
        states = gpt2(ids, output_hidden_states=True).hidden_states
        assert torch.equal(emb(ids), states[0])
        where = torch.tensor([[0, 0, 1, 2]])
        out = gpt2(ids[:, :4], position_ids=where, output_hidden_states=True)
        assert torch.equal(emb(ids[:, :4], position_ids=where), out.hidden_states[0])
    bare = TransformerEmbeddings(60, 8, 16).eval()
    load_gpt2_tables(bare, gpt2.transformer.state_dict())  # names without prefix
    assert torch.equal(bare(ids), emb(ids))


def test_hugging_face_lines_are_hugging_face():
    """peers.HuggingFaceInputPath says what GPT2Model says."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=60, n_embd=8, n_positions=16, n_layer=1, n_head=2
    )
    gpt2 = transformers.GPT2Model(config).eval()
    peer = HuggingFaceInputPath(60, 8, 16).eval()
    peer.wte, peer.wpe = gpt2.wte, gpt2.wpe
    ids = torch.randint(0, 60, (2, 5))
    states = gpt2(ids, output_hidden_states=True).hidden_states
    assert torch.equal(peer(ids), states[0])


@pytest.mark.parametrize("name", ["token_embeddings", "position_embeddings"])
@pytest.mark.parametrize("kind", ["made in inference mode", "expanded"])
def test_a_table_that_nobody_may_write_into(emb, name, kind):
    """The error comes when the other one may have been written already."""
    table = getattr(emb, name)
    if kind == "expanded":
        rows = torch.randn(1, 8).expand(table.num_embeddings, 8)
        table.weight = nn.Parameter(rows, requires_grad=False)
    else:
        with torch.inference_mode():
            table.weight = nn.Parameter(torch.randn(table.num_embeddings, 8))
    before = copy.deepcopy(emb.state_dict())
    with pytest.raises(RuntimeError):
        load_gpt2_tables(emb, checkpoint())
    assert unchanged(emb, before)
