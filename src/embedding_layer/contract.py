"""A contract for input layers: check any class in one call.

    from embedding_layer.contract import check_contract
    print(check_contract(MyEmbeddings))

Every promise is a short function below: it builds small layers, calls them,
and raises Broken with the smallest input that shows the fault. An error that
no promise foresees is tried on two plain tables too: where they stop as well,
it is the machine that cannot judge, and the layer is not blamed.
"""

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.module import register_module_forward_hook
from torch.overrides import TorchFunctionMode

VOCAB_SIZE, D_MODEL, MAX_SEQ_LEN = SIZES = (50, 8, 16)
INIT_STD = 0.02
TABLES = ("token", "position")


class Verdict(Exception):
    """How a check ends if the promise is not simply kept; the text says why."""


class Broken(Verdict):
    """The promise does not hold: the smallest input that shows it."""


class NotApplicable(Verdict):
    """The promise cannot be asked of this layer."""


class Stopped(Verdict):
    """An error came that the promise does not foresee, and where."""


@dataclass(frozen=True)
class Result:
    """One line of a report.

    `verdict`: "kept", "broken", "not applicable" (there is nothing to ask) or
    "not judged" (this machine cannot ask it).
    """

    name: str
    promise: str
    verdict: str
    evidence: str = ""


@dataclass(frozen=True)
class Report:
    """What `check_contract` found. Print it, or ask it.

    `report.kept`, `report.broken`, `report.not_applicable` and
    `report.not_judged` are lists of names; `report["values"]` is the Result of
    one promise.
    """

    subject: str
    results: tuple[Result, ...]

    def _names(self, verdict: str) -> list[str]:
        return [r.name for r in self.results if r.verdict == verdict]

    @property
    def kept(self) -> list[str]:
        return self._names("kept")

    @property
    def broken(self) -> list[str]:
        return self._names("broken")

    @property
    def not_applicable(self) -> list[str]:
        return self._names("not applicable")

    @property
    def not_judged(self) -> list[str]:
        return self._names("not judged")

    def __getitem__(self, name: str) -> Result:
        return {r.name: r for r in self.results}[name]

    def __str__(self) -> str:
        counts = [f"{len(self.kept)} kept", f"{len(self.broken)} broken"]
        for verdict in ("not applicable", "not judged"):
            if names := self._names(verdict):
                counts.append(f"{len(names)} {verdict}")
        lines = [f"{self.subject}: " + ", ".join(counts)]
        for r in self.results:
            lines.append(f"  {r.verdict:15}{r.name:22}{r.promise}")
            if r.evidence:
                lines.append(f"  {'':15}{'':22}> {r.evidence}")
        return "\n".join(lines)


class Plain(nn.Module):
    """Two nn.Embeddings, summed: shows what this machine and its torch can do."""

    def __init__(self, vocab: int, d_model: int, length: int, dropout: float) -> None:
        super().__init__()
        self.token_embeddings = nn.Embedding(vocab, d_model)
        self.position_embeddings = nn.Embedding(length, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.token_embeddings(input_ids) + self.position_embeddings(position_ids)
        result: Tensor = self.dropout(x)  # (batch, seq_len, d_model)
        return result


class Subject:
    """The class under test, and how to find its two tables."""

    def __init__(self, factory: Callable[..., nn.Module]) -> None:
        self.factory = factory

    def make(self, dropout: float = 0.0, sizes: Sequence[float] = SIZES) -> nn.Module:
        return self.factory(*sizes, dropout)

    def tables(self, emb: nn.Module, sizes: Sequence[int] = SIZES) -> list[Tensor]:
        """Token and position table: the parameters that have their shapes."""
        vocab_size, d_model, max_seq_len = sizes
        found: list[Tensor] = []
        for shape in ((vocab_size, d_model), (max_seq_len, d_model)):
            same = [p for p in emb.parameters() if tuple(p.shape) == shape]
            if len(same) != 1:
                raise Broken(f"{len(same)} parameters of shape {shape}, expected 1")
            found += same
        return found

    def eval(self, needs: str = "") -> tuple[nn.Module, Tensor, Tensor]:
        """A layer in eval mode, with its tables."""
        emb = self.make(dropout=0.5).eval()
        if needs and needs not in inspect.signature(emb.forward).parameters:
            raise NotApplicable(f"forward takes no {needs}")
        token, position = self.tables(emb)
        return emb, token, position


Check = Callable[[Subject], None]
PROMISES: dict[str, tuple[str, Check]] = {}


def promise(name: str, text: str) -> Callable[[Check], Check]:
    """Register a check: a function of a Subject that raises Broken."""

    def register(check: Check) -> Check:
        PROMISES[name] = (text, check)
        return check

    return register


def draw_ids(*shape: int) -> Tensor:
    return torch.randint(0, VOCAB_SIZE, shape)  # shape


def show(ids: Tensor) -> str:
    """Small ids whole, others by shape and dtype."""
    if ids.numel() <= 5 and ids.device.type == "cpu":
        return str(ids.tolist())
    return f"{str(ids.dtype).removeprefix('torch.')} ids of shape {tuple(ids.shape)}"


def expect(condition: object, evidence: str) -> None:
    if not condition:
        raise Broken(evidence)


def expect_error(
    kind: type[Exception],
    words: Collection[object],
    what: str,
    call: Callable[[], object],
) -> None:
    """`call()` must raise `kind`, with every one of `words` in the message."""
    try:
        call()
    except kind as error:
        missing = [str(w) for w in words if str(w) not in str(error)]
        expect(not missing, f"{what}: the message does not name {missing}")
    except Exception as error:
        got = type(error).__name__
        raise Broken(f"{what}: {got} instead of {kind.__name__}") from None
    else:
        raise Broken(f"{what}: no error, expected {kind.__name__}")


@contextmanager
def during(what: str) -> Iterator[None]:
    """Tell what was being done when an error came that no promise foresees."""
    try:
        yield
    except Verdict:
        raise
    except Exception as error:
        words = str(error).strip().partition("\n")[0] or "no message"
        raise Stopped(f"{what}: {type(error).__name__}: {words}") from error


@promise("values", "in eval mode the result is token row + position row, exactly")
def check_values(subject: Subject) -> None:
    emb, token, position = subject.eval()
    for shape in ((1, 1), (1, 3), (2, 3), (3, 3), (2, MAX_SEQ_LEN)):
        ids = draw_ids(*shape)
        want = token[ids] + position[: shape[1]]  # (batch, seq_len, d_model)
        got = emb(ids)
        expect(got.shape == want.shape, f"{show(ids)}: shape {tuple(got.shape)}")
        expect(torch.equal(got, want), f"{show(ids)}: other values")


@promise("batch independence", "a sequence alone equals that sequence in a batch")
def check_batch_independence(subject: Subject) -> None:
    emb, *_ = subject.eval()
    for shape in ((2, 3), (3, 3), (4, 1)):
        ids = draw_ids(*shape)
        whole = emb(ids)  # (batch, seq_len, d_model)
        for at in range(shape[0]):
            same = torch.equal(emb(ids[at : at + 1]), whole[at : at + 1])
            expect(same, f"{show(ids)}: sequence {at} alone differs")


@promise("prefix consistency", "the result for a prefix is the result's prefix")
def check_prefix(subject: Subject) -> None:
    emb, *_ = subject.eval()
    ids = draw_ids(2, MAX_SEQ_LEN)
    whole = emb(ids)  # (batch, seq_len, d_model)
    for seq_len in (1, 2, MAX_SEQ_LEN - 1):
        same = torch.equal(emb(ids[:, :seq_len]), whole[:, :seq_len])
        expect(same, f"{show(ids)}: its first {seq_len} tokens alone differ")


@promise("positions differ", "one token at two positions gets two different vectors")
def check_positions_differ(subject: Subject) -> None:
    emb, *_ = subject.eval()
    for batch in (1, 2):
        ids = torch.full((batch, 3), 7)
        rows = emb(ids)[-1]  # (seq_len, d_model)
        expect(len(rows.unique(dim=0)) == 3, f"{show(ids)}: equal vectors")


@promise("offset decode", "a step with its position_ids equals the full pass")
def check_offset(subject: Subject) -> None:
    emb, *_ = subject.eval(needs="position_ids")
    ids = draw_ids(2, 6)
    for at in range(6):
        step = emb(ids[:, at : at + 1], position_ids=torch.tensor([[at]]))
        same = torch.equal(step, emb(ids)[:, at : at + 1])
        expect(same, f"position_ids=[[{at}]]: not what the full pass gives there")


@promise("left padding", "with positions from its mask a padded text is unchanged")
def check_left_padding(subject: Subject) -> None:
    emb, *_ = subject.eval(needs="position_ids")
    padded, real = torch.tensor([[0, 0, 7, 8, 9]]), torch.tensor([[7, 8, 9]])
    position_ids = torch.tensor([[0, 0, 0, 1, 2]])
    got = emb(padded, position_ids=position_ids)[:, 2:]  # (1, 3, d_model)
    expect(torch.equal(got, emb(real)), f"{show(padded)} differs from {show(real)}")


@promise("own positions", "each sequence of a batch has the positions given for it")
def check_own_positions(subject: Subject) -> None:
    emb, *_ = subject.eval(needs="position_ids")
    ids, first = draw_ids(2, 4), torch.tensor([[0], [3]])
    position_ids = first + torch.arange(4)  # (2, 4)
    for order in ([0, 1], [1, 0]):
        got = emb(ids[order], position_ids=position_ids[order])
        for at, row in enumerate(order):
            alone = emb(ids[row : row + 1], position_ids=position_ids[row : row + 1])
            same = torch.equal(got[at : at + 1], alone)  # (1, 4, d_model)
            expect(same, f"position_ids={position_ids[order].tolist()}: others used")


@promise("positions decide", "with position_ids, packed texts may pass max_seq_len")
def check_positions_decide(subject: Subject) -> None:
    emb, *_ = subject.eval(needs="position_ids")
    texts = draw_ids(2, MAX_SEQ_LEN), draw_ids(2, 4)
    ids = torch.cat(texts, dim=1)  # (2, max_seq_len + 4)
    where = torch.cat([torch.arange(t.shape[1]) for t in texts]).unsqueeze(0)
    for position_ids in (where, where.expand_as(ids)):
        with during(f"{show(ids)}, each position below {MAX_SEQ_LEN}"):
            got = emb(ids, position_ids=position_ids)  # (2, seq_len, d_model)
        same = torch.equal(got, torch.cat([emb(text) for text in texts], dim=1))
        expect(same, f"{show(ids)}: not what its two texts alone give")


@promise("length limit", "max_seq_len tokens work; more is a ValueError, both named")
def check_length(subject: Subject) -> None:
    emb, *_ = subject.eval()
    emb(draw_ids(1, MAX_SEQ_LEN))
    for layer in (emb, subject.make().train()):
        for batch in (1, 0):
            ids = draw_ids(batch, MAX_SEQ_LEN + 1)
            words = (MAX_SEQ_LEN + 1, MAX_SEQ_LEN)
            expect_error(ValueError, words, show(ids), partial(layer, ids))


@promise("id range", "an id outside the table is an IndexError that names it")
def check_ids(subject: Subject) -> None:
    emb, *_ = subject.eval()
    emb(torch.tensor([[0, VOCAB_SIZE - 1]]))
    for bad in (VOCAB_SIZE, VOCAB_SIZE + 23, -1, -100):
        ids = torch.tensor([[1, bad]])
        words = (bad, VOCAB_SIZE - 1)
        expect_error(IndexError, words, show(ids), partial(emb, ids))


@promise("position range", "a position outside its table is an IndexError")
def check_positions(subject: Subject) -> None:
    emb, *_ = subject.eval(needs="position_ids")
    for bad in (MAX_SEQ_LEN, -1):
        where = torch.tensor([[0, bad]])
        call = partial(emb, torch.tensor([[1, 2]]), position_ids=where)
        expect_error(IndexError, (bad,), f"position_ids={show(where)}", call)


@promise("position shape", "positions of another shape or dtype are an error")
def check_position_shape(subject: Subject) -> None:
    emb, *_ = subject.eval(needs="position_ids")
    ids = draw_ids(2, 4)
    for shape in ((2, 3), (2, 1), (3, 4), (4,), (1, 2, 4)):
        where = torch.zeros(shape, dtype=torch.long)
        call = partial(emb, ids, position_ids=where)
        expect_error(ValueError, (), f"position_ids of shape {shape}", call)
    call = partial(emb, ids, position_ids=torch.zeros(2, 4))
    expect_error(TypeError, (), "position_ids of dtype float32", call)


@promise("id dtype", "int32 works like int64; float ids are a TypeError")
def check_id_dtype(subject: Subject) -> None:
    emb, *_ = subject.eval()
    ids = draw_ids(2, 3)
    expect(torch.equal(emb(ids.int()), emb(ids)), "int32 ids: other values")
    for dtype in (torch.float32, torch.bool):
        bad = torch.ones(1, 2, dtype=dtype)
        words = (str(dtype).removeprefix("torch."),)
        expect_error(TypeError, words, show(bad), partial(emb, bad))


@promise("id shape", "ids that are not (batch, seq_len) are a ValueError")
def check_id_shape(subject: Subject) -> None:
    emb, *_ = subject.eval()
    for shape in ((3,), (1, 2, 3)):
        bad = torch.ones(shape, dtype=torch.long)
        expect_error(ValueError, (shape,), show(bad), partial(emb, bad))


@promise("empty input", "no sequences or no tokens: an empty result, zero gradients")
def check_empty(subject: Subject) -> None:
    for shape in ((0, 5), (2, 0), (0, 0)):
        emb = subject.make(dropout=0.1).train()
        ids = torch.empty(shape, dtype=torch.long)
        with during(show(ids)):
            out = emb(ids)
            out.sum().backward()
        expect(out.shape == (*shape, D_MODEL), f"{show(ids)}: {tuple(out.shape)}")
        zero = all(p.grad is None or not p.grad.any() for p in emb.parameters())
        expect(zero, f"{show(ids)}: gradients that are not zero")


@promise("sizes and rates", "impossible sizes and dropout rates are a ValueError")
def check_construction(subject: Subject) -> None:
    for sizes in ((0, 8, 16), (50, -8, 16), (50, 8, 2.5)):
        call = partial(subject.make, sizes=sizes)
        expect_error(ValueError, (), f"sizes {sizes}", call)
    for rate in (-0.1, 1.1, float("nan")):
        call = partial(subject.make, dropout=rate)
        expect_error(ValueError, (), f"dropout={rate}", call)


@promise("start", f"both tables start as N(0, {INIT_STD}**2)")
def check_start(subject: Subject) -> None:
    sizes = (1000, 64, 256)
    emb = subject.make(sizes=sizes)
    for name, table in zip(TABLES, subject.tables(emb, sizes), strict=True):
        wide = (table.std() / INIT_STD - 1).abs() < 0.1 and table.mean().abs() < 0.001
        expect(wide, f"the {name} table of a layer of sizes {sizes}")


@promise("dtype", "the result has the tables' dtype, under autocast too")
def check_dtype(subject: Subject) -> None:
    ids = draw_ids(1, 3)
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        emb = subject.make(dropout=0.1).to(dtype)
        for training in (True, False):
            got = emb.train(training)(ids).dtype
            expect(got == dtype, f"tables of {dtype}, result of {got}")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = subject.make()(ids).dtype
    expect(got == torch.float32, f"tables of torch.float32 in autocast, got {got}")


class ElsewhereWatch(TorchFunctionMode):
    """Notes every torch function whose result is not on one device."""

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self.device_type = device_type
        self.strays: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor) and out.device.type != self.device_type:
            self.strays.append(func.__name__)
        return out


@promise("device", "works wherever tables and ids are: nothing stays on the CPU")
def check_device(subject: Subject) -> None:
    emb = subject.make(dropout=0.1).to("meta")
    ids = draw_ids(2, 3).to("meta")
    for training in (True, False):
        out = emb.train(training)(ids)
        right = out.device.type == "meta" and out.shape == (2, 3, D_MODEL)
        expect(right, f"layer and ids on meta: result on {out.device}")
    with ElsewhereWatch("meta") as watch:
        emb(ids)
    expect(not watch.strays, f"layer and ids on meta: {watch.strays} not on meta")


@promise("state dict", "two tables and nothing else: no buffers, nothing stored")
def check_state_dict(subject: Subject) -> None:
    emb = subject.make(dropout=0.1).train()
    emb(draw_ids(2, 3))
    shapes = sorted(tuple(v.shape) for v in emb.state_dict().values())
    want = sorted(((VOCAB_SIZE, D_MODEL), (MAX_SEQ_LEN, D_MODEL)))
    expect(shapes == want, f"state_dict() holds shapes {shapes}")
    expect(all(p.requires_grad for p in emb.parameters()), "a table is frozen")
    loose = [name for name, _ in emb.named_buffers()]
    for module in emb.modules():
        loose += [k for k, v in vars(module).items() if isinstance(v, Tensor)]
    expect(not loose, f"tensors beside the tables: {loose}")


@promise("copying", "deepcopy and pickle work after a forward pass")
def check_copying(subject: Subject) -> None:
    emb = subject.make(dropout=0.1).train()
    ids = draw_ids(2, 3)
    emb(ids)
    with during("deepcopy"):
        twins = [copy.deepcopy(emb)]
    try:
        twins.append(pickle.loads(pickle.dumps(emb)))
    except (pickle.PicklingError, AttributeError):
        pass  # a class made inside a function: Python's limit, not the layer's
    ours = {p.data_ptr() for p in emb.parameters()}
    for twin in twins:
        expect(torch.equal(twin.eval()(ids), emb.eval()(ids)), "the copy differs")
        shared = any(p.data_ptr() in ours for p in twin.parameters())
        expect(not shared, "the copy shares its tables")


@promise("tie survival", "a head that shares the token table shares it afterwards")
def check_tie(subject: Subject) -> None:
    emb = subject.make().train()
    head = nn.Linear(D_MODEL, VOCAB_SIZE, bias=False)
    head.weight = subject.tables(emb)[0]
    pair = nn.ModuleList([emb, head])
    moves: dict[str, Callable[[Any], Any]] = {
        "a training step": lambda p: p[1](p[0](draw_ids(2, 3))).sum().backward(),
        "load_state_dict": lambda p: p.load_state_dict(p.state_dict()),
        ".double()": nn.ModuleList.double,
        "deepcopy": copy.deepcopy,
    }
    for name, move in moves.items():
        with during(name):
            moved = move(pair)
        pair = moved if isinstance(moved, nn.ModuleList) else pair
        expect(pair[1].weight is subject.tables(pair[0])[0], f"lost by {name}")
        pair.zero_grad()


@promise("tables unchanged", "a forward pass never writes into a table")
def check_unchanged(subject: Subject) -> None:
    for mode in (True, False):
        emb = subject.make(dropout=0.1).train(mode)
        with torch.no_grad():
            for table in emb.parameters():
                table.mul_(1000)
        before = [p.detach().clone() for p in emb.parameters()]
        with torch.no_grad():
            emb(draw_ids(2, 3)).zero_()
        same = all(map(torch.equal, before, emb.parameters()))
        expect(same, f"{'train' if mode else 'eval'} mode: a table was changed")


@promise("gradients", "each use of a row adds 1 to its gradient, all others are 0")
def check_gradients(subject: Subject) -> None:
    emb = subject.make().train()
    ids = torch.tensor([[3, 3, 5], [3, 4, 4]])
    emb(ids).sum().backward()
    uses = (
        torch.bincount(ids.flatten(), minlength=VOCAB_SIZE),  # (vocab_size,)
        torch.tensor([2] * 3 + [0] * (MAX_SEQ_LEN - 3)),  # (max_seq_len,)
    )
    for name, table, want in zip(TABLES, subject.tables(emb), uses, strict=True):
        expect(table.grad is not None, f"the {name} table gets no gradient")
        got = table.grad.to_dense()  # type: ignore[union-attr]
        right = torch.equal(got, want.unsqueeze(1).expand_as(got).to(got.dtype))
        expect(right, f"{ids.tolist()}: another gradient of the {name} table")


@promise("per-sample gradients", "vmap(grad) gives each sequence's own gradient")
def check_per_sample(subject: Subject) -> None:
    emb = subject.make(dropout=0.5).eval()
    params = {k: v.detach() for k, v in emb.named_parameters()}
    ids = draw_ids(3, 4)

    def loss(params: dict[str, Tensor], sequence: Tensor) -> Any:
        out = torch.func.functional_call(emb, params, (sequence.unsqueeze(0),))
        return out.pow(2).sum()

    with during("vmap over 3 sequences"):
        got = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, ids)
    for at in range(3):
        want = torch.func.grad(loss)(params, ids[at])
        same = all(torch.allclose(got[k][at], want[k]) for k in params)
        expect(same, f"{show(ids)}: another gradient for sequence {at}")


@promise("dropout's switch", "none in eval mode or at rate 0; no_grad is no switch")
def check_dropout_switch(subject: Subject) -> None:
    ids = draw_ids(4, MAX_SEQ_LEN)
    emb = subject.make(dropout=0.5).eval()
    state = torch.get_rng_state()
    same = torch.equal(emb(ids), emb(ids))
    same = same and torch.equal(state, torch.get_rng_state())
    expect(same, "eval mode, dropout=0.5: two calls differ or draw random numbers")
    with torch.no_grad():
        dropped = (emb.train()(ids) == 0).any()
        expect(dropped, "train mode under no_grad, dropout=0.5: nothing dropped")
        zero = subject.make(dropout=0.0)
        same = torch.equal(zero.train()(ids), zero.eval()(ids))
        expect(same, "train mode, dropout=0.0: not the sum")
        out = subject.make(dropout=1.0).train()(ids)
        expect(not out.any(), "train mode, dropout=1.0: values that are not zero")


@promise("dropout's law", "each value of the sum: 0 at the rate, else / (1 - rate)")
def check_dropout_law(subject: Subject) -> None:
    sizes = (VOCAB_SIZE, 64, 64)
    for rate in (0.1, 0.5):
        emb = subject.make(dropout=rate, sizes=sizes)
        ids = draw_ids(32, 64)
        with torch.no_grad():
            want = emb.eval()(ids)  # (batch, seq_len, d_model)
            got = emb.train()(ids)  # (batch, seq_len, d_model)
            again = emb(ids)  # (batch, seq_len, d_model)
        zero = (got == 0).float()  # (batch, seq_len, d_model)
        share = zero.mean()
        for dim, name in enumerate(("sequences", "positions", "columns")):
            both = (zero.narrow(dim, 1, 31) * zero.narrow(dim, 0, 31)).mean()
            apart = (both - share**2).abs() < 0.01
            expect(apart, f"dropout={rate}: neighbouring {name} drop together")
        near = (share - rate).abs() < 0.01
        expect(near, f"dropout={rate}: another share of zeros")
        keep = got != 0
        scaled = torch.allclose(got[keep], want[keep] / (1 - rate), rtol=1e-5)
        expect(scaled, f"dropout={rate}: kept values are not the sum / {1 - rate}")
        expect(not torch.equal(got, again), f"dropout={rate}: two calls, one mask")


class Table:
    """One of a layer's two tables, and the module that looks its rows up.

    Its rows have length 1, so that max_norm=0.5 halves them too.
    """

    def __init__(self, subject: Subject, name: str) -> None:
        self.name = name
        self.emb, *tables = subject.eval()
        self.weight = tables[TABLES.index(name)]  # (rows, d_model)
        [full] = [k for k, p in self.emb.named_parameters() if p is self.weight]
        self.path, _, self.key = full.rpartition(".")
        if not self.path:
            raise NotApplicable("the tables are no modules of their own")
        self.module: Any = self.emb.get_submodule(self.path)
        self.rows = F.normalize(self.weight.detach())  # (rows, d_model)
        self.half = self.rows / 2  # (rows, d_model)
        self.write(self.rows)

    def write(self, rows: Tensor) -> None:
        """New numbers in the same weight."""
        self.weight.data.copy_(rows)

    def give(self, weight: Tensor) -> None:
        """Another weight."""
        setattr(self.module, self.key, nn.Parameter(weight, requires_grad=False))

    def exchange(self, module: nn.Module) -> None:
        """Another module."""
        parent, _, name = self.path.rpartition(".")
        setattr(self.emb.get_submodule(parent), name, module)

    def set(self, **options: Any) -> None:
        if not isinstance(self.module, nn.Embedding):
            raise NotApplicable("the tables are no nn.Embedding")
        vars(self.module).update(options)

    def gradient(self) -> Any:
        """The table's gradient, for a loss that is the sum of the result."""
        self.emb.zero_grad()
        with warnings.catch_warnings():  # torch: ids have no gradient of their own
            warnings.simplefilter("ignore", UserWarning)
            self.emb(torch.tensor([[0, 1, 1], [0, 2, 2]])).sum().backward()
        if self.weight.grad is None:
            raise NotApplicable(f"the {self.name} table gets no gradient")
        return self.weight.grad  # (rows, d_model)


def halved(forward: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: forward(*args, **kwargs) / 2


def halved_for(table: Table, kind: Any) -> AbstractContextManager[object]:
    """A new forward on a class, that halves the rows of one of its instances."""
    old = kind.forward
    return mock.patch.object(
        kind,
        "forward",
        lambda m, *args: old(m, *args) / (2 if m is table.module else 1),
    )


def keep_rows(table: Table) -> None:
    kept: list[Tensor] = []
    forward = halved(table.module.forward)

    def hand_out(*args: Any) -> Tensor:
        kept.append(kept[0] if kept else forward(*args))
        return kept[0]

    table.module.forward = hand_out


def offload(table: Table) -> None:
    """As tools do it: a forward that fetches the weight and sends it back."""
    forward, away = table.module.forward, table.half.to("meta")

    def fetch(*args: Any) -> Any:
        table.give(table.half)
        rows = forward(*args)
        table.give(away)
        return rows

    table.give(away)
    table.module.forward = fetch


class Halved(Tensor):
    """A weight whose lookup halves the rows: a quantized one, in short."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, *call: Any) -> Any:
        out = super().__torch_function__(func, types, *call)  # type: ignore
        return out.as_subclass(Tensor) / 2 if func is F.embedding else out


def wrap(table: Table) -> None:
    """As adapters do it: a module round the table, that shows its weight."""
    halve = nn.Linear(D_MODEL, D_MODEL, bias=False)
    nn.init.eye_(halve.weight).data.div_(2)  # (d_model, d_model)
    wrapper: Any = nn.Sequential(table.module, halve)
    wrapper.weight = table.weight
    table.exchange(wrapper)


# Promise, its text, and ways to halve a table's rows that it is asked with.
Ways = dict[str, Callable[[Table], Any]]
OBEYED: dict[str, tuple[str, Ways]] = {
    "hooks": (
        "a table's hooks run, and what they return is used",
        {
            "forward hook": lambda t: t.module.register_forward_hook(
                lambda m, args, rows: rows / 2
            ),
            "forward pre-hook": lambda t: t.module.register_forward_pre_hook(
                lambda m, args: t.write(t.half)
            ),
            "global forward hook": lambda t: register_module_forward_hook(
                lambda m, args, rows: rows / 2 if m is t.module else None
            ),
        },
    ),
    "replaced forward": (
        "a forward put on a table or its class is called",
        {
            "forward of its own": lambda t: setattr(
                t.module, "forward", halved(t.module.forward)
            ),
            "new forward of its class": lambda t: halved_for(t, type(t.module)),
            "new forward of its base class": lambda t: halved_for(
                t, [k for k in type(t.module).__mro__ if "forward" in vars(k)][-2]
            ),
        },
    ),
    "kept rows": (
        "rows that a table keeps, to hand them out again, stay as they are",
        {"forward that keeps its rows": keep_rows},
    ),
    "weight subclass": (
        "a weight that is a tensor subclass is looked up its way",
        {"tensor subclass": lambda t: t.give(t.rows.as_subclass(Halved))},
    ),
    "exchanged table": (
        "an nn.Embedding or a wrapper may take a table's place",
        {
            "nn.Embedding instead": lambda t: t.exchange(
                nn.Embedding.from_pretrained(t.half)  # type: ignore
            ),
            "wrapper": wrap,
        },
    ),
}


def check_obeyed(subject: Subject, ways: Ways) -> None:
    """Rows halved between the layer and a table come out halved, and again.

    A way may return a context manager that takes away again what it put.
    """
    for (what, put), name, grad in product(ways.items(), TABLES, (True, False)):
        what = f"{name} table, {what}"
        with torch.set_grad_enabled(grad), during(what):
            table, ids = Table(subject, name), draw_ids(2, 4)
            plain, again = table.emb(ids), table.emb(ids)  # (2, 4, d_model)
            table.write(table.half)
            want = table.emb(ids)  # (2, 4, d_model)
            table.write(table.rows)
            if torch.equal(want, plain) or not torch.equal(plain, again):
                raise NotApplicable(f"in eval mode the {name} rows do not decide")
            with put(table) or nullcontext():
                results = [table.emb(ids).cpu(), table.emb(ids).cpu()]
        for got in results:
            expect(not torch.allclose(got, plain), f"{what}: ignored")
            expect(torch.allclose(got, want), f"{what}: other numbers")


for _name, (_text, _ways) in OBEYED.items():
    promise(_name, _text)(partial(check_obeyed, ways=_ways))


@promise("offload", "a weight may be on meta while its table is not called")
def check_offload(subject: Subject) -> None:
    check_obeyed(subject, {"offloaded weight": offload})
    for name in TABLES:
        table = Table(subject, name)
        table.give(table.rows.to("meta"))
        with suppress(RuntimeError, ValueError):
            on_meta = table.emb(draw_ids(2, 3)).is_meta
            expect(on_meta, f"{name} table, never fetched from meta: numbers")


@promise("later options", "max_norm, padding_idx, sparse, backward hooks: at any time")
def check_options(subject: Subject) -> None:
    check_obeyed(subject, {"max_norm": lambda t: t.set(max_norm=0.5)})
    for name in TABLES:
        table = Table(subject, name)
        want = table.gradient() / 2  # (rows, d_model)
        halve = table.module.register_full_backward_pre_hook
        with halve(lambda m, grads: (grads[0] / 2,)):
            heard = torch.equal(table.gradient(), want)
        expect(heard, f"{name} table, backward pre-hook: ignored")
        table.set(padding_idx=0)
        padded = not table.gradient()[0].any()
        expect(padded, f"{name} table, padding_idx: ignored")
        table.set(padding_idx=None, sparse=True)
        expect(table.gradient().is_sparse, f"{name} table, sparse: ignored")


@promise("compile", "torch.compile: one graph, not a new one for each length")
def check_compile(subject: Subject) -> None:
    emb, *_ = subject.eval()
    graphs = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    torch.compiler.reset()
    compiled = torch.compile(emb, fullgraph=True, backend=backend)
    try:
        with during("fullgraph=True"), warnings.catch_warnings():
            # On Python 3.13.0, of torch's own code and not of the layer.
            warnings.filterwarnings("ignore", "Guards may run slower")
            same = [
                torch.equal(compiled(ids), emb(ids))
                for ids in map(draw_ids, (2, 2, 2, 3, 3), (4, 5, 7, 9, 11))
            ]
    finally:
        torch.compiler.reset()
    expect(all(same), "ids of shape (2, 4) and longer: other values")
    expect(len(graphs) <= 3, f"5 shapes: {len(graphs)} graphs")


@promise("export", "torch.export with dynamic batch and length, up to the limit")
def check_export(subject: Subject) -> None:
    emb, *_ = subject.eval()
    dims = {0: torch.export.Dim("b"), 1: torch.export.Dim("t", max=MAX_SEQ_LEN)}
    with during("export of a (2, 4) call"):
        program = torch.export.export(emb, (draw_ids(2, 4),), dynamic_shapes=(dims,))
    run = program.module()
    for shape in ((3, 9), (2, MAX_SEQ_LEN)):
        ids = draw_ids(*shape)
        expect(torch.equal(run(ids), emb(ids)), f"{show(ids)}: other values")
    ids = draw_ids(1, MAX_SEQ_LEN + 1)
    expect_error(Exception, (), f"exported, {show(ids)}", partial(run, ids))


def judge(check: Check, factory: Callable[..., nn.Module]) -> tuple[str, str]:
    """Verdict and evidence; "stopped" for an error that no promise foresees."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            with during("stopped by"):
                check(Subject(factory))
        except Broken as fault:
            return "broken", str(fault)
        except NotApplicable as reason:
            return "not applicable", str(reason)
        except Stopped as stop:
            return "stopped", str(stop)
    return "kept", ""


def check_contract(
    factory: Callable[..., nn.Module],
    *,
    compile: bool = True,
    only: Collection[str] | None = None,
) -> Report:
    """Check an input layer against every promise.

    An error that stops a check counts as the layer's, with the error's own
    words, unless it stops two plain nn.Embeddings too. Then the promise is
    "not judged": this machine or its PyTorch cannot do what it asks for.

    Args:
        factory: a class, or a function, called as
            factory(vocab_size, d_model, max_seq_len, dropout)
        compile: also check the promises about torch.compile and torch.export,
            which take most of the time
        only: names of promises, to check just these

    Returns:
        A Report, to be printed or asked. The global random state is left as
        it was.

    Raises:
        ValueError: there is no promise of a name in `only`
    """
    if unknown := set(only or ()) - set(PROMISES):
        raise ValueError(f"no promise {sorted(unknown)}; there are {list(PROMISES)}")
    results = []
    for name, (text, check) in PROMISES.items():
        left_out = only is not None and name not in only
        if left_out or (not compile and name in ("compile", "export")):
            continue
        verdict, evidence = judge(check, factory)
        if verdict == "stopped":
            verdict = "broken"
            plain, words = judge(check, Plain)
            if plain == "stopped":
                verdict, evidence = "not judged", f"two plain tables too: {words}"
        results.append(Result(name, text, verdict, evidence))
    return Report(getattr(factory, "__name__", "the layer"), tuple(results))
