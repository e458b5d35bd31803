"""What ids may be: their dtype, their shape, their range, and what is said else."""

import pytest
import torch
from helpers import refuses

from embedding_layer import TransformerEmbeddings, check_id_range, check_token_ids

# ---- the range ----


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("bad", [50, 10**6, -1, -100])
@pytest.mark.parametrize("where", [(0, 0), (1, 2)])
def test_an_id_outside_the_table(emb, bad, where, train):
    """huggingface/transformers#12763: the tokenizer grew, the table did not."""
    ids = torch.zeros(2, 3, dtype=torch.long)
    ids[where] = bad
    message = refuses(IndexError, lambda: emb.train(train)(ids), str(bad), str(where))
    for words in ("0..49", "len(tokenizer)", "-100"):  # the range, two usual causes
        assert words in message


def test_a_bad_batch_is_told_of_on_the_cpu(device):
    """pytorch/pytorch#29966: where a device only asserts, ask the CPU."""
    emb = TransformerEmbeddings(50, 8, 16).to(device)
    ids = torch.tensor([[3, 50]], device=device)
    refuses(IndexError, lambda: emb.to("cpu")(ids.cpu()), "50", "(0, 1)", "0..49")


def test_what_each_device_does_with_a_bad_id_is_said():
    """pytorch/pytorch#123119: on MPS the result was zeros. Meta has no values."""
    emb = TransformerEmbeddings(10, 3, 8, device="meta")
    assert emb(torch.full((1, 3), 999, device="meta")).shape == (1, 3, 3)
    for device in ("CPU", "CUDA", "MPS"):
        assert device in TransformerEmbeddings.__doc__


def test_check_id_range_says_nothing_of_good_ids():
    assert check_id_range(torch.tensor([[0, 9]]), 10) is None
    assert check_id_range(torch.empty(0, dtype=torch.long), 10) is None


def test_check_id_range_names_the_first_bad_id():
    ids = torch.tensor([[0, 9], [10, -1]])
    message = refuses(IndexError, lambda: check_id_range(ids, 10), "10 at (1, 0)")
    assert message.startswith("token id 10") and "0..9" in message
    message = refuses(IndexError, lambda: check_id_range(ids, 10, "position id"))
    assert message.startswith("position id 10") and "tokenizer" not in message
    one = torch.tensor(10)
    refuses(IndexError, lambda: check_id_range(one, 10), "10 at ()", "(10 rows)")


# ---- the dtype ----


def test_float_ids(emb):
    """pytorch/pytorch#116598: torch.Tensor([...]) is float32."""
    ids = torch.Tensor([[1, 2, 3]])
    refuses(TypeError, lambda: emb(ids), "torch.float32", "int64", "int32", ".long()")
    refuses(TypeError, lambda: emb(torch.tensor([[]])), "torch.float32")


@pytest.mark.parametrize(
    "dtype", "uint8 int8 int16 uint16 bool float16 bfloat16 float64 complex64".split()
)
def test_ids_of_other_dtypes(emb, dtype):
    """pytorch/pytorch#103580: keep small integers on disk, and convert at use."""
    ids = torch.ones(1, 3, dtype=getattr(torch, dtype))
    refuses(TypeError, lambda: emb(ids), f"torch.{dtype}", "int64", ".long()")


@pytest.mark.parametrize("ids", [[[1, 2]], None, "text"])
def test_ids_that_are_no_tensor(emb, ids):
    refuses(TypeError, lambda: emb(ids), "torch.Tensor", type(ids).__name__)


def test_int32_ids_train_alike(device):
    """asyml/texar-pytorch#96: numpy on Windows made 32-bit ids."""
    emb = TransformerEmbeddings(50, 8, 16, dropout=0.0).to(device)
    ids = torch.randint(0, 50, (2, 5), device=device)
    grads = []
    for kind in (torch.int32, torch.int64):
        emb.zero_grad()
        where = torch.arange(5, device=device, dtype=kind).unsqueeze(0)
        out = emb(ids.to(kind)) + emb(ids.to(kind), position_ids=where)
        out.pow(2).sum().backward()
        grads.append([p.grad.clone() for p in emb.parameters()])
    assert all(map(torch.equal, *grads))


# ---- the shape ----


def test_one_sequence_without_a_batch(emb):
    """huggingface/transformers#628: not to be taken for the length error."""
    ids = torch.tensor([[1, 2, 3]])
    for flat, *words in (
        (ids[0], "(3,)", "unsqueeze(0)", "ids[:, -1:]"),
        (ids[:, -1], "(1,)", "unsqueeze(0)", "ids[:, -1:]"),
        (ids[0, 0], "()", "view(1, 1)"),
        (ids.view(1, 1, 1, 3), "(1, 1, 1, 3)"),
    ):
        message = refuses(ValueError, lambda flat=flat: emb(flat), *words)
        assert "(batch, seq_len)" in message and "max_seq_len" not in message
    assert emb(ids[:, -1:]).shape == emb(ids[0, 0].view(1, 1)).shape == (1, 1, 8)


def test_one_hot_ids(emb):
    """keras-team/keras#9328: a lookup takes ids; one-hot rows go through argmax."""
    ids = torch.tensor([[1, 2, 3]])
    hot = torch.nn.functional.one_hot(ids, 50)  # (1, 3, 50)
    message = refuses(ValueError, lambda: emb(hot), "(1, 3, 50)", "argmax(-1)")
    assert "unsqueeze" not in message
    table = emb.token_embeddings
    assert torch.allclose(hot.float() @ table.weight, table(ids), atol=1e-6)
    assert torch.equal(emb(hot.argmax(-1)), emb(ids))


def test_check_token_ids_says_nothing_of_good_ids():
    assert check_token_ids(torch.zeros(0, 0, dtype=torch.int32)) is None


@pytest.mark.parametrize(
    "dtype, largest", [(torch.float16, 2048), (torch.bfloat16, 256)]
)
def test_a_dtype_that_may_have_rounded_says_from_where(dtype, largest):
    """Up to there each whole number has its own value, the next one has not."""
    whole = torch.arange(largest + 2)  # (largest + 2,)
    kept = whole.to(dtype).long() == whole
    assert kept[:-1].all() and not kept[-1]
    ids = torch.tensor([[3, 797]]).to(dtype)
    refuses(TypeError, lambda: check_token_ids(ids), f"above {largest} this dtype")
    with pytest.raises(TypeError) as caught:
        check_token_ids(ids.float())
    assert "rounded" not in str(caught.value)
