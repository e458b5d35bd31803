"""The sum, and the two checks that tell whether positions go along the right axis."""

from functools import partial

import pytest
import torch
from helpers import refuses
from torch.overrides import TorchFunctionMode

import embedding_layer
from embedding_layer import (
    add_positions,
    check_positions_differ,
    check_sequences_alone,
)


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (2, 3, 4)])
def test_add_positions(shape):
    rows, more = torch.randn(2, 3, 4), torch.randn(shape)
    assert torch.equal(add_positions(rows, more), rows + more)


@pytest.mark.parametrize(
    "shape",
    [(4,), (1, 4), (2, 4), (2, 1, 4), (3, 1, 4), (3, 3, 4), (3, 1), (1,), (1, 1, 3, 4)],
)
def test_rows_that_would_broadcast_to_something_else(shape):
    rows = torch.randn(2, 3, 4)
    words = ("do not fit", str(shape), "(2, 3, 4)")
    refuses(ValueError, lambda: add_positions(rows, torch.randn(shape)), *words)


def test_token_rows_of_another_rank():
    for rows in (torch.randn(3, 4), torch.randn(1, 2, 3, 4)):
        with pytest.raises(ValueError) as caught:
            add_positions(rows, torch.randn(3, 4))
        assert str(tuple(rows.shape)) in str(caught.value)


def test_the_layer_passes(emb):
    ids = torch.randint(0, 50, (4, 4))
    assert check_sequences_alone(emb, ids) is None
    assert check_positions_differ(emb, ids) is None
    assert check_sequences_alone(emb, ids[:2, :1]) is None
    assert check_positions_differ(emb, ids[:1, :2]) is None


def test_each_catches_its_own_wrong_one_liner(emb):
    ids = torch.randint(0, 50, (4, 4))
    tokens, positions = emb.token_embeddings, emb.position_embeddings.weight

    def along_the_batch(ids):
        return tokens(ids) + positions[: ids.shape[0]].unsqueeze(1)

    def one_for_all(ids):
        return tokens(ids) + positions[0]

    def late_twins(ids):  # the last two positions are the same
        return tokens(ids) + positions[[0, 1, 2, 2]]

    refuses(
        AssertionError, lambda: check_sequences_alone(along_the_batch, ids), "sequence"
    )
    check_sequences_alone(one_for_all, ids)
    for wrong, pair in ((one_for_all, "0 and 1"), (late_twins, "2 and 3")):
        message = refuses(
            AssertionError, lambda w=wrong: check_positions_differ(w, ids)
        )
        assert f"in sequence 0 positions {pair}" in message


def test_the_first_sequence_that_differs_is_named(emb):
    def counts(ids):
        return emb(ids) + len(ids) * (ids[:, :1, None] == 7)

    ids = torch.tensor([[1, 2], [3, 4], [7, 8]])
    call = partial(check_sequences_alone, counts, ids)
    refuses(AssertionError, call, "sequence 2 alone", "batch of 3")


def test_results_of_another_shape_alone(emb):
    def squeezed(ids):
        return emb(ids).squeeze(0)

    ids = torch.randint(0, 50, (2, 3))
    refuses(AssertionError, lambda: check_sequences_alone(squeezed, ids), "sequence 0")


def test_differences_count_from_the_tolerance_on(emb):
    ids = torch.randint(0, 50, (2, 3))

    def nearly(ids):  # off by a thousandth of the largest value
        out = emb(ids)
        return out + out.abs().max() * (0.001 if len(ids) == 1 else 0)

    check_sequences_alone(nearly, ids, tolerance=0.002)
    with pytest.raises(AssertionError):
        check_sequences_alone(nearly, ids, tolerance=0.0005)

    def close(ids):  # neighbours are a thousandth of the largest value apart
        return 1 + 0.001 * torch.arange(3.0).view(1, 3, 1).expand(*ids.shape, 8)

    check_positions_differ(close, ids, tolerance=0.0005)
    with pytest.raises(AssertionError):
        check_positions_differ(close, ids, tolerance=0.002)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_does_not_pass(emb, bad):
    def broken(ids):
        out = emb(ids).detach().clone()
        out[1, 1, 3] = bad
        return out

    ids = torch.randint(0, 50, (2, 3))
    message = refuses(AssertionError, lambda: check_positions_differ(broken, ids))
    assert "sequence 1 position 1" in message
    with pytest.raises(AssertionError):
        check_sequences_alone(lambda ids: emb(ids) * bad, ids)


@pytest.mark.parametrize(
    ("check", "shape"),
    [
        (check_sequences_alone, (1, 3)),
        (check_sequences_alone, (0, 3)),
        (check_sequences_alone, (2, 0)),
        (check_positions_differ, (2, 1)),
        (check_positions_differ, (0, 2)),
        (check_positions_differ, (2, 0)),
    ],
)
def test_too_little_to_tell(emb, check, shape):
    ids = torch.zeros(shape, dtype=torch.long)
    refuses(ValueError, lambda: check(emb, ids), str(shape))


def test_no_more_memory_than_a_few_outputs():
    """All pairs of positions at once would be seq_len times the output."""

    class Largest(TorchFunctionMode):
        numbers = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                self.numbers = max(self.numbers, out.numel())
            return out

    ids = torch.zeros(2, 64, dtype=torch.long)
    layer = torch.nn.Embedding(64, 8)
    with Largest() as largest:
        check_positions_differ(lambda ids: layer(ids + torch.arange(64)), ids)
    assert largest.numbers <= 2 * 64 * 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("check_places_differ", "check_positions_differ"),
        ("check_rows_alone", "check_sequences_alone"),
    ],
)
def test_old_names_still_work(emb, old, new):
    ids = torch.randint(0, 50, (2, 3))
    with pytest.warns(DeprecationWarning, match=f"{old}.*{new}") as caught:
        assert getattr(embedding_layer, old)(emb, ids) is None
    assert caught[0].filename == __file__  # the caller's line, not ours
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError):
        getattr(embedding_layer, old)(emb, input_ids=ids[:1, :1])
