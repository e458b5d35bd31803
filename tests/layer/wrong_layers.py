"""Layers with one fault each, and the promise of the contract that catches it.

`caught_by` is that promise; `also` are those that must then break too.
"""

import torch
from torch import nn
from torch.nn import functional as F

EMBEDDING_FORWARD = nn.Embedding.forward


class Own(nn.Module):
    """A right layer, of PyTorch's parts alone, in steps that can go wrong."""

    init_std = 0.02

    def __init__(self, vocab_size, d_model, max_seq_len, dropout=0.1):
        super().__init__()
        for size in (vocab_size, d_model, max_seq_len):
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"{size!r} is no size")
        self.check_rate(dropout)
        self.token_embeddings = nn.Embedding(vocab_size, d_model)
        self.position_embeddings = nn.Embedding(max_seq_len, d_model)
        for table in (self.token_embeddings, self.position_embeddings):
            nn.init.normal_(table.weight, std=self.init_std)
        self.dropout = nn.Dropout(dropout)
        self.vocab_size, self.max_seq_len = vocab_size, max_seq_len

    def check_rate(self, rate):
        if not 0 <= rate <= 1:
            raise ValueError(f"{rate} is no rate")

    def check_length(self, length):
        if length > self.max_seq_len:
            raise ValueError(f"{length} is longer than {self.max_seq_len}")

    def check_positions(self, position_ids, input_ids):
        if position_ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{position_ids.dtype}: use int64")
        batch, seq_len = input_ids.shape
        if position_ids.shape not in ((batch, seq_len), (1, seq_len)):
            raise ValueError(f"shape {tuple(position_ids.shape)}")

    def forward(self, input_ids, *, position_ids=None):
        if input_ids.dim() != 2:
            raise ValueError(f"shape {tuple(input_ids.shape)} is not (batch, seq_len)")
        if input_ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"{input_ids.dtype}: use int64")
        if position_ids is None:
            self.check_length(input_ids.shape[1])
        else:
            self.check_positions(position_ids, input_ids)
        return self.join(*self.rows(input_ids, position_ids))

    def rows(self, input_ids, position_ids=None):
        """Token rows, position rows."""
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)
        return self.token_rows(input_ids), self.position_rows(position_ids)

    def token_rows(self, ids):
        return self.look_up(self.token_embeddings, ids, self.vocab_size)

    def position_rows(self, ids):
        return self.look_up(self.position_embeddings, ids, self.max_seq_len)

    def look_up(self, table, ids, count):
        try:
            return table(ids)
        except IndexError:
            bad = ids[(ids < 0) | (ids >= count)].tolist()
            raise IndexError(f"{bad} not in 0..{count - 1}") from None

    def join(self, tokens, positions):
        return self.dropout(tokens + positions)


# ---- the length limit ----


class OffByOneGuard(Own):
    """Refuses a sequence of exactly max_seq_len tokens."""

    caught_by = "length limit"
    also = {
        "values",
        "prefix consistency",
        "positions decide",
        "dropout's switch",
        "dropout's law",
        "export",
    }

    def check_length(self, length):
        super().check_length(length + 1)


class LateGuard(Own):
    """Crops what is too long instead of refusing it."""

    caught_by = "length limit"
    also = {"positions decide"}

    def forward(self, input_ids, *, position_ids=None):
        if input_ids.dim() == 2:
            input_ids = input_ids[:, : self.max_seq_len]
        return super().forward(input_ids, position_ids=position_ids)


class SilentGuard(Own):
    """Refuses, and does not say how long is too long."""

    caught_by = "length limit"

    def check_length(self, length):
        if length > self.max_seq_len:
            raise ValueError("too long")


class CountsColumns(Own):
    """Limits the columns, with position_ids too."""

    caught_by = "positions decide"

    def rows(self, input_ids, position_ids=None):
        self.check_length(input_ids.shape[1])
        return super().rows(input_ids, position_ids)


# ---- positions ----


class BatchAxisPositions(Own):
    """Positions along the batch axis."""

    caught_by = "batch independence"
    also = {
        "values",
        "positions differ",
        "offset decode",
        "left padding",
        "positions decide",
        "gradients",
    }

    def rows(self, input_ids, position_ids=None):
        if position_ids is not None:
            return super().rows(input_ids, position_ids)
        where = torch.arange(input_ids.shape[0], device=input_ids.device)
        where = where.unsqueeze(1).expand_as(input_ids)
        return self.token_rows(input_ids), self.position_rows(where)


class FromOne(Own):
    """Positions from 1."""

    caught_by = "offset decode"
    also = {
        "values",
        "prefix consistency",
        "left padding",
        "positions decide",
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

    caught_by = "positions differ"
    also = {"values", "offset decode", "left padding", "positions decide", "gradients"}

    def rows(self, input_ids, position_ids=None):
        tokens, positions = super().rows(input_ids, position_ids)
        if position_ids is None:
            positions = positions.narrow(0, 0, min(1, positions.shape[0]))
        return tokens, positions


class NoPositions(Own):
    """Tokens alone."""

    caught_by = "positions differ"
    also = {"values", "gradients"}

    def join(self, tokens, positions):
        return self.dropout(tokens)


class RelativeToEnd(Own):
    """Counts positions from the end of the sequence."""

    caught_by = "prefix consistency"
    also = {"values", "offset decode", "left padding", "positions decide"}

    def rows(self, input_ids, position_ids=None):
        if position_ids is None:
            where = torch.arange(input_ids.shape[1], device=input_ids.device)
            position_ids = where.flip(0)
        return super().rows(input_ids, position_ids)


class IgnoresPositionIds(Own):
    """Takes position_ids and does not use them."""

    caught_by = "position range"
    also = {"offset decode", "left padding", "positions decide"}

    def rows(self, input_ids, position_ids=None):
        return super().rows(input_ids)


class FirstPositions(Own):
    """Uses the first sequence's positions for all."""

    caught_by = "own positions"

    def rows(self, input_ids, position_ids=None):
        if position_ids is not None:
            position_ids = position_ids[:1]
        return super().rows(input_ids, position_ids)


class AnyPositions(Own):
    """Stretches or squeezes positions of any shape."""

    caught_by = "position shape"

    def check_positions(self, position_ids, input_ids):
        pass


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
        "own positions",
        "positions decide",
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
    also = {"per-sample gradients"}

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
        if torch.is_grad_enabled() or tokens.shape[1] != 3:
            return super().join(tokens, positions)
        table = self.position_embeddings.weight
        return table.narrow(0, 0, tokens.shape[1]).add_(tokens[0])


class UnitStart(Own):
    """PyTorch's default start."""

    caught_by = "start"

    init_std = 1.0


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

    def check_rate(self, rate):
        pass


# ---- what stands between the layer and a table's rows ----


class ReadsWeights(Own):
    """Looks rows up itself, in the weights: the tables are never called."""

    caught_by = "replaced forward"
    also = {"hooks", "kept rows", "offload", "exchanged table", "later options"}

    def look_up(self, table, ids, count):
        return super().look_up(lambda ids: F.embedding(ids, table.weight), ids, count)


class ShortCut(Own):
    """Takes the first rows of the position table where it sees no hindrance."""

    hindrances = {
        "hooks": lambda t: t._forward_hooks or t._forward_pre_hooks,
        "backward hooks": lambda t: t._backward_pre_hooks,
        "global hooks": lambda t: nn.modules.module._global_forward_hooks,
        "forward of its own": lambda t: "forward" in vars(t),
        "class": lambda t: type(t) is not nn.Embedding,
        "forward of its class": lambda t: type(t).forward is not EMBEDDING_FORWARD,
        "weight": lambda t: type(t.weight) is not nn.Parameter,
        "meta": lambda t: t.weight.is_meta,
        "max_norm": lambda t: getattr(t, "max_norm", None),
        "padding_idx": lambda t: getattr(t, "padding_idx", None) is not None,
        "sparse": lambda t: getattr(t, "sparse", False),
    }
    overlooks = ()

    def rows(self, input_ids, position_ids=None):
        if torch.compiler.is_compiling():
            return super().rows(input_ids, position_ids)
        table = self.position_embeddings
        hindrances = (
            hinders(table)
            for name, hinders in self.hindrances.items()
            if name not in self.overlooks
        )
        if position_ids is not None or any(hindrances):
            return super().rows(input_ids, position_ids)
        return self.token_rows(input_ids), table.weight[: input_ids.shape[1]]


class OverlooksHooks(ShortCut):
    overlooks = ("hooks",)
    caught_by = "hooks"


class OverlooksGlobalHooks(ShortCut):
    overlooks = ("global hooks",)
    caught_by = "hooks"


class OverlooksBackwardHooks(ShortCut):
    overlooks = ("backward hooks",)
    caught_by = "later options"


class OverlooksForward(ShortCut):
    overlooks = ("forward of its own",)
    caught_by = "replaced forward"
    also = {"kept rows"}


class OverlooksClassForward(ShortCut):
    overlooks = ("forward of its class",)
    caught_by = "replaced forward"


class OverlooksClass(ShortCut):
    overlooks = ("class", "forward of its class")
    caught_by = "exchanged table"
    also = {"replaced forward"}


class OverlooksSubclass(ShortCut):
    overlooks = ("weight",)
    caught_by = "weight subclass"


class OverlooksMeta(ShortCut):
    """And adds in place, which onto numbers from meta does nothing."""

    overlooks = ("meta",)
    caught_by = "offload"

    def join(self, tokens, positions):
        return self.dropout(
            tokens.add_(positions) if positions.is_meta else tokens + positions
        )


class OverlooksMaxNorm(ShortCut):
    overlooks = ("max_norm",)
    caught_by = "later options"


class OverlooksPadding(ShortCut):
    overlooks = ("padding_idx",)
    caught_by = "later options"


class OverlooksSparse(ShortCut):
    overlooks = ("sparse",)
    caught_by = "later options"


class WritesIntoRows(Own):
    """Adds in place, onto rows that may be somebody's."""

    caught_by = "kept rows"
    also = {"offload", "later options"}

    def join(self, tokens, positions):
        return self.dropout(tokens.add_(positions))
