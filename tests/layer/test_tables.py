"""The two tables as tables: each does what an nn.Embedding does."""

import copy
import pickle
from functools import partial

import pytest
import torch
from helpers import refuses
from torch import nn

from embedding_layer import (
    PositionEmbedding,
    TokenEmbedding,
    TransformerEmbeddings,
    contract,
)
from embedding_layer.token_embedding import INIT_STD

BOTH = pytest.mark.parametrize("kind", [TokenEmbedding, PositionEmbedding])


@BOTH
def test_tables_look_rows_up(kind, device):
    rows = kind(10, 4).to(device)
    for shape in ((), (3,), (2, 3), (2, 3, 4)):
        ids = torch.randint(0, 10, shape, device=device)
        assert torch.equal(rows(ids), rows.weight[ids])
        assert torch.equal(rows(input=ids), rows(ids))  # nn.Embedding's own name
    assert isinstance(rows, nn.Embedding)


@BOTH
def test_an_id_outside(kind):
    name = "token id" if kind is TokenEmbedding else "position id"
    ids = torch.tensor([1, 2, 10])
    refuses(IndexError, lambda: kind(10, 4)(ids), f"{name} 10 at (2,)", "0..9")


@BOTH
def test_ids_on_meta_have_no_values(kind):
    """PyTorch's lookup would return what the memory held."""
    name = "token ids" if kind is TokenEmbedding else "position ids"
    ids = torch.zeros(2, 3, dtype=torch.long, device="meta")
    refuses(RuntimeError, lambda: kind(10, 4)(ids), name, "meta", "cpu")
    assert kind(10, 4, device="meta")(ids).is_meta


@BOTH
def test_other_index_errors_pass_through(kind, monkeypatch):
    """An IndexError that is not about the ids is not explained away."""

    def fail(*args, **kwargs):
        raise IndexError("something else")

    monkeypatch.setattr(nn.functional, "embedding", fail)
    refuses(IndexError, lambda: kind(10, 4)(torch.tensor([1])), "something else")


@BOTH
def test_pickled_tables(kind):
    table = kind(5, 4, init_std=0.5)
    again = pickle.loads(pickle.dumps(table))
    assert type(again) is kind and repr(again) == repr(table)
    assert torch.equal(again.weight, table.weight)


# ---- the start ----


@BOTH
def test_the_default_start(kind):
    """One constant says it, for both tables, the layer and the contract."""
    assert INIT_STD == contract.INIT_STD == 0.02
    assert kind(2, 2).init_std == INIT_STD
    table = kind(1000, 100)
    assert table.weight.std().item() == pytest.approx(INIT_STD, rel=0.02)
    table.reset_parameters()
    assert table.weight.std().item() == pytest.approx(INIT_STD, rel=0.02)


def test_the_default_start_of_the_layer():
    emb = TransformerEmbeddings(1000, 100, 1000)
    for table in (emb.token_embeddings, emb.position_embeddings):
        assert table.init_std == INIT_STD
        assert table.weight.std().item() == pytest.approx(INIT_STD, rel=0.02)


@BOTH
def test_another_start(kind):
    assert kind(100, 100, init_std=0.5).weight.std().item() == pytest.approx(0.5, 0.05)
    assert not kind(4, 3, init_std=0).weight.any()
    table = kind(100, 100, init_std=0.5)
    with torch.no_grad():
        table.weight.zero_()
    table.reset_parameters()
    assert table.weight.std().item() == pytest.approx(0.5, 0.05)


# ---- what is written about it ----


@BOTH
def test_repr_shows_what_differs_from_the_default(kind):
    assert repr(kind(5, 4)) == f"{kind.__name__}(5, 4)"
    assert "init_std=0.5" in repr(kind(5, 4, init_std=0.5))
    assert "init_std=0" in repr(kind(5, 4, init_std=0))
    table = kind(5, 4, init_std=0.5)
    table.max_norm = 2.0
    assert "max_norm=2.0" in repr(table) and "init_std=0.5" in repr(table)


def test_repr_of_the_layer():
    text = repr(TransformerEmbeddings(5, 4, 3, 0.25, padding_idx=0, init_std=0.5))
    for words in ("padding_idx=0", "init_std=0.5", "p=0.25"):
        assert words in text


# ---- from_pretrained ----


@BOTH
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"freeze": False},
        {"padding_idx": 2},
        {"padding_idx": -1},
        {"freeze": False, "max_norm": 1.0, "norm_type": 1.0},
        {"freeze": False, "scale_grad_by_freq": True},
        {"freeze": False, "sparse": True},
    ],
)
def test_from_pretrained_is_nn_embedding_s(kind, options):
    rows = torch.randn(4, 3)
    ours, theirs = (
        k.from_pretrained(rows.clone(), **options) for k in (kind, nn.Embedding)
    )
    assert type(ours) is kind and torch.equal(ours.weight, rows)
    assert ours.weight.requires_grad == options.get("freeze", True) ^ True
    names = "num_embeddings embedding_dim padding_idx max_norm norm_type"
    for name in (*names.split(), "scale_grad_by_freq", "sparse"):
        assert getattr(ours, name) == getattr(theirs, name), name
    ids = torch.tensor([[0, 1, 2], [1, 3, 3]])
    assert torch.equal(ours(ids), theirs(ids))
    if ours.weight.requires_grad:
        for table in (ours, theirs):
            table(ids).pow(2).sum().backward()
        grads = [table.weight.grad.to_dense() for table in (ours, theirs)]
        assert torch.equal(*grads)


@BOTH
def test_from_pretrained_refuses_what_is_no_table(kind):
    call = kind.from_pretrained
    refuses(ValueError, partial(call, torch.randn(3)), "num_rows, d_model", "(3,)")
    refuses(TypeError, partial(call, [[1.0, 2.0]]), "torch.Tensor", "list")
    bad = partial(call, torch.randn(4, 3), padding_idx=4)
    refuses(ValueError, bad, "padding_idx", "-4..3", "got 4")


@BOTH
def test_from_pretrained_can_be_copied_and_drawn_anew(kind):
    table = kind.from_pretrained(torch.full((100, 100), 7.0))
    for again in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert type(again) is kind and torch.equal(again.weight, table.weight)
    table.reset_parameters()
    assert table.weight.std().item() == pytest.approx(INIT_STD, rel=0.05)


def test_pretrained_vectors_stay_trainable(emb):
    """huggingface/optimum-graphcore#304: vectors that were frozen unseen."""
    rows = torch.randn(50, 8)
    with torch.no_grad():
        emb.token_embeddings.weight.copy_(rows)
    emb.load_state_dict(emb.state_dict())
    assert all(p.requires_grad for p in emb.parameters())
    emb.token_embeddings = TokenEmbedding.from_pretrained(rows, freeze=False)
    ids = torch.tensor([[3, 49]])
    assert torch.equal(emb(ids), rows[ids] + emb.position_embeddings.weight[:2])
    emb(ids).sum().backward()
    assert all(p.grad is not None for p in emb.parameters())
    emb.zero_grad()
    emb.token_embeddings.weight.requires_grad_(False)
    emb(ids).sum().backward()
    assert emb.token_embeddings.weight.grad is None
    assert emb.position_embeddings.weight.grad is not None


# ---- bad arguments ----


@pytest.mark.parametrize("bad", [0, -1, 2.5, "8", None, True])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_sizes(at, bad):
    sizes = [50, 8, 16]
    sizes[at] = bad
    name = ("vocab_size", "d_model", "max_seq_len")[at]
    refuses(
        ValueError, lambda: TransformerEmbeddings(*sizes), name, repr(bad), "positive"
    )


def test_sizes_of_other_int_types():
    size = pytest.importorskip("numpy").int64(12)
    emb = TransformerEmbeddings(size, size, size, padding_idx=size - 1)
    assert emb.d_model == 12 and type(emb.d_model) is int
    assert emb.token_embeddings.padding_idx == 11


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "bad", "kind"),
    [
        ("padding_idx", 50, ValueError),
        ("padding_idx", -51, ValueError),
        ("padding_idx", 1.5, TypeError),
        ("padding_idx", "3", TypeError),
        ("padding_idx", True, TypeError),
        ("init_std", -0.1, ValueError),
        ("init_std", NAN, ValueError),
        ("init_std", INF, ValueError),
        ("init_std", "0.02", TypeError),
        ("init_std", None, TypeError),
        ("init_std", True, TypeError),
        ("sparse", 1, TypeError),
        ("sparse", "yes", TypeError),
        ("sparse", None, TypeError),
        ("dtype", torch.int64, (TypeError, ValueError)),
        ("dtype", torch.bool, (TypeError, ValueError)),
        ("dtype", "float32", TypeError),
        ("device", 1.5, TypeError),
        ("device", "nowhere", (TypeError, ValueError)),
        ("dropout", -0.1, ValueError),
        ("dropout", 1.1, ValueError),
        ("dropout", NAN, ValueError),
        ("dropout", INF, ValueError),
        ("dropout", None, TypeError),
        ("dropout", "0.1", TypeError),
        ("dropout", True, TypeError),
    ],
)
def test_bad_options(name, bad, kind):
    """Each is told with its name, what it was and what is accepted."""
    message = refuses(kind, lambda: TransformerEmbeddings(50, 8, 16, **{name: bad}))
    assert name in message and repr(bad) in message
    accepted = {
        "padding_idx": "-50" if kind is ValueError else "int",
        "init_std": ">= 0" if kind is ValueError else "number",
        "sparse": "True or False",
        "dtype": "float",
        "device": "device",
        "dropout": "0 and 1" if kind is ValueError else "number",
    }
    assert accepted[name] in message


@pytest.mark.parametrize(
    ("name", "bad", "kind"),
    [
        ("init_std", -1, ValueError),
        ("init_std", "0.02", TypeError),
        ("dtype", torch.int64, (TypeError, ValueError)),
    ],
)
def test_bad_options_of_the_position_table_alone(name, bad, kind):
    refuses(kind, lambda: PositionEmbedding(16, 8, **{name: bad}), name, repr(bad))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_good_dtypes(dtype):
    emb = TransformerEmbeddings(50, 8, 16, dtype=dtype, padding_idx=3, device="cpu")
    assert {p.dtype for p in emb.parameters()} == {dtype}


# ---- the padding row ----


@pytest.mark.parametrize("padding_idx", [0, 4, -1, -5])
def test_the_padding_row_stays_zero(padding_idx):
    """pytorch/pytorch#6411: what comes out there is the bare position row."""
    emb = TransformerEmbeddings(5, 4, 8, dropout=0.0, padding_idx=padding_idx)
    table, row = emb.token_embeddings, padding_idx % 5
    assert table.padding_idx == row  # -1 is the last row
    opt = torch.optim.AdamW(emb.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        assert not table.weight[row].any()
        assert table.weight.abs().sum(dim=1).count_nonzero() == 4
        emb(torch.tensor([[0, 1, 2, 3, 4, row]])).sum().backward()
        opt.step()
        table.reset_parameters()
    out = emb(torch.tensor([[row, row]]))[0]
    assert torch.equal(out, emb.position_embeddings.weight[:2])


def test_a_tied_head_moves_the_padding_row():
    """The lookup gives that row no gradient; the head does. The docstring says so."""
    emb = TransformerEmbeddings(5, 4, 8, dropout=0.0, padding_idx=0)
    table = emb.token_embeddings.weight
    (emb(torch.tensor([[1, 2]])) @ table.T).logsumexp(-1).sum().backward()
    assert table.grad[0].any()
    assert "tied" in TransformerEmbeddings.__doc__


# ---- tables of other sizes ----


def test_new_token_rows():
    """huggingface/transformers#8472: a grown table gives old ids their old rows."""
    old, new = TransformerEmbeddings(50, 8, 16), TransformerEmbeddings(60, 8, 16)
    with torch.no_grad():
        for name, table in old.named_parameters():
            new.get_parameter(name)[: len(table)].copy_(table)
        new.token_embeddings.weight[50:] = old.token_embeddings.weight.mean(0)
    ids = torch.randint(0, 50, (2, 5))
    assert torch.equal(old.eval()(ids), new.eval()(ids))
    new(torch.tensor([[59]]))
    refuses(IndexError, lambda: new(torch.tensor([[60]])), "60", "0..59")


def test_a_table_swapped_in_place(emb):
    """Range and limit in the messages are those of the rows that are there."""
    emb.token_embeddings.weight = nn.Parameter(torch.randn(60, 8))
    emb(torch.tensor([[59]]))
    refuses(IndexError, lambda: emb(torch.tensor([[60]])), "60", "0..59")
    for rows in (40, 4):
        emb.position_embeddings.weight = nn.Parameter(torch.randn(rows, 8))
        for hooked in (False, True):  # with the short cut and without
            ids = torch.zeros(1, rows, dtype=torch.long)
            assert emb(ids).shape == (1, rows, 8)
            long = torch.cat([ids, ids], dim=1)
            refuses(ValueError, partial(emb, long), str(2 * rows), f"-{rows}:")
            if not hooked:
                emb.position_embeddings.register_forward_hook(lambda *args: None)


def test_another_context_length():
    """BatsResearch/csp#3: load_state_dict refuses; the first rows may be copied."""
    small, big = TransformerEmbeddings(50, 8, 12), TransformerEmbeddings(50, 8, 16)
    for strict in (True, False):
        refuses(
            RuntimeError,
            lambda strict=strict: small.load_state_dict(big.state_dict(), strict),
            "[16, 8]",
            "[12, 8]",
        )
    with torch.no_grad():
        small.token_embeddings.weight.copy_(big.token_embeddings.weight)
        small.position_embeddings.weight.copy_(big.position_embeddings.weight[:12])
    ids = torch.randint(0, 50, (2, 11))
    assert torch.equal(small.eval()(ids), big.eval()(ids))
    small.position_embeddings = big.position_embeddings
    assert small(torch.zeros(1, 15, dtype=torch.long)).shape == (1, 15, 8)
