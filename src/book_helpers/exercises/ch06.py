"""Checks for chapter 6."""

import copy

import torch
from torch import nn

from book_helpers.exercises import Blank, Wrong, call, chosen, exercise, expect
from embedding_layer.layer import TransformerEmbeddings, count_rows
from embedding_layer.position_embedding import check_position_ids
from embedding_layer.token_ids import check_token_ids


@exercise("6.1")
def check_6_1(answer):
    letters = chosen(answer, "abcdefg")
    expect(
        "c" not in letters,
        "(c) deepcopy sees the layer alone. The new layer has a table of its "
        "own, and the head still holds the old one.",
    )
    expect(
        "e" not in letters,
        "(e) assign=True makes a parameter of each entry of the state, and a "
        "tied table stands in it twice.",
    )
    expect(
        "f" not in letters,
        "(f) The layer gets another table; the head still holds the old one.",
    )
    expect(
        "a" in letters,
        "(a) half() puts the converted numbers into the parameter that is "
        "there: both names still mean that one object.",
    )
    expect(
        "b" in letters,
        "(b) deepcopy of the whole pair copies a shared parameter once.",
    )
    expect(
        "d" in letters,
        "(d) Loading copies numbers into the parameter that is there.",
    )
    expect(
        "g" in letters,
        "(g) The rows are drawn anew in place; the parameter stays the same.",
    )
    return "A tie is one object with two names: what writes into it keeps it."


class Recorder(TransformerEmbeddings):
    """The layer, and the widths of all batches it was fed."""

    def forward(self, input_ids, *, position_ids=None):
        self.widths.append(input_ids.shape[-1])
        return super().forward(input_ids, position_ids=position_ids)


@exercise("6.2")
def check_6_2(newest):
    emb = Recorder(50, 8, 16).eval()
    emb.widths = []
    ids = torch.randint(50, (3, 5), generator=torch.Generator().manual_seed(0))
    real = torch.tensor([5, 2, 3])  # tokens in each sequence
    mask = (torch.arange(5) >= 5 - real.unsqueeze(1)).long()  # (3, 5)
    W, P = emb.token_embeddings.weight, emb.position_embeddings.weight

    def rows(positions):
        return W[ids[:, -1:]] + P[positions]  # (3, 1, 8)

    try:
        result = call(newest, emb, ids, mask)
    except (ValueError, TypeError) as error:
        if "position ids" not in str(error):
            raise
        raise Wrong(f"The layer says: {error}.") from None
    except IndexError as error:
        raise Wrong(
            f"The layer says: {error}. A position is counted from 0 and lies "
            "below max_seq_len."
        ) from None
    expect(
        isinstance(result, torch.Tensor),
        f"Return a tensor, not {type(result).__name__}.",
    )
    expect(
        result.shape != (3, 8),
        "The shape is (3, 8), not (3, 1, 8): keep the column axis, input_ids[:, -1:].",
    )
    expect(
        result.shape == (3, 1, 8),
        f"The shape is {tuple(result.shape)}, not (3, 1, 8).",
    )
    expect(
        emb.widths and max(emb.widths) == 1,
        "emb was fed more than the last column; that is the full pass again."
        if emb.widths
        else "emb was never called.",
    )

    def gave(positions):
        return torch.equal(result, rows(positions))

    right = (real - 1).unsqueeze(1)  # (3, 1)
    expect(
        not gave(torch.zeros(3, 1).long()),
        "Each newest token got position 0, as if its text began with it.",
    )
    expect(
        not gave(torch.full((3, 1), 4)),
        "Each newest token got position 4, its column. A padded text starts "
        "further right, but still at position 0.",
    )
    expect(
        not gave(right + 1),
        "One too many: a text of 5 tokens has the positions 0 to 4.",
    )
    expect(
        not torch.equal(result, W[ids[:, :1]] + P[right]),
        "Those are the first tokens; the newest one stands in the last column.",
    )
    expect(
        not gave(5 - real.unsqueeze(1)),
        "That counts the padding instead of the real tokens.",
    )
    expect(
        gave(right),
        "The positions should be 4, 1, 2 for texts of 5, 2 and 3 tokens.",
    )
    result = call(newest, emb, ids, mask.bool())
    expect(
        isinstance(result, torch.Tensor) and gave(right),
        "Right for a mask of 0 and 1, wrong for one of False and True.",
    )
    return "The number of real tokens, less one, is the position of the newest."


@exercise("6.3")
def check_6_3(grow):
    old = TransformerEmbeddings(10, 4, 6, 0.3).eval()
    before = copy.deepcopy(old.state_dict())
    rows = before["token_embeddings.weight"]
    try:
        new = call(grow, old, 13)
    except RuntimeError as error:
        if "leaf" in str(error):
            raise Wrong(
                "A parameter is written to where gradients are on; do it under "
                "torch.no_grad()."
            ) from None
        if "size mismatch" in str(error):
            raise Wrong(
                "load_state_dict wants tables of the same size. The position "
                "table fits; the token table must be filled row by row."
            ) from None
        raise
    expect(
        isinstance(new, nn.Module),
        f"Return a layer, not {type(new).__name__}.",
    )
    expect(
        new is not old,
        "That is the old layer itself. Build a new one and leave it alone.",
    )
    expect(
        all(
            v.shape == before[k].shape and torch.equal(v, before[k])
            for k, v in old.state_dict().items()
        ),
        "The old layer has changed.",
    )
    expect(
        isinstance(new, TransformerEmbeddings),
        f"Return a TransformerEmbeddings, not {type(new).__name__}.",
    )
    table = new.token_embeddings.weight
    expect(
        table.shape == (13, 4),
        f"The token table has shape {tuple(table.shape)}, not (13, 4).",
    )
    positions = new.position_embeddings.weight
    expect(
        positions.shape == (6, 4),
        f"The position table has shape {tuple(positions.shape)}; it should still "
        "be (6, 4).",
    )
    expect(
        not torch.equal(table[3:], rows),
        "The old rows stand at the end; each token has got another id.",
    )
    expect(
        torch.equal(table[:10], rows),
        "The first 10 rows should be the old ones, bit for bit.",
    )
    expect(
        torch.equal(positions, before["position_embeddings.weight"]),
        "The position rows are fresh ones: old ids give other vectors.",
    )
    expect(
        not torch.equal(table[10:], torch.zeros(3, 4)),
        "The new rows are zero, not the mean of the old rows.",
    )
    expect(
        not torch.allclose(table[10:], rows.mean().expand(3, 4), atol=1e-6),
        "That is one number, the mean over everything. Take the mean over the "
        "rows, dim=0.",
    )
    expect(
        torch.allclose(table[10:], rows.mean(dim=0).expand(3, 4), atol=1e-6),
        "The new rows are not the mean of the 10 old ones.",
    )
    expect(
        not {p.data_ptr() for p in new.parameters()}
        & {p.data_ptr() for p in old.parameters()},
        "The two layers share a table: training one would change the other.",
    )
    expect(
        new.token_embeddings.num_embeddings == 13,
        "A table was swapped inside a layer built for 10 tokens: its "
        "num_embeddings still says 10. Build the layer with the new size.",
    )
    expect(
        new.dropout.p == 0.3,
        f"The dropout rate was 0.3 and is now {new.dropout.p}.",
    )
    expect(
        not new.training,
        "The old layer was in eval mode, the new one is in training mode.",
    )
    expect(
        all(p.requires_grad for p in new.parameters()),
        "A table of the new layer does not learn: requires_grad is False.",
    )
    trained = call(grow, old.train(), 11)
    expect(
        trained.training,
        "The old layer was in training mode, the new one is in eval mode.",
    )
    for dtype in (torch.float64, torch.bfloat16):
        wide = TransformerEmbeddings(
            10, 4, 6, padding_idx=2, sparse=True, dtype=dtype
        ).eval()
        ids = torch.arange(6)[None]  # (1, 6)
        grown = call(grow, wide, 12)
        expect(
            torch.equal(grown(ids).double(), wide(ids).double())
            and grown(ids).dtype == dtype,
            f"For a layer of {dtype} old ids give other vectors, or vectors of "
            "another dtype.",
        )
        mean = wide.token_embeddings.weight.double().mean(dim=0)  # (4,)
        off = grown.token_embeddings.weight[10:].double() - mean  # (2, 4)
        expect(
            off.abs().max() < 1e-3,
            f"For a layer of {dtype} the new rows are not the mean of the old.",
        )
        expect(
            grown.token_embeddings.sparse == wide.token_embeddings.sparse,
            "The old table had sparse=True, the new one has not.",
        )
        expect(
            grown.token_embeddings.padding_idx == 2,
            "The old table had padding_idx=2, the new one has "
            f"{grown.token_embeddings.padding_idx}.",
        )
    return "Tie the head again and rebuild the optimizer, and training can go on."


# ---- 6.4: two right layers and thirteen wrong ones ----


class Reworded(TransformerEmbeddings):
    """Right, in other words than the book's."""

    def positions(self, ids):
        return torch.arange(ids.shape[1], device=ids.device)

    def rows(self, ids, positions):
        return self.token_embeddings(ids), self.position_embeddings(positions)

    def join(self, tokens, positions):
        return self.dropout(tokens + positions)

    def guard(self, ids):
        limit = count_rows(self.position_embeddings)
        if limit is not None and ids.shape[1] > limit:
            raise ValueError(f"{ids.shape[1]} tokens, at most {limit} fit")
        return ids

    def forward(self, input_ids, *, position_ids=None):
        check_token_ids(input_ids)
        ids = input_ids
        if position_ids is None:
            ids = self.guard(ids)
            position_ids = self.positions(ids)
        else:
            check_position_ids(position_ids, ids)
        return self.join(*self.rows(ids, position_ids))


class FromOne(Reworded):
    """starts counting at position 1"""

    def positions(self, ids):
        return (super().positions(ids) + 1) % self.position_embeddings.num_embeddings


class BatchAxis(Reworded):
    """numbers the sequences of a batch instead of the tokens"""

    def positions(self, ids):
        numbers = torch.arange(ids.shape[0]).unsqueeze(1).expand_as(ids)
        return numbers % self.position_embeddings.num_embeddings


class DeafToPositionIds(Reworded):
    """takes position_ids and ignores them"""

    def rows(self, ids, positions):
        return super().rows(ids, self.positions(ids))


class FirstPositions(Reworded):
    """gives the whole batch the positions of its first sequence"""

    def rows(self, ids, positions):
        return super().rows(ids, positions if positions.dim() == 1 else positions[:1])


class TooStrict(Reworded):
    """refuses exactly max_seq_len tokens"""

    def guard(self, ids):
        limit = self.position_embeddings.num_embeddings
        if ids.shape[1] >= limit:
            raise ValueError(f"{ids.shape[1]} tokens, fewer than {limit} fit")
        return ids


class Crops(Reworded):
    """cuts a sequence that is too long, without a word"""

    def guard(self, ids):
        return ids[:, : self.position_embeddings.num_embeddings]


class TakesFloats(Reworded):
    """takes float ids for ids"""

    def forward(self, input_ids, *, position_ids=None):
        return super().forward(input_ids.long(), position_ids=position_ids)


class WrapsRound(Reworded):
    """gives id -1 the last row"""

    def rows(self, ids, positions):
        return super().rows(ids % self.token_embeddings.num_embeddings, positions)


class AlwaysDrops(Reworded):
    """drops in eval mode too"""

    def join(self, tokens, positions):
        return nn.functional.dropout(tokens + positions, self.dropout.p)


class DropsParts(Reworded):
    """drops token rows and position rows, not their sum"""

    def join(self, tokens, positions):
        return self.dropout(tokens) + self.dropout(positions)


class Unscaled(Reworded):
    """drops without scaling what it keeps"""

    def join(self, tokens, positions):
        x = tokens + positions
        if not self.training:
            return x
        return x * torch.empty_like(x).bernoulli_(1 - self.dropout.p)


class LoudStart(Reworded):
    """starts with rows from N(0, 1)"""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs, init_std=1.0)


class FixedPlaces(Reworded):
    """sends no gradient to the position table"""

    def join(self, tokens, positions):
        return super().join(tokens, positions.detach())


FAULTS = (
    FromOne,
    BatchAxis,
    DeafToPositionIds,
    FirstPositions,
    TooStrict,
    Crops,
    TakesFloats,
    WrapsRound,
    AlwaysDrops,
    DropsParts,
    Unscaled,
    LoudStart,
    FixedPlaces,
)


def run_tests(test_layer, layer, seed=0):
    """What the reader's tests raise for one layer, or None."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            result = call(test_layer, layer)
        except Blank:
            raise
        except Exception as error:
            return error
    if isinstance(result, bool):
        raise Wrong(
            f"Your function returned {result}, and nobody looks at that. Say it "
            "with assert."
        )
    return None


@exercise("6.4")
def check_6_4(test_layer):
    for seed in range(5):
        for layer in (TransformerEmbeddings, Reworded):
            error = run_tests(test_layer, layer, seed)
            if error is None:
                continue
            told = f"{type(error).__name__}: {error}".rstrip(": ")
            if layer is Reworded:
                raise Wrong(
                    "A second right layer, whose forward is written in other "
                    f"words, fails your tests ({told}). Ask what it does, not "
                    "how."
                )
            if seed:
                raise Wrong(
                    f"The book's layer passes with one seed and fails with "
                    f"another ({told}). Give the random parts more room, or "
                    "more numbers."
                )
            hint = " Did you call eval() where dropout must be off?"
            if not isinstance(error, AssertionError):
                hint = ""
            raise Wrong(f"The book's layer fails your tests ({told}).{hint}")
    alive = [f for f in FAULTS if run_tests(test_layer, f) is None]
    if alive:
        listed = "; ".join(f.__doc__ for f in alive)
        raise Wrong(
            f"{len(FAULTS) - len(alive)} of {len(FAULTS)} wrong layers were "
            f"caught. These survived, a layer that: {listed}."
        )
    return f"All {len(FAULTS)} wrong layers were caught, both right ones passed."
