"""Which position a token gets, and who says so."""

from functools import partial

import pytest
import torch
from helpers import refuses

from embedding_layer import TransformerEmbeddings, positions_from_mask, sinusoidal_table

# ---- without position_ids: the column, and max_seq_len is the limit ----


def test_the_length_limit():
    """minimaxir/gpt-2-simple#72: off by one. yandexdataschool/nlp_course#105: a
    generation that walks off the table.
    """
    for limit in (1, 16):
        emb = TransformerEmbeddings(100, 8, limit).eval()
        out = emb(torch.zeros(1, limit, dtype=torch.long))
        last = emb.token_embeddings.weight[0] + emb.position_embeddings.weight[-1]
        assert torch.equal(out[0, -1], last)
        bad_ids = torch.full((1, limit + 1), 999)  # the length is told first
        hint = f"input_ids[:, -{limit}:]"
        message = refuses(ValueError, partial(emb, bad_ids), "max_seq_len", hint)
        assert f"{limit + 1} exceeds max_seq_len {limit};" in message


def test_positions_are_columns_whatever_the_ids_are(emb):
    """huggingface/nanoVLM#201: texts glued together number straight on."""
    ids = torch.tensor([[5, 6, 7, 5, 6]])
    tokens, positions = emb.token_embeddings(ids), emb.position_embeddings.weight
    assert torch.equal(emb(ids)[0], tokens[0] + positions[:5])
    where = torch.tensor([[0, 1, 2, 0, 1]])
    out = emb(ids, position_ids=where)
    assert torch.equal(out, tokens + emb.position_embeddings(where))
    assert torch.equal(out[:, 3:], out[:, :2])


def test_left_padding_shifts_positions(emb):
    """ndif-team/nnsight#672: unless position_ids come with it."""
    pad, real = torch.tensor([[0, 0, 7, 8, 9]]), torch.tensor([[7, 8, 9]])
    table = emb.position_embeddings.weight
    shift = table[2:5] - table[0:3]
    assert torch.allclose(emb(pad)[:, 2:] - emb(real), shift, atol=1e-6)
    where = positions_from_mask(torch.tensor([[0, 0, 1, 1, 1]]))
    assert torch.equal(emb(pad, position_ids=where)[:, 2:], emb(real))


def test_a_step_alone_starts_from_0(emb):
    """ml-explore/mlx-lm#93: unless position_ids say where decoding stands."""
    ids = torch.arange(6).unsqueeze(0)
    step = ids[:, 5:6]
    token, table = emb.token_embeddings.weight[5], emb.position_embeddings.weight
    assert torch.equal(emb(step)[0, 0], token + table[0])
    at_5 = emb(step, position_ids=torch.tensor([[5]]))
    assert torch.equal(at_5, emb(ids)[:, 5:6])


# ---- with position_ids: they decide ----


@pytest.mark.parametrize("batch", [1, 3])
def test_packed_texts_longer_than_the_table(emb, batch):
    """huggingface/transformers#31629: padding-free training."""
    ids = torch.randint(0, 50, (batch, 20))
    where = torch.cat([torch.arange(12), torch.arange(8)]).unsqueeze(0)
    out = emb(ids, position_ids=where)
    assert torch.equal(out, torch.cat([emb(ids[:, :12]), emb(ids[:, 12:])], dim=1))
    assert torch.equal(emb(ids, position_ids=where.expand(batch, 20)), out)
    out.sum().backward()
    uses = emb.position_embeddings.weight.grad[:, 0] / batch
    assert uses.tolist() == [2] * 8 + [1] * 4 + [0] * 4


def test_one_sequence_of_positions_serves_the_batch(emb):
    ids = torch.randint(0, 50, (3, 4))
    one = torch.tensor([[2, 3, 4, 5]])
    each = emb(ids, position_ids=one.expand(3, 4))
    assert torch.equal(emb(ids, position_ids=one), each)
    mixed = torch.tensor([[2, 3, 4, 5], [0, 0, 0, 0], [9, 8, 7, 15]])
    out = emb(ids, position_ids=mixed)
    want = emb.token_embeddings.weight[ids] + emb.position_embeddings.weight[mixed]
    assert torch.equal(out, want)


@pytest.mark.parametrize("bad", [16, 99, -1])
def test_a_position_outside_its_table(emb, bad):
    ids, where = torch.zeros(2, 2, dtype=torch.long), torch.tensor([[0, 1], [bad, 1]])
    message = refuses(IndexError, lambda: emb(ids, position_ids=where), "0..15")
    assert f"position id {bad} at (1, 0)" in message
    assert "tokenizer" not in message


@pytest.mark.parametrize("shape", [(3,), (2, 4), (3, 3), (2, 1), (1, 2, 3), ()])
def test_position_ids_of_another_shape(emb, shape):
    ids, where = torch.zeros(2, 3, dtype=torch.long), torch.zeros(shape).long()
    words = ("position ids", str(shape), "(2, 3)", "(1, 3)")
    refuses(ValueError, lambda: emb(ids, position_ids=where), *words)


def test_position_ids_of_another_kind(emb):
    ids = torch.zeros(2, 3, dtype=torch.long)
    for bad, words in ((torch.zeros(2, 3), "float32"), ([[0, 1, 2]], "list")):
        call = partial(emb, ids, position_ids=bad)
        refuses(TypeError, call, "position ids", words)


# ---- positions from a mask ----


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool, torch.float32])
def test_positions_from_mask(dtype):
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]])
    want = [[0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    got = positions_from_mask(mask.to(dtype))
    assert got.tolist() == want and got.dtype == torch.int64
    assert positions_from_mask(5 * mask).tolist() == want
    assert positions_from_mask(torch.ones(0, 4)).shape == (0, 4)
    refuses(ValueError, lambda: positions_from_mask(mask[0]), "(4,)")


def test_a_mask_from_lengths_keeps_a_real_end_of_text(emb):
    """QwenLM/Qwen#1080: where padding is end-of-text, ids cannot tell the two apart."""
    end, length = 49, 3  # two paddings, then a text that begins with end-of-text
    ids = torch.tensor([[end, end, end, 4, 3]])
    by_length = torch.arange(5) >= 5 - length  # (seq_len,)
    where = positions_from_mask(by_length.unsqueeze(0))
    out = emb(ids, position_ids=where)[:, 2:]
    assert torch.equal(out, emb(ids[:, 2:]))
    by_ids = positions_from_mask(ids != end)
    assert not torch.equal(emb(ids, position_ids=by_ids)[:, 2:], out)


# ---- positions without training ----


def test_sinusoidal_table():
    table = sinusoidal_table(20, 6, dtype=torch.float64)
    for t in range(20):
        for i in range(3):
            angle = torch.tensor(t / 10000 ** (2 * i / 6), dtype=torch.float64)
            assert torch.allclose(table[t, 2 * i], angle.sin(), rtol=1e-9, atol=1e-9)
            assert torch.allclose(
                table[t, 2 * i + 1], angle.cos(), rtol=1e-9, atol=1e-9
            )
    assert sinusoidal_table(4, 2).dtype == torch.float32
    assert sinusoidal_table(4, 2, device="meta").device.type == "meta"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sines_are_rounded_at_the_end(dtype):
    """bfloat16 cannot count to 257."""
    fine = sinusoidal_table(1000, 8)
    assert torch.equal(sinusoidal_table(1000, 8, dtype=dtype), fine.to(dtype))


@pytest.mark.parametrize("bad", [(4, 3), (0, 2), (4, -2), (4, 0), (2.5, 2)])
def test_sizes_of_a_sinusoidal_table(bad):
    with pytest.raises(ValueError):
        sinusoidal_table(*bad)
