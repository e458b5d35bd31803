"""A contract for input layers: check any class in one call.

    from embedding_layer.contract import check_contract
    print(check_contract(MyEmbeddings))

Every promise is a short function below: it builds small layers, calls them,
and raises Broken with the smallest input that shows the fault.
"""

import copy
import inspect
import pickle
from dataclasses import dataclass

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

VOCAB_SIZE, D_MODEL, MAX_SEQ_LEN = 50, 8, 16
PROMISES = {}


class Broken(Exception):
    """A promise does not hold; the text is the smallest input that shows it."""


class NotApplicable(Exception):
    """A promise cannot be asked of this layer; the text says why."""


@dataclass(frozen=True)
class Result:
    """One line of a report. `verdict`: "kept", "broken" or "not applicable"."""

    name: str
    promise: str
    verdict: str
    evidence: str = ""


@dataclass(frozen=True)
class Report:
    """What `check_contract` found. Print it, or ask it.

    `report.kept`, `report.broken` and `report.not_applicable` are lists of
    names; `report["values"]` is the Result of one promise.
    """

    subject: str
    results: tuple

    def _names(self, verdict):
        return [r.name for r in self.results if r.verdict == verdict]

    @property
    def kept(self):
        return self._names("kept")

    @property
    def broken(self):
        return self._names("broken")

    @property
    def not_applicable(self):
        return self._names("not applicable")

    def __getitem__(self, name):
        return next(r for r in self.results if r.name == name)

    def __str__(self):
        lines = [
            f"{self.subject}: {len(self.kept)} kept, {len(self.broken)} broken, "
            f"{len(self.not_applicable)} not applicable"
        ]
        for r in self.results:
            lines.append(f"  {r.verdict:15}{r.name:22}{r.promise}")
            if r.evidence:
                lines.append(f"  {'':15}{'':22}> {r.evidence}")
        return "\n".join(lines)


class Subject:
    """The class under test, and how to find its two tables."""

    def __init__(self, factory):
        self.factory = factory

    def make(self, dropout=0.0, sizes=(VOCAB_SIZE, D_MODEL, MAX_SEQ_LEN)):
        return self.factory(*sizes, dropout)

    def tables(self, emb, sizes=(VOCAB_SIZE, D_MODEL, MAX_SEQ_LEN)):
        """Token and position table: the parameters that have their shapes."""
        vocab_size, d_model, max_seq_len = sizes
        found = []
        for shape in ((vocab_size, d_model), (max_seq_len, d_model)):
            same = [p for p in emb.parameters() if tuple(p.shape) == shape]
            if len(same) != 1:
                raise Broken(f"{len(same)} parameters of shape {shape}, expected 1")
            found += same
        return found

    def eval(self):
        """A layer in eval mode, with its tables."""
        emb = self.make(dropout=0.5).eval()
        return emb, *self.tables(emb)

    def needs_position_ids(self, emb):
        if "position_ids" not in inspect.signature(emb.forward).parameters:
            raise NotApplicable("forward takes no position_ids")


def promise(name, text):
    """Register a check: a function of a Subject that raises Broken."""

    def register(check):
        PROMISES[name] = (text, check)
        return check

    return register


def draw_ids(*shape):
    return torch.randint(0, VOCAB_SIZE, shape)  # shape


def show(ids):
    """Small ids whole, others by shape and dtype."""
    if ids.numel() <= 5 and ids.device.type == "cpu":
        return str(ids.tolist())
    return f"{str(ids.dtype).removeprefix('torch.')} ids of shape {tuple(ids.shape)}"


def expect(condition, evidence):
    if not condition:
        raise Broken(evidence)


def expect_error(kind, call, words, what):
    """`call` must raise `kind`, with every one of `words` in the message."""
    try:
        call()
    except kind as error:
        missing = [w for w in words if w not in str(error)]
        expect(not missing, f"{what}: the message does not name {missing}")
    except Exception as error:
        got = type(error).__name__
        raise Broken(f"{what}: {got} instead of {kind.__name__}") from None
    else:
        raise Broken(f"{what}: no error, expected {kind.__name__}")


@promise("values", "in eval mode the result is token row + position row, exactly")
def check_values(subject):
    emb, token, position = subject.eval()
    for shape in ((1, 1), (1, 3), (2, 3), (3, 3), (2, MAX_SEQ_LEN)):
        ids = draw_ids(*shape)
        want = token[ids] + position[: shape[1]]  # (batch, seq_len, d_model)
        got = emb(ids)
        expect(got.shape == want.shape, f"{show(ids)}: shape {tuple(got.shape)}")
        expect(torch.equal(got, want), f"{show(ids)}: other values")


@promise("batch independence", "a row alone equals that row in a batch")
def check_batch_independence(subject):
    emb, *_ = subject.eval()
    for shape in ((2, 3), (3, 3), (4, 1)):
        ids = draw_ids(*shape)
        whole = emb(ids)  # (batch, seq_len, d_model)
        for row in range(shape[0]):
            same = torch.equal(emb(ids[row : row + 1]), whole[row : row + 1])
            expect(same, f"{show(ids)}: row {row} alone differs")


@promise("prefix consistency", "the result for a prefix is the result's prefix")
def check_prefix(subject):
    emb, *_ = subject.eval()
    ids = draw_ids(2, MAX_SEQ_LEN)
    whole = emb(ids)  # (batch, seq_len, d_model)
    for seq_len in (1, 2, MAX_SEQ_LEN - 1):
        same = torch.equal(emb(ids[:, :seq_len]), whole[:, :seq_len])
        expect(same, f"{show(ids)}: its first {seq_len} columns alone differ")


@promise("places differ", "one token at two places gets two different vectors")
def check_places(subject):
    emb, *_ = subject.eval()
    for batch in (1, 2):
        ids = torch.full((batch, 3), 7)
        rows = emb(ids)[-1]  # (seq_len, d_model)
        expect(len(rows.unique(dim=0)) == 3, f"{show(ids)}: equal vectors")


@promise("offset decode", "a step with its position_ids equals the full pass")
def check_offset(subject):
    emb, *_ = subject.eval()
    subject.needs_position_ids(emb)
    ids = draw_ids(2, 6)
    for at in range(6):
        step = emb(ids[:, at : at + 1], position_ids=torch.tensor([[at]]))
        same = torch.equal(step, emb(ids)[:, at : at + 1])
        expect(same, f"position_ids=[[{at}]] differs from column {at}")


@promise("left padding", "with positions from its mask a padded row is unchanged")
def check_left_padding(subject):
    emb, *_ = subject.eval()
    subject.needs_position_ids(emb)
    padded, real = torch.tensor([[0, 0, 7, 8, 9]]), torch.tensor([[7, 8, 9]])
    position_ids = torch.tensor([[0, 0, 0, 1, 2]])
    got = emb(padded, position_ids=position_ids)[:, 2:]  # (1, 3, d_model)
    expect(torch.equal(got, emb(real)), f"{show(padded)} differs from {show(real)}")


@promise("length limit", "max_seq_len tokens work; more is a ValueError, both named")
def check_length(subject):
    emb, *_ = subject.eval()
    emb(draw_ids(1, MAX_SEQ_LEN))
    for emb in (emb, subject.make().train()):
        for batch in (1, 0):
            ids = draw_ids(batch, MAX_SEQ_LEN + 1)
            words = (str(MAX_SEQ_LEN + 1), str(MAX_SEQ_LEN))
            expect_error(ValueError, lambda: emb(ids), words, show(ids))


@promise("id range", "an id outside the table is an IndexError that names it")
def check_ids(subject):
    emb, *_ = subject.eval()
    emb(torch.tensor([[0, VOCAB_SIZE - 1]]))
    for bad in (VOCAB_SIZE, VOCAB_SIZE + 23, -1, -100):
        ids = torch.tensor([[1, bad]])
        words = (str(bad), str(VOCAB_SIZE - 1))
        expect_error(IndexError, lambda: emb(ids), words, show(ids))


@promise("position range", "a position outside its table is an IndexError")
def check_positions(subject):
    emb, *_ = subject.eval()
    subject.needs_position_ids(emb)
    for bad in (MAX_SEQ_LEN, -1):
        where = torch.tensor([[0, bad]])

        def call(where=where):
            return emb(torch.tensor([[1, 2]]), position_ids=where)

        what = f"position_ids={show(where)}"
        expect_error(IndexError, call, (str(bad),), what)


@promise("id dtype", "int32 works like int64; float ids are a TypeError")
def check_id_dtype(subject):
    emb, *_ = subject.eval()
    ids = draw_ids(2, 3)
    expect(torch.equal(emb(ids.int()), emb(ids)), "int32 ids: other values")
    for dtype in (torch.float32, torch.bool):
        bad = torch.ones(1, 2, dtype=dtype)
        words = (str(dtype).removeprefix("torch."),)
        expect_error(TypeError, lambda: emb(bad), words, show(bad))


@promise("id shape", "ids that are not (batch, seq_len) are a ValueError")
def check_id_shape(subject):
    emb, *_ = subject.eval()
    for shape in ((3,), (1, 2, 3)):
        bad = torch.ones(shape, dtype=torch.long)
        expect_error(ValueError, lambda: emb(bad), (str(shape),), show(bad))


@promise("empty input", "no sequences or no tokens: an empty result, zero gradients")
def check_empty(subject):
    for shape in ((0, 5), (2, 0), (0, 0)):
        emb = subject.make(dropout=0.1).train()
        ids = torch.empty(shape, dtype=torch.long)
        out = emb(ids)
        expect(out.shape == (*shape, D_MODEL), f"{show(ids)}: {tuple(out.shape)}")
        out.sum().backward()
        zero = all(p.grad is None or not p.grad.any() for p in emb.parameters())
        expect(zero, f"{show(ids)}: gradients that are not zero")


@promise("sizes and rates", "impossible sizes and dropout rates are a ValueError")
def check_construction(subject):
    for sizes in ((0, 8, 16), (50, -8, 16), (50, 8, 2.5)):
        what = "sizes " + str(sizes)
        expect_error(ValueError, lambda: subject.make(sizes=sizes), (), what)
    for rate in (-0.1, 1.1, float("nan")):
        what = f"dropout={rate}"
        expect_error(ValueError, lambda: subject.make(dropout=rate), (), what)


@promise("start", "both tables start as N(0, 0.02**2)")
def check_start(subject):
    sizes = (1000, 64, 256)
    emb = subject.make(sizes=sizes)
    names = ("token", "position")
    for name, table in zip(names, subject.tables(emb, sizes), strict=True):
        wide = 0.018 < table.std() < 0.022 and table.mean().abs() < 0.001
        expect(wide, f"the {name} table of a layer of sizes {sizes}")


@promise("dtype", "the result has the tables' dtype, under autocast too")
def check_dtype(subject):
    ids = draw_ids(1, 3)
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        emb = subject.make(dropout=0.1).to(dtype)
        for emb in (emb.train(), emb.eval()):
            got = emb(ids).dtype
            expect(got == dtype, f"tables of {dtype}, result of {got}")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = subject.make()(ids).dtype
    expect(got == torch.float32, f"tables of torch.float32 in autocast, got {got}")


class ElsewhereWatch(TorchFunctionMode):
    """Notes every torch function whose result is not on one device."""

    def __init__(self, device_type):
        super().__init__()
        self.device_type, self.strays = device_type, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.device.type != self.device_type:
            self.strays.append(func.__name__)
        return out


@promise("device", "works wherever tables and ids are: nothing stays on the CPU")
def check_device(subject):
    emb = subject.make(dropout=0.1).to("meta")
    ids = draw_ids(2, 3).to("meta")
    for emb in (emb.train(), emb.eval()):
        out = emb(ids)
        right = out.device.type == "meta" and out.shape == (2, 3, D_MODEL)
        expect(right, f"layer and ids on meta: result on {out.device}")
    with ElsewhereWatch("meta") as watch:
        emb(ids)
    expect(not watch.strays, f"layer and ids on meta: {watch.strays} not on meta")


@promise("state dict", "two tables and nothing else: no buffers, nothing stored")
def check_state_dict(subject):
    emb = subject.make(dropout=0.1).train()
    emb(draw_ids(2, 3))
    shapes = sorted(tuple(v.shape) for v in emb.state_dict().values())
    want = sorted(((VOCAB_SIZE, D_MODEL), (MAX_SEQ_LEN, D_MODEL)))
    expect(shapes == want, f"state_dict() holds shapes {shapes}")
    expect(all(p.requires_grad for p in emb.parameters()), "a table is frozen")
    for module in emb.modules():
        loose = list(module._buffers)
        loose += [k for k, v in vars(module).items() if isinstance(v, torch.Tensor)]
        expect(not loose, f"tensors beside the tables: {loose}")


@promise("copying", "deepcopy and pickle work after a forward pass")
def check_copying(subject):
    emb = subject.make(dropout=0.1).train()
    ids = draw_ids(2, 3)
    emb(ids)
    twins = [copy.deepcopy(emb)]
    try:
        twins.append(pickle.loads(pickle.dumps(emb)))
    except (pickle.PicklingError, AttributeError):
        pass  # a class made inside a function: Python's limit, not the layer's
    for twin in twins:
        expect(torch.equal(twin.eval()(ids), emb.eval()(ids)), "the copy differs")
        own = not {p.data_ptr() for p in twin.parameters()} & {
            p.data_ptr() for p in emb.parameters()
        }
        expect(own, "the copy shares its tables")


@promise("tie survival", "a head that shares the token table shares it afterwards")
def check_tie(subject):
    emb = subject.make().train()
    head = nn.Linear(D_MODEL, VOCAB_SIZE, bias=False)
    head.weight = subject.tables(emb)[0]
    pair = nn.ModuleList([emb, head])
    ids = draw_ids(2, 3)

    def run(pair):
        pair[1](pair[0](ids)).sum().backward()
        return pair

    moves = {
        "a training step": run,
        ".double()": lambda pair: pair.double(),
        "deepcopy": copy.deepcopy,
        "load_state_dict": lambda p: (p.load_state_dict(p.state_dict()), p)[1],
    }
    for name, move in moves.items():
        pair = move(pair)
        pair.zero_grad()
        expect(pair[1].weight is subject.tables(pair[0])[0], f"lost by {name}")


@promise("tables unchanged", "a forward pass never writes into a table")
def check_unchanged(subject):
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
def check_gradients(subject):
    emb = subject.make().train()
    ids = torch.tensor([[3, 3, 5], [3, 4, 4]])
    emb(ids).sum().backward()
    token, position = subject.tables(emb)
    wants = {
        "token": torch.bincount(ids.flatten(), minlength=VOCAB_SIZE),  # (vocab,)
        "position": torch.tensor([2] * 3 + [0] * (MAX_SEQ_LEN - 3)),  # (max_seq_len,)
    }
    for table, (name, want) in zip((token, position), wants.items(), strict=True):
        expect(table.grad is not None, f"the {name} table gets no gradient")
        got = table.grad.to_dense()  # (rows, d_model)
        right = torch.equal(got, want.unsqueeze(1).expand_as(got).to(got.dtype))
        expect(right, f"{ids.tolist()}: another gradient of the {name} table")


@promise("per-sample gradients", "vmap(grad) gives the gradient of each row alone")
def check_per_sample(subject):
    emb = subject.make(dropout=0.5).eval()
    params = {k: v.detach() for k, v in emb.named_parameters()}
    ids = draw_ids(3, 4)

    def loss(params, row):
        out = torch.func.functional_call(emb, params, (row.unsqueeze(0),))
        return out.pow(2).sum()

    try:
        got = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, ids)
    except Exception as error:
        raise Broken(f"vmap over 3 rows: {type(error).__name__}") from None
    for row in range(3):
        want = torch.func.grad(loss)(params, ids[row])
        same = all(torch.allclose(got[k][row], want[k]) for k in params)
        expect(same, f"{show(ids)}: another gradient for row {row}")


@promise("dropout's switch", "none in eval mode or at rate 0; no_grad is no switch")
def check_dropout_switch(subject):
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
def check_dropout_law(subject):
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
        for dim, name in enumerate(("sequences", "places", "columns")):
            both = (zero.narrow(dim, 1, 31) * zero.narrow(dim, 0, 31)).mean()
            apart = (both - share**2).abs() < 0.01
            expect(apart, f"dropout={rate}: neighbouring {name} drop together")
        near = (share - rate).abs() < 0.01
        expect(near, f"dropout={rate}: another share of zeros")
        keep = got != 0
        scaled = torch.allclose(got[keep], want[keep] / (1 - rate), rtol=1e-5)
        expect(scaled, f"dropout={rate}: kept values are not the sum / {1 - rate}")
        expect(not torch.equal(got, again), f"dropout={rate}: two calls, one mask")


@promise("compile", "torch.compile: one graph, not a new one for each length")
def check_compile(subject):
    emb, *_ = subject.eval()
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(emb, fullgraph=True, backend=backend)
    try:
        same = [
            torch.equal(compiled(ids), emb(ids))
            for ids in map(draw_ids, (2, 2, 2, 3, 3), (4, 5, 7, 9, 11))
        ]
    except Exception as error:
        raise Broken(f"fullgraph=True: {type(error).__name__}") from None
    finally:
        torch._dynamo.reset()
    expect(all(same), "ids of shape (2, 4) and longer: other values")
    expect(len(graphs) <= 3, f"5 shapes: {len(graphs)} graphs")


@promise("export", "torch.export with dynamic batch and length, up to the limit")
def check_export(subject):
    emb, *_ = subject.eval()
    dims = {0: torch.export.Dim("b"), 1: torch.export.Dim("t", max=MAX_SEQ_LEN)}
    try:
        program = torch.export.export(emb, (draw_ids(2, 4),), dynamic_shapes=(dims,))
    except Exception as error:
        raise Broken(f"export of a (2, 4) call: {type(error).__name__}") from None
    run = program.module()
    for shape in ((3, 9), (2, MAX_SEQ_LEN)):
        ids = draw_ids(*shape)
        expect(torch.equal(run(ids), emb(ids)), f"{show(ids)}: other values")
    ids = draw_ids(1, MAX_SEQ_LEN + 1)
    expect_error(Exception, lambda: run(ids), (), f"exported, {show(ids)}")


def check_contract(factory, *, compile=True, only=None):
    """Check an input layer against every promise.

    Args:
        factory: a class, or a function, called as
            factory(vocab_size, d_model, max_seq_len, dropout)
        compile: also check the promises about torch.compile and torch.export,
            which take most of the time
        only: names of promises, to check just these

    Returns:
        A Report, to be printed or asked. The global random state is left as
        it was.
    """
    subject = Subject(factory)
    results = []
    for name, (text, check) in PROMISES.items():
        if only is not None and name not in only:
            continue
        if not compile and name in ("compile", "export"):
            continue
        verdict, evidence = "kept", ""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            try:
                check(subject)
            except Broken as fault:
                verdict, evidence = "broken", str(fault)
            except NotApplicable as reason:
                verdict, evidence = "not applicable", str(reason)
            except Exception as error:
                verdict, evidence = "broken", f"stopped by {type(error).__name__}"
        results.append(Result(name, text, verdict, evidence))
    return Report(getattr(factory, "__name__", "the layer"), tuple(results))
