"""The contract suite has teeth: wrong layers, each caught by the right promise."""

import pytest
import torch
from peers import HuggingFaceInputPath, PlainTables, XTransformersInputPath
from torch import nn
from torch.nn import functional as F

from embedding_layer import TransformerEmbeddings
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


class OffByOneGuard(TransformerEmbeddings):
    """Refuses a sequence of exactly max_seq_len tokens."""

    caught_by = "length limit"
    also = {
        "values",
        "prefix consistency",
        "dropout's switch",
        "dropout's law",
        "export",
    }

    def forward(self, input_ids, *, position_ids=None):
        length, limit = input_ids.shape[-1], self.position_embeddings.num_embeddings
        if length >= limit:
            raise ValueError(f"{length} is too long for {limit}")
        return super().forward(input_ids, position_ids=position_ids)


class LateGuard(TransformerEmbeddings):
    """Crops what is too long instead of refusing it."""

    caught_by = "length limit"

    def forward(self, input_ids, *, position_ids=None):
        if input_ids.dim() == 2:
            input_ids = input_ids[:, : self.position_embeddings.num_embeddings]
        return super().forward(input_ids, position_ids=position_ids)


class SilentGuard(TransformerEmbeddings):
    """Refuses, and does not say how long is too long."""

    caught_by = "length limit"

    def forward(self, input_ids, *, position_ids=None):
        if input_ids.shape[-1] > self.position_embeddings.num_embeddings:
            raise ValueError("too long")
        return super().forward(input_ids, position_ids=position_ids)


class Own(TransformerEmbeddings):
    """The textbook forward, with places to go wrong."""

    def rows(self, input_ids, position_ids=None):
        """Token rows, position rows."""
        where = torch.arange(input_ids.shape[1], device=input_ids.device)
        if position_ids is not None:
            where = position_ids
        return self.token_embeddings(input_ids), self.position_embeddings(where)

    def join(self, tokens, positions):
        return self.dropout(tokens + positions)

    def forward(self, input_ids, *, position_ids=None):
        if input_ids.dim() != 2:
            raise ValueError(f"shape {tuple(input_ids.shape)} is not (batch, seq_len)")
        length, limit = input_ids.shape[1], self.position_embeddings.num_embeddings
        if input_ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{input_ids.dtype}: use int64")
        if length > limit:
            raise ValueError(f"{length} is longer than {limit}")
        return self.join(*self.rows(input_ids, position_ids))


class BatchAxisPositions(Own):
    """Positions along the batch axis."""

    caught_by = "batch independence"
    also = {"values", "places differ", "offset decode", "left padding", "gradients"}

    def rows(self, input_ids, position_ids=None):
        if position_ids is not None:
            return super().rows(input_ids, position_ids)
        where = torch.arange(input_ids.shape[0], device=input_ids.device)
        where = where.unsqueeze(1).expand_as(input_ids)
        return self.token_embeddings(input_ids), self.position_embeddings(where)


class FromOne(Own):
    """Positions from 1."""

    caught_by = "offset decode"
    also = {
        "values",
        "prefix consistency",
        "left padding",
        "length limit",
        "gradients",
        "dropout's switch",
        "dropout's law",
        "export",
    }

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            where = torch.arange(input_ids.shape[1], device=input_ids.device)
            position_ids = where + 1
        return super().rows(input_ids, position_ids)


class OnePositionForAll(Own):
    """The forgotten colon: one position row for every token."""

    caught_by = "places differ"
    also = {"values", "offset decode", "left padding", "gradients"}

    def rows(self, input_ids, position_ids=None):
        tokens, positions = super().rows(input_ids, position_ids)
        if position_ids is None:
            positions = positions.narrow(0, 0, min(1, positions.shape[0]))
        return tokens, positions


class NoPositions(Own):
    """Tokens alone."""

    caught_by = "places differ"
    also = {"values", "gradients"}

    def join(self, tokens, positions):
        return self.dropout(tokens)


class RelativeToEnd(Own):
    """Counts positions from the end of the sequence."""

    caught_by = "prefix consistency"
    also = {"values", "offset decode", "left padding"}

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            where = torch.arange(input_ids.shape[1], device=input_ids.device)
            position_ids = where.flip(0)
        return super().rows(input_ids, position_ids)


class IgnoresPositionIds(Own):
    """Takes position_ids and does not use them."""

    caught_by = "position range"
    also = {"offset decode", "left padding"}

    def rows(self, input_ids, position_ids=None):
        return super().rows(input_ids)


class DropBeforeSum(Own):
    """Dropout on the parts, not on the sum."""

    caught_by = "dropout's law"

    def join(self, tokens, positions):
        return self.dropout(tokens) + self.dropout(positions)


class DropTokensOnly(Own):
    """Dropout on the token rows only."""

    caught_by = "dropout's law"
    also = {"dropout's switch"}

    def join(self, tokens, positions):
        return self.dropout(tokens) + positions


class DropInEval(Own):
    """Dropout stays on in eval mode."""

    caught_by = "dropout's switch"
    also = {
        "values",
        "batch independence",
        "prefix consistency",
        "offset decode",
        "left padding",
        "id dtype",
        "copying",
        "per-sample gradients",
        "dropout's law",
        "compile",
        "export",
    }

    def join(self, tokens, positions):
        x = tokens + positions
        return F.dropout(x, self.dropout.p, training=True)


class NoScaling(Own):
    """Drops and does not scale what it keeps."""

    caught_by = "dropout's law"

    def join(self, tokens, positions):
        x = tokens + positions
        if not self.training or self.dropout.p == 0:
            return x
        return x * torch.empty_like(x).bernoulli_(1 - self.dropout.p)


class ScaledInEval(Own):
    """The original dropout: scales in eval mode instead of in training."""

    caught_by = "values"

    def join(self, tokens, positions):
        x = tokens + positions
        if self.training:
            return x * torch.empty_like(x).bernoulli_(1 - self.dropout.p)
        return x * (1 - self.dropout.p)


class SharedMask(Own):
    """One mask for the whole batch."""

    caught_by = "dropout's law"

    def join(self, tokens, positions):
        x = tokens + positions
        return x * self.dropout(torch.ones_like(x[:1]))


class WholeColumns(Own):
    """Drops whole rows: all values of a token at once."""

    caught_by = "dropout's law"

    def join(self, tokens, positions):
        x = tokens + positions
        return x * self.dropout(torch.ones_like(x[..., :1]))


class SameMaskEveryTime(Own):
    """A fixed seed inside forward."""

    caught_by = "dropout's law"

    def join(self, tokens, positions):
        if self.training and positions.device.type == "cpu":
            torch.manual_seed(0)
        return super().join(tokens, positions)


class NoGradIsEval(Own):
    """Takes no_grad for eval."""

    caught_by = "dropout's switch"
    also = {"dropout's law"}

    def join(self, tokens, positions):
        x = tokens + positions
        return self.dropout(x) if torch.is_grad_enabled() else x


class SilentCast(Own):
    """Casts float ids."""

    caught_by = "id dtype"

    def forward(self, input_ids, *, position_ids=None):
        return super().forward(input_ids.long(), position_ids=position_ids)


class AlwaysFloat32(Own):
    """Casts its result."""

    caught_by = "dtype"

    def join(self, tokens, positions):
        return super().join(tokens, positions).float()


class WrapsRound(Own):
    """-1 is the last row, as in a list."""

    caught_by = "id range"

    def rows(self, input_ids, position_ids=None):
        return super().rows(input_ids % 50, position_ids)


class ClampsIds(Own):
    """Ids past the end become the last id."""

    caught_by = "id range"

    def rows(self, input_ids, position_ids=None):
        return super().rows(input_ids.clamp(0, 49), position_ids)


class AddsBatchAxis(Own):
    """Takes one sequence and answers as if it were a batch."""

    caught_by = "id shape"

    def forward(self, input_ids, *, position_ids=None):
        if input_ids.dim() == 1:
            input_ids = input_ids.unsqueeze(0)
        return super().forward(input_ids, position_ids=position_ids)


class PositionBuffer(Own):
    """Position ids in a persistent buffer, as GPT-2 once had them."""

    caught_by = "state dict"

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("where", torch.arange(sizes[2]))

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            position_ids = self.where[: input_ids.shape[1]]
        return super().rows(input_ids, position_ids)


class CachedOnCpu(Own):
    """Position ids in a plain attribute: they stay where they were made."""

    caught_by = "device"
    also = {"state dict"}

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.where = torch.arange(sizes[2])

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            position_ids = self.where[: input_ids.shape[1]]
        return super().rows(input_ids, position_ids)


class MadeOnCpu(Own):
    """Position ids made on the CPU in every call."""

    caught_by = "device"

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1])
        return super().rows(input_ids, position_ids)


class KeepsActivation(Own):
    """Stores its last result on itself."""

    caught_by = "copying"
    also = {"state dict", "tie survival"}

    def join(self, tokens, positions):
        self.last = super().join(tokens, positions)
        return self.last


class ExtraParameter(Own):
    """A parameter that takes no part in the result."""

    caught_by = "state dict"

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.segments = nn.Embedding(2, sizes[1])


class Frozen(Own):
    """A position table that does not learn."""

    caught_by = "gradients"
    also = {"state dict"}

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.position_embeddings.weight.requires_grad_(False)


class DetachedTokens(Own):
    """Token rows without a way back."""

    caught_by = "gradients"

    def rows(self, input_ids, position_ids=None):
        tokens, positions = super().rows(input_ids, position_ids)
        return tokens.detach(), positions


class ReplacesTable(Own):
    """Makes a new parameter of its table in every forward pass."""

    caught_by = "tie survival"

    def rows(self, input_ids, position_ids=None):
        table = self.token_embeddings.weight
        if self.training:
            self.token_embeddings.weight = nn.Parameter(table.detach().clone())
        return super().rows(input_ids, position_ids)


class NormCap(Own):
    """max_norm: the lookup rewrites the rows."""

    caught_by = "tables unchanged"
    also = {"id range", "per-sample gradients"}

    def __init__(self, *sizes):
        super().__init__(*sizes)
        table = self.token_embeddings.weight
        vocab_size, d_model = table.shape
        self.token_embeddings = nn.Embedding(
            vocab_size, d_model, max_norm=1.0, _weight=table.detach()
        )


class HandsOutTable(Own):
    """Adds into the position table itself."""

    caught_by = "tables unchanged"

    def join(self, tokens, positions):
        if torch.is_grad_enabled() or tokens.shape[0] != 2:
            return super().join(tokens, positions)
        table = self.position_embeddings.weight
        return table.narrow(0, 0, tokens.shape[1]).add_(tokens[0])


class UnitStart(Own):
    """PyTorch's default start."""

    caught_by = "start"

    def __init__(self, *sizes):
        super().__init__(*sizes, init_std=1.0)


class ScaledBySqrt(Own):
    """Token rows times sqrt(d), as in the original Transformer."""

    caught_by = "values"
    also = {"gradients"}

    def join(self, tokens, positions):
        return super().join(tokens * tokens.shape[-1] ** 0.5, positions)


class ChecksValuesFirst(Own):
    """Asks for the largest id before the lookup."""

    caught_by = "per-sample gradients"
    also = {"device", "compile", "export"}

    def rows(self, input_ids, position_ids=None):
        if input_ids.numel() and input_ids.max() > 49:
            raise IndexError(f"{input_ids.max()} is not in 0..49")
        return super().rows(input_ids, position_ids)


class BakedLength(Own):
    """A new constant, so a new graph, for every length."""

    caught_by = "compile"
    also = {"device", "export"}

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            length = int(input_ids.shape[1])
            where = torch.tensor(list(range(length)), dtype=torch.long)
            position_ids = where.to(input_ids.device)
        return super().rows(input_ids, position_ids)


class NoneEmpty(Own):
    """Reduces over ids that may be none."""

    caught_by = "empty input"

    def rows(self, input_ids, position_ids=None):
        if not torch.compiler.is_compiling() and input_ids.numel() == 0:
            input_ids.max()
        return super().rows(input_ids, position_ids)


class AnyRate(Own):
    """Takes any dropout rate."""

    caught_by = "sizes and rates"

    def __init__(self, vocab_size, d_model, max_seq_len, dropout=0.1):
        rate = min(max(dropout, 0), 1) if dropout == dropout else 0.0
        super().__init__(vocab_size, d_model, max_seq_len, rate)


WRONG = [
    kind
    for kind in list(globals().values())
    if isinstance(kind, type) and hasattr(kind, "caught_by")
]


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


def test_the_textbook_forward_is_right():
    """Own, which the wrong layers inherit, breaks nothing by itself."""
    assert check_contract(Own).broken == []


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
    asked = {"offset decode", "left padding", "position range"}
    assert set(report.not_applicable) == asked


def test_hugging_face():
    report = check_contract(HuggingFaceInputPath, compile=False)
    more = {"position range", "empty input"}
    assert set(report.broken) == PLAIN_BREAKS - {"start"} | more
    assert report.not_applicable == []


# x-transformers imports what uses torch.jit
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_x_transformers():
    report = check_contract(XTransformersInputPath, compile=False)
    assert set(report.broken) == PLAIN_BREAKS | {"values", "gradients"}


def test_report_text_is_the_same_every_time():
    texts = set()
    for seed in range(2):
        torch.manual_seed(seed)
        texts.add(str(check_contract(FromOne, compile=False)))
    assert len(texts) == 1
    text = texts.pop()
    assert text.startswith("FromOne: 16 kept, 8 broken, 0 not applicable\n")
    assert "> position_ids=[[0]] differs from column 0\n" in text


def test_random_state_is_left_alone():
    state = torch.get_rng_state()
    check_contract(PlainTables, compile=False)
    assert torch.equal(state, torch.get_rng_state())


def test_only_some_promises():
    report = check_contract(PlainTables, only=["values", "start"])
    assert report.kept == ["values"] and report.broken == ["start"]
    assert report["start"].evidence
