"""What the layer promises, beyond what the contract suite and the cases ask."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch
from peers import HuggingFaceInputPath, PlainTables
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import embedding_layer
from embedding_layer import (
    Dropout,
    PositionEmbedding,
    TokenEmbedding,
    TransformerEmbeddings,
    add_positions,
    check_id_range,
    check_places_differ,
    check_rows_alone,
    check_token_ids,
    load_gpt2_tables,
    positions_from_mask,
    sinusoidal_table,
)


@pytest.fixture
def emb():
    torch.manual_seed(0)
    return TransformerEmbeddings(50, 8, 16).eval()


def twin_of(emb):
    """Two plain nn.Embeddings with the same tables."""
    plain = PlainTables(*emb.token_embeddings.weight.shape, 16)
    plain.load_state_dict(emb.state_dict())
    return plain.train(emb.training)


# ---- the public surface ----


def test_surface(emb):
    assert emb.d_model == 8 and type(emb.d_model) is int
    for table, shape in (
        (emb.token_embeddings, (50, 8)),
        (emb.position_embeddings, (16, 8)),
    ):
        assert isinstance(table, nn.Embedding) and table.weight.shape == shape
    assert isinstance(emb.dropout, nn.Dropout) and emb.dropout.p == 0.1
    names = ["token_embeddings.weight", "position_embeddings.weight"]
    assert list(emb.state_dict()) == names
    assert not list(emb.buffers())
    assert TransformerEmbeddings(50, 8, 16, 0.3).dropout.p == 0.3
    assert embedding_layer.__version__ == "0.1.0"
    assert all(hasattr(embedding_layer, name) for name in embedding_layer.__all__)


def test_extras_are_keyword_only():
    with pytest.raises(TypeError):
        TransformerEmbeddings(50, 8, 16, 0.1, 0)
    emb = TransformerEmbeddings(
        50, 8, 16, padding_idx=3, init_std=0.5, sparse=True, dtype=torch.float64
    )
    assert emb.token_embeddings.padding_idx == 3 and emb.token_embeddings.sparse
    assert {p.dtype for p in emb.parameters()} == {torch.float64}
    assert 0.4 < emb.position_embeddings.weight.std() < 0.6
    meta = TransformerEmbeddings(50, 8, 16, device="meta")
    assert {p.device.type for p in meta.parameters()} == {"meta"}
    with pytest.raises(TypeError):
        emb(torch.zeros(1, 2, dtype=torch.long), torch.zeros(1, 2, dtype=torch.long))


def test_sanity_check_command():
    run = subprocess.run(
        [sys.executable, "-m", "embedding_layer"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == (
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


# ---- values ----


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (2, 5), (5, 5), (2, 16)])
def test_bit_for_bit_the_plain_module(emb, shape, grad):
    ids = torch.randint(0, 50, shape)
    with torch.set_grad_enabled(grad):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            emb.to(dtype)
            out = emb(ids)
            assert torch.equal(out, twin_of(emb).to(dtype)(ids))
            assert out.is_contiguous() and out.requires_grad == grad


def test_gradients_are_the_plain_module_s(emb):
    plain = twin_of(emb)
    ids = torch.randint(0, 50, (3, 7))
    scale = torch.randn(3, 7, 8)
    for m in (emb, plain):
        (m(ids).sin() * scale).sum().backward()
    for a, b in zip(emb.parameters(), plain.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)


def test_tables_of_two_dtypes_sum_in_the_wider_one(emb):
    emb.token_embeddings.bfloat16()
    ids = torch.randint(0, 50, (2, 3))
    out = emb(ids)
    want = emb.token_embeddings(ids) + emb.position_embeddings.weight[:3]
    assert out.dtype == torch.float32 and torch.equal(out, want)


def test_packed_rows(emb):
    ids = torch.randint(0, 50, (1, 7))
    out = emb(ids, position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2]]))
    assert torch.equal(out, torch.cat([emb(ids[:, :4]), emb(ids[:, 4:])], dim=1))


def test_one_row_of_positions_serves_the_batch(emb):
    ids = torch.randint(0, 50, (3, 4))
    one = torch.tensor([[2, 3, 4, 5]])
    assert torch.equal(
        emb(ids, position_ids=one), emb(ids, position_ids=one.expand(3, 4))
    )


# ---- short cuts: taken only where nobody can notice ----


def test_a_hook_sees_token_rows_before_and_after(emb):
    """What a hook keeps must not turn into the sum behind its back."""
    seen = []
    emb.token_embeddings.register_forward_hook(lambda m, i, out: seen.append(out))
    ids = torch.randint(0, 50, (2, 3))
    emb(ids)
    assert torch.equal(seen[0], emb.token_embeddings.weight[ids])


def test_a_global_hook_sees_token_rows(emb):
    seen = []
    handle = nn.modules.module.register_module_forward_hook(
        lambda m, i, out: seen.append(out) if m is emb.token_embeddings else None
    )
    ids = torch.randint(0, 50, (2, 3))
    with handle:
        emb(ids)
    assert torch.equal(seen[0], emb.token_embeddings.weight[ids])


# ids have no gradient: torch says so, and runs the hook
@pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning")
@pytest.mark.parametrize("table", ["token_embeddings", "position_embeddings"])
@pytest.mark.parametrize("kind", ["full_backward_hook", "full_backward_pre_hook"])
def test_backward_hooks_run(emb, table, kind):
    seen = []
    register = getattr(getattr(emb, table), f"register_{kind}")
    register(lambda m, *grads: seen.append(grads[-1][0].shape))
    emb(torch.randint(0, 50, (2, 3))).sum().backward()
    rows = (2, 3, 8) if table == "token_embeddings" else (3, 8)
    assert seen == [rows]


def test_position_hooks_see_rows(emb):
    seen = []
    emb.position_embeddings.register_forward_hook(lambda m, i, out: seen.append(out))
    emb(torch.randint(0, 50, (2, 3)))
    assert torch.equal(seen[0], emb.position_embeddings.weight[:3])


def test_position_pre_hooks_run(emb):
    seen = []
    emb.position_embeddings.register_forward_pre_hook(lambda m, i: seen.append(i[0]))
    emb(torch.randint(0, 50, (2, 3)))
    assert seen[0].tolist() == [0, 1, 2]


def test_a_tensor_subclass_that_refuses_to_be_written(emb):
    class ReadOnly(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            assert func is not torch.Tensor.add_
            return super().__torch_function__(func, types, args, kwargs)

    ids = torch.randint(0, 50, (2, 3))
    want = emb(ids)
    rows = emb.token_embeddings.weight.detach().as_subclass(ReadOnly)
    emb.token_embeddings.weight = nn.Parameter(rows)
    assert type(emb.token_embeddings(ids)) is ReadOnly
    assert torch.equal(emb(ids).as_subclass(torch.Tensor), want)


def test_dropout_hooks_run_in_eval_mode(emb):
    seen = []
    emb.dropout.register_forward_hook(lambda m, i, out: seen.append(out))
    out = emb(torch.randint(0, 50, (2, 3)))
    assert seen[0] is out


def test_a_table_that_hands_out_its_own_tensor(emb):
    """A wrapper may return what it keeps: the sum must not be written into it."""

    class Cached(nn.Module):
        def __init__(self, rows):
            super().__init__()
            self.rows = rows

        def forward(self, ids):
            return self.rows

    rows = torch.randn(2, 3, 8)
    before = rows.clone()
    emb.token_embeddings = Cached(rows)
    emb(torch.zeros(2, 3, dtype=torch.long))
    assert torch.equal(rows, before)


def test_parametrized_table(emb):
    class Double(nn.Module):
        def forward(self, weight):
            return 2 * weight

    ids = torch.randint(0, 50, (2, 3))
    plain = emb(ids)
    for table in (emb.token_embeddings, emb.position_embeddings):
        nn.utils.parametrize.register_parametrization(table, "weight", Double())
    assert torch.equal(emb(ids), 2 * plain)


def test_monte_carlo_dropout(emb):
    """Only the dropout in train mode: it drops."""
    emb.dropout.train()
    assert (emb(torch.zeros(8, 16, dtype=torch.long)) == 0).any()


def test_results_are_nobody_else_s(emb):
    ids = torch.randint(0, 50, (1, 1))
    state = copy.deepcopy(emb.state_dict())
    with torch.no_grad():
        first = emb(ids)
        first.zero_()
        assert emb(ids).any()
    assert all(torch.equal(v, state[k]) for k, v in emb.state_dict().items())


# ---- errors ----


@pytest.mark.parametrize("bad", [0, -1, 2.5, "8", None, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_sizes(place, bad):
    sizes = [50, 8, 16]
    sizes[place] = bad
    name = ("vocab_size", "d_model", "max_seq_len")[place]
    with pytest.raises(ValueError, match=name) as caught:
        TransformerEmbeddings(*sizes)
    assert repr(bad) in str(caught.value)


def test_sizes_of_other_int_types():
    size = torch.tensor([8, 4]).sum().numpy()  # numpy.int64
    assert TransformerEmbeddings(size, size, size).d_model == 12


@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf")])
def test_init_std(bad):
    with pytest.raises(ValueError, match="init_std"):
        TransformerEmbeddings(50, 8, 16, init_std=bad)
    assert (
        not TransformerEmbeddings(50, 8, 16, init_std=0)
        .state_dict()["token_embeddings.weight"]
        .any()
    )


@pytest.mark.parametrize("bad", [16, 99, -1])
def test_position_id_outside_its_table(emb, bad):
    ids, where = torch.zeros(2, 2, dtype=torch.long), torch.tensor([[0, 1], [bad, 1]])
    with pytest.raises(IndexError) as caught:
        emb(ids, position_ids=where)
    text = str(caught.value)
    assert f"position id {bad} at (1, 0)" in text and "0..15" in text
    assert "tokenizer" not in text


def test_position_ids_of_other_kinds(emb):
    ids = torch.zeros(2, 3, dtype=torch.long)
    for shape in ((3,), (2, 4), (3, 3), (2, 1), (1, 2, 3), ()):
        with pytest.raises(ValueError, match="position ids") as caught:
            emb(ids, position_ids=torch.zeros(shape, dtype=torch.long))
        assert str(shape) in str(caught.value) and "(1, 3)" in str(caught.value)
    with pytest.raises(TypeError, match="float32"):
        emb(ids, position_ids=torch.zeros(2, 3))
    with pytest.raises(TypeError, match="list"):
        emb(ids, position_ids=[[0, 1, 2]])


def test_length_guard_holds_with_position_ids(emb):
    ids = torch.zeros(1, 17, dtype=torch.long)
    with pytest.raises(ValueError, match="17.*16"):
        emb(ids, position_ids=ids)


def test_a_layer_that_raised_still_works(emb):
    ids = torch.randint(0, 50, (2, 3))
    before = emb(ids)
    for bad in (torch.tensor([[99]]), torch.zeros(1, 17, dtype=torch.long)):
        with pytest.raises((IndexError, ValueError)):
            emb(bad)
    assert torch.equal(emb(ids), before)


# ---- devices without having them ----


def test_nothing_is_made_on_the_default_device(emb):
    """With another default device, tables and ids on the CPU still meet."""
    ids = torch.randint(0, 50, (2, 3))
    with torch.device("meta"):
        for m in (emb.eval(), emb.train()):
            assert m(ids).device.type == "cpu"
            assert m(ids, position_ids=torch.zeros_like(ids)).device.type == "cpu"


def test_meta_device_start_up():
    meta = TransformerEmbeddings(50, 8, 16, padding_idx=2, device="meta")
    meta.to_empty(device="cpu")
    for table in (meta.token_embeddings, meta.position_embeddings):
        table.reset_parameters()
    assert 0.01 < meta.token_embeddings.weight.std() < 0.03
    assert not meta.token_embeddings.weight[2].any()


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


def test_fake_cpu():
    with FakeTensorMode():
        m = TransformerEmbeddings(50, 8, 16)
        for m in (m.train(), m.eval()):
            out = m(torch.zeros(2, 3, dtype=torch.long))
            assert out.shape == (2, 3, 8)


# ---- saving, GPT-2 ----


def test_safetensors(emb, tmp_path):
    file = tmp_path / "emb.safetensors"
    ids = torch.randint(0, 50, (2, 3))
    save_file(emb.state_dict(), file)
    fresh = TransformerEmbeddings(50, 8, 16).eval()
    fresh.load_state_dict(load_file(file))
    assert torch.equal(fresh(ids), emb(ids))
    save_model(emb, str(file))
    fresh = TransformerEmbeddings(50, 8, 16).eval()
    load_model(fresh, str(file))
    assert torch.equal(fresh(ids), emb(ids))


def test_pickled_tables_and_dropout():
    for part in (TokenEmbedding(5, 4), PositionEmbedding(5, 4), Dropout(0.3)):
        again = pickle.loads(pickle.dumps(part))
        assert type(again) is type(part) and repr(again) == repr(part)
    TransformerEmbeddings(5, 4, 3).to_empty(device="cpu")


def test_gpt2_itself(tmp_path):
    """A real safetensors file with the real names, and the model's own output."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=60,
        n_embd=8,
        n_positions=16,
        n_layer=1,
        n_head=2,
        bos_token_id=None,
        eos_token_id=None,
    )
    gpt2 = GPT2LMHeadModel(config).eval()
    gpt2.save_pretrained(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    assert "transformer.wte.weight" in state
    emb = TransformerEmbeddings(60, 8, 16).eval()
    load_gpt2_tables(emb, state)
    ids = torch.randint(0, 60, (2, 16))
    with torch.no_grad():
        states = gpt2(ids, output_hidden_states=True).hidden_states
        assert torch.equal(emb(ids), states[0])
        where = torch.tensor([[0, 0, 1, 2]])
        out = gpt2(ids[:, :4], position_ids=where, output_hidden_states=True)
        assert torch.equal(emb(ids[:, :4], position_ids=where), out.hidden_states[0])
    bare = TransformerEmbeddings(60, 8, 16).eval()
    load_gpt2_tables(bare, gpt2.transformer.state_dict())  # names without prefix
    assert torch.equal(bare(ids), emb(ids))


def test_hugging_face_lines_are_hugging_face(emb):
    """peers.HuggingFaceInputPath says what GPT2Model says."""
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(vocab_size=60, n_embd=8, n_positions=16, n_layer=1, n_head=2)
    gpt2 = GPT2Model(config).eval()
    peer = HuggingFaceInputPath(60, 8, 16).eval()
    peer.wte, peer.wpe = gpt2.wte, gpt2.wpe
    ids = torch.randint(0, 60, (2, 5))
    states = gpt2(ids, output_hidden_states=True).hidden_states
    assert torch.equal(peer(ids), states[0])


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
def test_gpt2_checkpoint_that_does_not_fit(emb, names, kind, words):
    before = copy.deepcopy(emb.state_dict())
    with pytest.raises(kind) as caught:
        load_gpt2_tables(emb, {k: torch.ones(shape) for k, shape in names.items()})
    assert all(word in str(caught.value) for word in words.split()), caught.value
    after = emb.state_dict()
    assert all(torch.equal(v, before[k]) for k, v in after.items())  # not half loaded


def test_gpt2_loading_keeps_ties_and_dtype(emb):
    head = nn.Linear(8, 50, bias=False)
    head.weight = emb.token_embeddings.weight
    state = {"wte.weight": torch.ones(50, 8).half(), "wpe.weight": torch.ones(16, 8)}
    load_gpt2_tables(emb, state)
    assert head.weight is emb.token_embeddings.weight and head.weight.all()
    assert head.weight.dtype == torch.float32 and head.weight.requires_grad


# ---- the pieces alone ----


@pytest.mark.parametrize("table", [TokenEmbedding, PositionEmbedding])
def test_tables_are_tables(table):
    rows = table(10, 4)
    for shape in ((), (3,), (2, 3), (2, 3, 4)):
        ids = torch.randint(0, 10, shape)
        assert torch.equal(rows(ids), rows.weight[ids])
    assert nn.functional.embedding(ids, rows.weight).equal(rows(ids))
    with pytest.raises(IndexError, match=r"10 at \(2,\).*0\.\.9"):
        rows(torch.tensor([1, 2, 10]))
    with pytest.raises(IndexError, match=r"10 at \(\)"):
        rows(torch.tensor(10))


def test_check_id_range_says_nothing_of_good_ids():
    assert check_id_range(torch.tensor([[0, 9]]), 10) is None
    assert check_id_range(torch.empty(0, dtype=torch.long), 10) is None
    assert check_token_ids(torch.zeros(0, 0, dtype=torch.int32)) is None


def test_other_index_errors_pass_through(monkeypatch):
    """An IndexError that is not about the ids is not explained away."""

    def fail(*args, **kwargs):
        raise IndexError("something else")

    monkeypatch.setattr(nn.functional, "embedding", fail)
    for table in (TokenEmbedding(10, 4), PositionEmbedding(10, 4)):
        with pytest.raises(IndexError, match="something else"):
            table(torch.tensor([1]))


def test_add_positions():
    rows = torch.randn(2, 3, 4)
    for shape in ((3, 4), (1, 3, 4), (2, 3, 4)):
        more = torch.randn(shape)
        assert torch.equal(add_positions(rows, more), rows + more)
    for shape in ((4,), (1, 4), (2, 4), (2, 1, 4), (3, 1, 4), (3, 3, 4), (3, 1), (1,)):
        with pytest.raises(ValueError, match="do not fit") as caught:
            add_positions(rows, torch.randn(shape))
        assert str(shape) in str(caught.value) and "(2, 3, 4)" in str(caught.value)


def test_the_two_invariants(emb):
    """They pass the layer, and each catches its own wrong one-liner."""
    ids = torch.randint(0, 50, (4, 4))
    tokens, positions = emb.token_embeddings, emb.position_embeddings.weight

    def by_row(ids):  # positions along the batch axis
        return tokens(ids) + positions[: ids.shape[0]].unsqueeze(1)

    def one_for_all(ids):
        return tokens(ids) + positions[0]

    for check in (check_rows_alone, check_places_differ):
        assert check(emb, ids) is None
        with pytest.raises(AssertionError):
            check(by_row, ids)
        with pytest.raises(ValueError):
            check(emb, ids[:1, :1])
    check_rows_alone(one_for_all, ids)
    with pytest.raises(AssertionError, match="places 0 and 1"):
        check_places_differ(one_for_all, ids)


def test_positions_from_mask():
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]])
    want = [[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert positions_from_mask(mask).tolist() == want
    assert positions_from_mask(mask.bool() * 5).tolist() == want
    assert positions_from_mask(torch.ones(0, 4)).shape == (0, 4)
    with pytest.raises(ValueError, match=r"\(4,\)"):
        positions_from_mask(mask[0])


def test_sinusoidal_table():
    table = sinusoidal_table(20, 6, dtype=torch.float64)
    for t in range(20):
        for i in range(3):
            angle = torch.tensor(t / 10000 ** (2 * i / 6), dtype=torch.float64)
            assert torch.allclose(table[t, 2 * i], angle.sin())
            assert torch.allclose(table[t, 2 * i + 1], angle.cos())
    assert torch.allclose(table.norm(dim=1), torch.full((20,), 3**0.5).double())
    assert sinusoidal_table(4, 2).dtype == torch.float32
    fine = sinusoidal_table(1000, 8)
    assert torch.equal(sinusoidal_table(1000, 8, dtype=torch.bfloat16), fine.bfloat16())
    assert sinusoidal_table(4, 2, device="meta").device.type == "meta"
    for bad in ((4, 3), (0, 2), (4, -2)):
        with pytest.raises(ValueError):
            sinusoidal_table(*bad)
