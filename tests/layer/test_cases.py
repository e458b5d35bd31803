"""Faults that people reported in public, each as a test under its case id.

The ids are those of the book's clinic; each test keeps the case's small input
and adds the family around it.
"""

import copy
import io
import pickle
import shutil
import sysconfig
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim, export

from embedding_layer import (
    TransformerEmbeddings,
    load_gpt2_tables,
    positions_from_mask,
)


def tables(emb):
    return [c for c in emb.children() if isinstance(c, nn.Embedding)]


@pytest.fixture
def emb():
    torch.manual_seed(0)
    return TransformerEmbeddings(100, 8, 16)


def refuses(kind, call, *words):
    """`call` raises `kind`, and its message holds all the words."""
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value), (word, str(caught.value))
    return str(caught.value)


# ---- ids outside the table ----


def test_A01_tokenizer_grew_table_did_not():
    emb = TransformerEmbeddings(50257, 8, 4).eval()
    T, P = tables(emb)
    out = emb(torch.tensor([[50256]]))
    assert torch.equal(out[0, 0], T.weight[50256] + P.weight[0])
    text = refuses(
        IndexError,
        lambda: emb(torch.tensor([[50257]])),
        "50257",
        "0..50256",
        "tokenizer",
        "len(tokenizer)",
    )
    assert "-100" in text  # the other usual cause


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("bad", [100, 10**6, -1, -100])
@pytest.mark.parametrize("place", [(0, 0), (1, 2)])
def test_A01_family_the_id_and_its_place(emb, bad, place, train):
    ids = torch.zeros(2, 3, dtype=torch.long)
    ids[place] = bad
    refuses(IndexError, lambda: emb.train(train)(ids), str(bad), str(place), "0..99")


def test_A02_bad_id_the_recipe(emb):
    ids = torch.tensor([[3, 100]])
    refuses(IndexError, lambda: emb.to("cpu")(ids.cpu()), "100", "(0, 1)", "0..99")
    assert (ids.min(), ids.max()) == (3, 100)


def test_A04_meta_has_no_values_to_check():
    emb = TransformerEmbeddings(10, 3, 8)
    out = emb.to("meta")(torch.full((1, 3), 999, device="meta"))
    assert out.shape == (1, 3, 3)
    for name in ("CPU", "CUDA", "MPS"):
        assert name in TransformerEmbeddings.__doc__


# ---- what ids are made of ----


def test_A05_float_ids(emb):
    refuses(
        TypeError,
        lambda: emb(torch.Tensor([[1, 2, 3]])),
        "torch.float32",
        "int64",
        "int32",
        ".long()",
    )


@pytest.mark.parametrize(
    "dtype",
    "float16 bfloat16 float64 bool uint8 int8 int16 complex64".split(),
)
def test_A05_family_other_dtypes(emb, dtype):
    ids = torch.ones(1, 3, dtype=getattr(torch, dtype))
    refuses(TypeError, lambda: emb(ids), f"torch.{dtype}", "int64")


def test_A05_family_an_empty_list_is_float(emb):
    refuses(TypeError, lambda: emb(torch.tensor([[]])), "torch.float32")


@pytest.mark.parametrize("ids", [[[1, 2]], None, "text"])
def test_A05_family_not_a_tensor(emb, ids):
    refuses(TypeError, lambda: emb(ids), "torch.Tensor", type(ids).__name__)


def test_A06_int32_ids(emb):
    ids = torch.randint(0, 100, (2, 5))
    assert torch.equal(emb.eval()(ids.int()), emb.eval()(ids))
    grads = []
    for kind in (torch.int32, torch.int64):
        emb.zero_grad()
        emb(ids.to(kind)).pow(2).sum().backward()
        grads.append([p.grad.clone() for p in emb.parameters()])
    assert all(map(torch.equal, *grads))
    where = torch.arange(5).unsqueeze(0)
    assert torch.equal(emb(ids, position_ids=where.int()), emb(ids))


# ---- shapes ----


def test_A08_one_sentence_without_a_batch(emb):
    flat = torch.tensor([1, 2, 3])
    text = refuses(
        ValueError, lambda: emb(flat), "(3,)", "(batch, seq_len)", "unsqueeze(0)"
    )
    assert "max_seq_len" not in text  # not to be taken for the length error
    ids = torch.tensor([[1, 2, 3]])
    refuses(ValueError, lambda: emb(ids[:, -1]), "(1,)", "ids[:, -1:]")
    assert emb(ids[:, -1:]).shape == (1, 1, 8)
    refuses(ValueError, lambda: emb(torch.tensor(7)), "()", "(batch, seq_len)")
    refuses(ValueError, lambda: emb(ids.unsqueeze(0)), "(1, 1, 3)")


def test_A10_empty(emb):
    for shape in ((0, 5), (2, 0), (0, 0)):
        emb.zero_grad()
        out = emb(torch.empty(shape, dtype=torch.long))
        assert tuple(out.shape) == shape + (8,)
        out.sum().backward()
        assert all(p.grad is not None and not p.grad.any() for p in emb.parameters())


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_A11_generation_walks_off_the_table(emb, batch, train):
    emb.train(train)
    long = torch.zeros(batch, 17, dtype=torch.long)
    refuses(ValueError, lambda: emb(long), "17", "16", "max_seq_len")
    assert emb(torch.zeros(1, 99, dtype=torch.long)[:, -16:]).shape == (1, 16, 8)


def test_A11_family_length_before_values(emb):
    """A long sequence of bad ids is told of its length: no lookup is made."""
    bad = torch.full((1, 17), 999)
    refuses(ValueError, lambda: emb(bad), "17", "16")


def test_A11_family_generation_loop(emb):
    ids = torch.zeros(1, 3, dtype=torch.long)
    for _ in range(30):
        emb(ids[:, -16:])
        ids = torch.cat([ids, ids[:, -1:]], dim=1)
    assert ids.shape == (1, 33)


def test_A12_off_by_one(emb):
    emb.eval()
    T, P = tables(emb)
    for length in (15, 16):
        out = emb(torch.zeros(1, length, dtype=torch.long))
        assert out.shape == (1, length, 8)
        assert torch.equal(out[0, -1], T.weight[0] + P.weight[length - 1])
    refuses(ValueError, lambda: emb(torch.zeros(1, 17, dtype=torch.long)), "17", "16")
    one = TransformerEmbeddings(100, 8, 1)
    assert one(torch.zeros(3, 1, dtype=torch.long)).shape == (3, 1, 8)
    refuses(ValueError, lambda: one(torch.zeros(3, 2, dtype=torch.long)), "2", "1")


# ---- positions ----


def test_A14_left_padding(emb):
    T, P = tables(emb)
    emb.eval()
    pad, real = torch.tensor([[0, 0, 7, 8, 9]]), torch.tensor([[7, 8, 9]])
    shift = P.weight[2:5] - P.weight[0:3]
    assert torch.allclose(emb(pad)[:, 2:] - emb(real), shift, atol=1e-6)
    mask = torch.tensor([[0, 0, 1, 1, 1]])
    pos = (mask.cumsum(1) - 1).clamp(min=0)
    assert torch.allclose((T(pad) + P(pos))[:, 2:], emb(real))
    assert torch.equal((T(pad) + P(pos))[:, 2:], emb(real))
    for kind in (torch.int64, torch.int32, torch.bool, torch.float32):
        positions = positions_from_mask(mask.to(kind))
        assert positions.dtype == torch.int64 and torch.equal(positions, pos)
        assert torch.equal(emb(pad, position_ids=positions), T(pad) + P(pos))
        assert torch.equal(emb(pad, position_ids=positions)[:, 2:], emb(real))


def test_A15_cached_decoding(emb):
    T, P = tables(emb)
    emb.eval()
    ids = torch.arange(6).unsqueeze(0)
    full, step = emb(ids), emb(ids[:, 5:6])
    assert torch.allclose(step[0, 0], T.weight[5] + P.weight[0])
    assert torch.allclose(T(ids[:, 5:6]) + P(torch.tensor([5])), full[:, 5:6])
    assert torch.equal(emb(ids[:, 5:6], position_ids=torch.tensor([[5]])), full[:, 5:6])


def test_A17_positions_on_the_batch_axis(emb):
    T, P = tables(emb)
    emb.eval()
    for b, t in ((2, 3), (3, 3), (1, 5)):
        ids = torch.randint(0, 100, (b, t))
        added = emb(ids) - T(ids)
        assert torch.allclose(added, P.weight[:t].expand(b, t, -1), atol=1e-6)
        same = emb(ids[:1].expand(b, t))
        assert torch.equal(same, same[:1].expand(b, t, -1))
        emb.zero_grad()
        emb(ids).sum().backward()
        assert (P.weight.grad[:t] == b).all() and not P.weight.grad[t:].any()


# ---- devices and dtypes ----


def test_A18_positions_are_made_where_the_ids_are():
    m = TransformerEmbeddings(50, 8, 16).to("meta")
    out = m(torch.zeros(1, 3, dtype=torch.long, device="meta"))
    assert out.device.type == "meta" and tuple(out.shape) == (1, 3, 8)


def test_A19_no_tensor_as_a_plain_attribute():
    emb = TransformerEmbeddings(50, 8, 16).to(torch.float64)
    emb(torch.zeros(1, 3, dtype=torch.long))
    for mod in emb.modules():
        assert not [k for k, v in vars(mod).items() if isinstance(v, torch.Tensor)]
        assert not mod._buffers
    assert len(emb.state_dict()) == 2
    assert all(v.dtype == torch.float64 for v in emb.state_dict().values())


def test_A22_autocast(emb):
    ids = torch.zeros(1, 3, dtype=torch.long)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = emb.float()(ids)
        assert out.dtype == torch.float32
        assert nn.Linear(8, 2)(out).dtype == torch.bfloat16
    for dt in (torch.bfloat16, torch.float16, torch.float64):
        assert emb.to(dt)(ids).dtype == dt
        assert emb.eval()(ids).dtype == dt
        emb.train()


# ---- start and tying ----


def test_A24_start_scale():
    torch.manual_seed(0)
    emb = TransformerEmbeddings(50257, 256, 64, dropout=0.0)
    T, P = tables(emb)
    x, y = torch.randint(0, 50257, (2, 32)), torch.randint(0, 50257, (2, 32))

    def first_loss():
        logits = (emb(x) @ T.weight.T).flatten(0, 1)
        return nn.functional.cross_entropy(logits, y.flatten()).item()

    with torch.no_grad():
        assert abs(first_loss() - 10.82) < 0.1
        T.weight.normal_(), P.weight.normal_()  # PyTorch's own start
        assert first_loss() > 100


def test_A25_tie_and_meta():
    emb = TransformerEmbeddings(50, 8, 16)
    T, P = tables(emb)
    head = nn.Linear(8, 50, bias=False)
    head.weight = T.weight
    pair = nn.ModuleList([emb, head]).double()
    assert pair[1].weight is tables(pair[0])[0].weight
    with torch.device("meta"):
        emb = TransformerEmbeddings(50, 8, 16)
        head = nn.Linear(8, 50, bias=False)
    head.weight = tables(emb)[0].weight
    pair = nn.ModuleList([emb, head]).to_empty(device="cpu")
    assert pair[1].weight is not tables(pair[0])[0].weight  # lost: tie again
    pair[1].weight = pair[0].token_embeddings.weight
    assert pair[1].weight.data_ptr() == tables(pair[0])[0].weight.data_ptr()


def test_A27_new_token_rows():
    old, new = TransformerEmbeddings(50, 8, 16), TransformerEmbeddings(60, 8, 16)
    with torch.no_grad():
        for a, b, n in zip(tables(old), tables(new), (50, 16), strict=True):
            b.weight[:n].copy_(a.weight)
        tables(new)[0].weight[50:] = tables(old)[0].weight.mean(0)
    ids = torch.randint(0, 50, (2, 5))
    assert torch.equal(old.eval()(ids), new.eval()(ids))
    new(torch.tensor([[59]]))
    refuses(IndexError, lambda: new(torch.tensor([[60]])), "60", "0..59")


def test_A27_family_a_table_swapped_in_place(emb):
    """The range in the message and the length guard are the real tables'."""
    emb.token_embeddings.weight = nn.Parameter(torch.randn(110, 8))
    emb(torch.tensor([[109]]))
    refuses(IndexError, lambda: emb(torch.tensor([[110]])), "110", "0..109")


# ---- checkpoints ----


def test_A28_gpt2_names():
    wte, wpe = torch.randn(50, 8), torch.randn(16, 8)
    emb = TransformerEmbeddings(50, 8, 16)
    T, P = tables(emb)
    names = {id(p): n for n, p in emb.named_parameters()}
    emb.load_state_dict({names[id(T.weight)]: wte, names[id(P.weight)]: wpe})
    assert torch.equal(T.weight, wte) and torch.equal(P.weight, wpe)


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.", "module.gpt."])
def test_A28_family_prefixes(prefix):
    state = {
        f"{prefix}wte.weight": torch.randn(50, 8),
        f"{prefix}wpe.weight": torch.randn(16, 8),
        f"{prefix}h.0.ln_1.weight": torch.randn(8),
        "lm_head.weight": torch.randn(50, 8),
    }
    emb = TransformerEmbeddings(50, 8, 16)
    load_gpt2_tables(emb, state)
    T, P = tables(emb)
    assert torch.equal(T.weight, state[f"{prefix}wte.weight"])
    assert torch.equal(P.weight, state[f"{prefix}wpe.weight"])


def test_A30_other_context_length():
    emb, big = TransformerEmbeddings(50, 8, 16), TransformerEmbeddings(50, 8, 32)
    for strict in (True, False):
        refuses(
            RuntimeError,
            lambda: emb.load_state_dict(big.state_dict(), strict=strict),
            "[32, 8]",
            "[16, 8]",
        )


def test_A30_family_shorter_copy_and_swapped_table():
    small, big = TransformerEmbeddings(50, 8, 16), TransformerEmbeddings(50, 8, 32)
    with torch.no_grad():
        small.token_embeddings.weight.copy_(big.token_embeddings.weight)
        small.position_embeddings.weight.copy_(big.position_embeddings.weight[:16])
    ids = torch.randint(0, 50, (2, 16))
    assert torch.equal(small.eval()(ids), big.eval()(ids))
    for swap in (big.position_embeddings, nn.Embedding(32, 8)):
        small.position_embeddings = swap
        assert small(torch.zeros(1, 32, dtype=torch.long)).shape == (1, 32, 8)
        long = torch.zeros(1, 33, dtype=torch.long)
        refuses(ValueError, lambda: small(long), "33", "32")


def test_A31_copy_and_save_after_use(emb):
    emb(torch.zeros(1, 3, dtype=torch.long))
    twin = copy.deepcopy(emb)
    again = pickle.loads(pickle.dumps(emb))
    ids = torch.randint(0, 100, (2, 5))
    assert torch.equal(twin.eval()(ids), emb.eval()(ids))
    assert torch.equal(again.eval()(ids), emb(ids))
    assert twin.token_embeddings.weight is not emb.token_embeddings.weight
    file = io.BytesIO()
    torch.save(emb.state_dict(), file)
    file.seek(0)
    fresh = TransformerEmbeddings(100, 8, 16).eval()
    fresh.load_state_dict(torch.load(file))  # weights_only is the default
    assert torch.equal(fresh(ids), emb(ids))
    file = io.BytesIO()
    torch.save(emb, file)
    file.seek(0)
    whole = torch.load(file, weights_only=False)
    assert torch.equal(whole(ids), emb(ids))


# ---- training ----


def test_A32_padding_row():
    emb = TransformerEmbeddings(5, 4, 8, dropout=0.0)
    T, P = tables(emb)
    with torch.no_grad():
        T.weight[0].zero_()
    assert torch.equal(emb(torch.tensor([[0, 0]]))[0], P.weight[:2])


@pytest.mark.parametrize("padding_idx", [0, 4, -1])
def test_A32_family_padding_idx(padding_idx):
    emb = TransformerEmbeddings(5, 4, 8, dropout=0.0, padding_idx=padding_idx)
    T, P = tables(emb)
    row = padding_idx % 5
    opt = torch.optim.AdamW(emb.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        assert not T.weight[row].any()
        assert T.weight.abs().sum(dim=1).count_nonzero() == 4
        emb(torch.tensor([[0, 1, 2, 3, 4, row]])).sum().backward()
        opt.step()
        T.reset_parameters()
    assert torch.equal(emb(torch.tensor([[row, row]]))[0], P.weight[:2])


def test_A34_dense_gradients(emb):
    opt = torch.optim.AdamW(emb.parameters())
    emb(torch.zeros(2, 3, dtype=torch.long)).sum().backward()
    torch.nn.utils.clip_grad_norm_(emb.parameters(), 1.0)
    opt.step()
    assert not any(p.grad.is_sparse for p in emb.parameters())


def test_A34_family_sparse():
    """sparse=True: the token table's gradient is sparse, the other stays dense."""
    emb = TransformerEmbeddings(100, 8, 16, dropout=0.0, sparse=True)
    twin = copy.deepcopy(emb)
    twin.token_embeddings.sparse = False
    ids = torch.tensor([[1, 1, 2]])
    for m in (emb, twin):
        m(ids).pow(2).sum().backward()
    T, P = tables(emb)
    assert T.weight.grad.is_sparse and not P.weight.grad.is_sparse
    dense = [p.grad for p in twin.parameters()]
    assert torch.allclose(T.weight.grad.to_dense(), dense[0])
    assert torch.allclose(P.weight.grad, dense[1])
    torch.optim.SparseAdam([T.weight]).step()
    with pytest.raises(RuntimeError):
        torch.optim.Adam([T.weight]).step()


def test_A35_forward_edits_no_weight(emb):
    T, P = tables(emb)
    with torch.no_grad():
        T.weight.mul_(1000)
    before = [p.detach().clone() for p in emb.parameters()]
    ids = torch.tensor([[1, 2]])
    (T.weight.sum() + emb(ids).sum() + T.weight.pow(2).sum()).backward()
    assert all(torch.equal(a, b) for a, b in zip(before, emb.parameters(), strict=True))
    for train in (True, False):
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                emb.train(train)(ids)
                emb.train(train)(ids, position_ids=torch.tensor([[3, 4]]))
            assert all(map(torch.equal, before, emb.parameters()))


def test_A35_family_tied_head_in_the_same_graph(emb):
    T, _ = tables(emb)
    ids = torch.tensor([[1, 2]])
    (emb(ids) @ T.weight.T).sum().backward()
    assert T.weight.grad.abs().sum(dim=1).count_nonzero() == 100


def test_A36_pretrained_vectors_stay_trainable():
    emb = TransformerEmbeddings(50, 8, 16)
    T, P = tables(emb)
    with torch.no_grad():
        T.weight.copy_(torch.randn(50, 8))
    assert T.weight.requires_grad and P.weight.requires_grad
    emb.load_state_dict(emb.state_dict())
    assert T.weight.requires_grad and P.weight.requires_grad
    T.weight.requires_grad_(False)
    emb(torch.zeros(1, 2, dtype=torch.long)).sum().backward()
    assert T.weight.grad is None and P.weight.grad is not None


def test_A36_family_from_pretrained(emb):
    matrix = torch.randn(50, 8)
    emb.token_embeddings = nn.Embedding.from_pretrained(matrix, freeze=False)
    ids = torch.tensor([[3, 49]])
    want = matrix[ids] + emb.position_embeddings.weight[:2]
    assert torch.equal(emb.eval()(ids), want)
    emb(ids).sum().backward()
    assert all(p.grad is not None for p in emb.parameters())


# ---- dropout ----


def test_A37_no_grad_is_not_eval():
    emb = TransformerEmbeddings(100, 256, 64, dropout=0.1).train()
    T, P = tables(emb)
    ids = torch.randint(1, 100, (16, 64))
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            assert 0.08 < (emb(ids) == 0).float().mean() < 0.12
    state = torch.get_rng_state()
    out = emb.eval()(ids)
    assert torch.equal(out, T(ids) + P.weight[:64])
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(out, emb(ids))


def test_A38_kept_values():
    emb = TransformerEmbeddings(100, 256, 64, dropout=0.1).train()
    T, P = tables(emb)
    ids = torch.randint(0, 100, (16, 64))
    torch.manual_seed(1)
    out = emb(ids)
    ref = T(ids) + P.weight[:64]
    keep = out != 0
    assert torch.allclose(out[keep], ref[keep] / 0.9, rtol=1e-6, atol=0)
    assert not torch.equal(out, emb(ids))
    torch.manual_seed(1)
    assert torch.equal(out, emb(ids))


def test_A40_rates():
    build = partial(TransformerEmbeddings, 10, 4, 4)
    for bad in (-0.1, 1.1, float("nan"), float("inf")):
        refuses(ValueError, partial(build, dropout=bad), "dropout", str(bad))
    for bad in (None, "0.1"):
        refuses(TypeError, partial(build, dropout=bad), "dropout", repr(bad))
    ids = torch.zeros(1, 3, dtype=torch.long)
    for one in (1, 1.0):
        emb = TransformerEmbeddings(10, 4, 4, dropout=one).train()
        out = emb(ids)
        out.sum().backward()
        assert (out == 0).all()
        assert all(p.grad is not None and not p.grad.any() for p in emb.parameters())
    for none in (0, 0.0):
        emb = TransformerEmbeddings(10, 4, 4, dropout=none).train()
        assert torch.equal(emb(ids), emb.eval()(ids))


# ---- graphs ----


def inductor_can_build():
    """The default backend builds C++ against Python's headers."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return headers.exists() and any(map(shutil.which, ("g++", "clang++")))


INDUCTOR = pytest.param(
    "inductor",
    marks=pytest.mark.skipif(not inductor_can_build(), reason="no C++ compiler"),
)


# torch warns of its own torch.jit here
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("backend", ["aot_eager", INDUCTOR])
def test_A41_compiled(emb, backend):
    emb.eval()
    # one graph for all calls
    c = torch.compile(emb, fullgraph=True, dynamic=True, backend=backend)
    ids = torch.randint(0, 100, (2, 5))
    assert torch.allclose(c(ids), emb(ids), atol=1e-6)
    for bad in (-2, -100, 100):
        with pytest.raises(Exception):  # noqa: B017  its type may differ
            c(torch.tensor([[1, bad], [1, 2]]))


def test_A42_export(emb):
    ids = torch.zeros(2, 4, dtype=torch.long)
    shapes = ({0: Dim("b"), 1: Dim("t", max=16)},)
    run = export(emb.eval(), (ids,), dynamic_shapes=shapes).module()
    assert tuple(run(torch.zeros(3, 9, dtype=torch.long)).shape) == (3, 9, 8)
    for shape in ((1, 16), (5, 2)):
        ids = torch.randint(0, 100, shape)
        assert torch.equal(run(ids), emb(ids))
    with pytest.raises(Exception):  # noqa: B017  a failed guard
        run(torch.zeros(1, 17, dtype=torch.long))


# ---- scale ----


def test_A45_every_parameter_gets_a_gradient(emb):
    emb.zero_grad()
    emb(torch.zeros(1, 1, dtype=torch.long)).sum().backward()
    assert all(p.grad is not None for p in emb.parameters())
    assert len(list(emb.parameters())) == 2
    assert not emb.position_embeddings.weight.grad[1:].any()


def test_A47_same_gradients_every_time():
    emb = TransformerEmbeddings(10, 16, 512, dropout=0.0)
    T, P = tables(emb)
    ids = torch.randint(0, 10, (32, 512))
    grads = []
    for _ in range(3):
        emb.zero_grad()
        emb(ids).pow(2).sum().backward()
        grads.append(T.weight.grad.clone())
    assert all(torch.equal(grads[0], g) for g in grads)
    torch.use_deterministic_algorithms(True)
    try:
        emb.train()(ids).sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)


def test_A48_a_few_ids_a_full_gradient():
    emb = TransformerEmbeddings(50257, 768, 1024)
    assert sum(p.numel() for p in emb.parameters()) == 39_383_808
    T, P = tables(emb)
    emb(torch.zeros(1, 1, dtype=torch.long)).sum().backward()
    assert round(T.weight.grad.numel() * 4 / 2**20, 1) == 147.2
