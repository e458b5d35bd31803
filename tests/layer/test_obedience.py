"""What other tools put between the layer and a table's rows is obeyed.

The contract asks this of any layer, with torch alone. Here are the tools
themselves, where they are installed, and what only our layer promises.
"""

import copy
import sys

import pytest
import torch
from torch import nn

from embedding_layer import (
    PositionEmbedding,
    TokenEmbedding,
    TransformerEmbeddings,
)

TABLES = ("token_embeddings", "position_embeddings")
EACH = pytest.mark.parametrize("name", TABLES)


@pytest.fixture
def ids():
    return torch.randint(0, 50, (2, 5))


def plain_sum(emb, ids):
    """What two tables give that are simply called and summed."""
    return emb.token_embeddings(ids) + emb.position_embeddings(torch.arange(5))


# ---- hooks ----


@EACH
def test_a_forward_hook_sees_rows(emb, name, ids):
    """What a hook keeps must not turn into the sum behind its back."""
    seen, table = [], getattr(emb, name)
    table.register_forward_hook(lambda m, args, rows: seen.append((args[0], rows)))
    emb(ids)
    [(asked, rows)] = seen
    assert torch.equal(rows, table.weight[asked])


@EACH
def test_a_global_hook_sees_rows(emb, name, ids):
    seen, table = [], getattr(emb, name)
    handle = nn.modules.module.register_module_forward_hook(
        lambda m, args, rows: seen.append((args[0], rows)) if m is table else None
    )
    with handle:
        emb(ids)
    [(asked, rows)] = seen
    assert torch.equal(rows, table.weight[asked])


@EACH
@pytest.mark.parametrize(
    "kind",
    [
        "forward_hook",
        "forward_pre_hook",
        # ids have no gradient: torch says so, and runs the hook
        pytest.param(
            "full_backward_hook",
            marks=pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning"),
        ),
        pytest.param(
            "full_backward_pre_hook",
            marks=pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning"),
        ),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True])
def test_hooks_of_every_kind_run_once(emb, name, kind, everywhere, ids):
    table, seen = getattr(emb, name), []

    def hook(module, *args):
        if module is table:
            seen.append(args)

    if everywhere:
        register = getattr(nn.modules.module, f"register_module_{kind}")
    else:
        register = getattr(table, f"register_{kind}")
    with register(hook):
        emb(ids).sum().backward()
    assert len(seen) == 1


def test_dropout_hooks_run_in_eval_mode(emb, ids):
    seen = []
    emb.dropout.register_forward_hook(lambda m, args, out: seen.append(out))
    out = emb(ids)
    assert seen[0] is out


@pytest.mark.parametrize("batch", [2, 5])  # 5 tokens: a square batch hides the fault
def test_per_sample_gradients_by_hooks(emb, batch):
    """meta-pytorch/opacus#841: positions broadcast from a batch of one gave the
    position table the gradient of the whole batch for every sample.
    """
    twin, asked, grads = copy.deepcopy(emb), {}, {}
    for name in TABLES:

        def note(module, args, rows, name=name):
            asked[name] = args[0]
            rows.register_hook(lambda grad: grads.update({name: grad}))

        getattr(emb, name).register_forward_hook(note)
    ids = torch.randint(0, 50, (batch, 5))
    emb(ids).pow(2).sum().backward()
    for at in range(batch):
        twin.zero_grad()
        twin(ids[at : at + 1]).pow(2).sum().backward()
        for name in TABLES:
            want = getattr(twin, name).weight.grad
            got = torch.zeros_like(want)
            got.index_put_((asked[name][at],), grads[name][at], accumulate=True)
            assert torch.allclose(got, want, atol=1e-6)


# ---- a forward, a weight or a module of another's making ----


@EACH
@pytest.mark.parametrize("grad", [True, False])
def test_a_forward_replaced_on_the_instance(emb, name, grad, ids):
    """huggingface/kernels#153: tools that put kernels in place."""
    table = getattr(emb, name)
    old = table.forward
    table.forward = lambda ids: 3 * old(ids)
    with torch.set_grad_enabled(grad):
        out = emb(ids)
    assert torch.equal(out, plain_sum(emb, ids))
    del table.forward
    assert not torch.allclose(out, emb(ids))


@EACH
@pytest.mark.parametrize("kind", [TokenEmbedding, PositionEmbedding, nn.Embedding])
def test_a_forward_replaced_on_a_class(emb, name, kind, monkeypatch, ids):
    before, old, table = emb(ids), kind.forward, getattr(emb, name)
    monkeypatch.setattr(
        kind, "forward", lambda m, ids: old(m, ids) * (3 if m is table else 1)
    )
    out = emb(ids)
    assert torch.equal(out, plain_sum(emb, ids))
    assert torch.allclose(out, before) == (not isinstance(table, kind))


def test_a_replaced_lookup(emb, monkeypatch, ids):
    """functional.embedding itself, as tools for mixed precision replace it."""
    old = nn.functional.embedding
    want = 3 * emb(ids)
    monkeypatch.setattr(nn.functional, "embedding", lambda *args: 3 * old(*args))
    assert torch.allclose(emb(ids), want)


def test_a_replaced_call(emb, monkeypatch, ids):
    """nn.Module.__call__, as tracers replace it."""
    called, old = [], nn.Module.__call__

    def call(module, *args, **kwargs):
        called.append(module)
        return old(module, *args, **kwargs)

    monkeypatch.setattr(nn.Module, "__call__", call)
    emb(ids)
    assert called == [emb, emb.token_embeddings, emb.position_embeddings, emb.dropout]


@EACH
def test_a_compiled_table(emb, name, ids):
    calls = []

    def backend(graph, inputs):
        calls.append(name)
        return graph.forward

    want = emb(ids)
    torch.compiler.reset()
    getattr(emb, name).compile(backend=backend)
    assert torch.equal(emb(ids), want)
    assert calls, "the compiled table was gone round"
    torch.compiler.reset()


@EACH
def test_a_subclass_of_a_table(emb, name, ids):
    class Tripled(type(getattr(emb, name))):
        def forward(self, input):
            return 3 * super().forward(input)

    before = emb(ids)
    getattr(emb, name).__class__ = Tripled
    out = emb(ids)
    assert torch.equal(out, plain_sum(emb, ids)) and not torch.allclose(out, before)


@EACH
def test_a_weight_beside_the_registered_one(emb, name, ids):
    """As tools leave it that compute a weight: a plain attribute hides it."""
    table, before = getattr(emb, name), emb(ids)
    table.register_parameter("stored", table.weight)
    del table.weight
    table.weight = 3 * table.stored
    out = emb(ids)
    assert torch.equal(out, plain_sum(emb, ids)) and not torch.allclose(out, before)


@EACH
def test_a_pruned_weight(emb, name, ids):
    from torch.nn.utils import prune

    before = emb(ids)
    prune.random_unstructured(getattr(emb, name), "weight", amount=0.9)
    out = emb(ids)
    assert torch.equal(out, plain_sum(emb, ids)) and not torch.allclose(out, before)


@EACH
def test_a_parametrized_weight(emb, name, ids):
    class Triple(nn.Module):
        def forward(self, weight):
            return 3 * weight

    nn.utils.parametrize.register_parametrization(
        getattr(emb, name), "weight", Triple()
    )
    assert torch.equal(emb(ids), plain_sum(emb, ids))


@EACH
def test_a_tensor_subclass_that_refuses_to_be_written(emb, name, ids):
    class ReadOnly(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            assert func is not torch.Tensor.add_
            return super().__torch_function__(func, types, args, kwargs)

    want, table = emb(ids), getattr(emb, name)
    table.weight = nn.Parameter(table.weight.detach().as_subclass(ReadOnly))
    assert type(table(torch.arange(5))) is ReadOnly
    assert torch.equal(emb(ids).as_subclass(torch.Tensor), want)


def test_ids_that_are_a_tensor_subclass(emb, ids):
    class Named(torch.Tensor):
        pass

    assert type(emb(ids.as_subclass(Named))) is Named


@EACH
def test_a_wrapper_that_hides_its_weight(emb, name, ids):
    """A module that can only be called: the length guard has nothing to read."""
    setattr(emb, name, nn.Sequential(getattr(emb, name), nn.Linear(8, 8)))
    assert torch.equal(emb(ids), plain_sum(emb, ids))


class Packed(torch.Tensor):
    pass


@EACH
@pytest.mark.parametrize(
    "pack",
    [lambda rows: rows[:3].flatten(), lambda rows: rows[:3].as_subclass(Packed)],
    ids=["flat", "subclass"],
)
def test_a_packed_weight(emb, name, pack, ids):
    """Its shape says nothing of rows: the table's own count is the limit."""
    table = getattr(emb, name)
    rows, want = table.weight.detach(), emb(ids)
    table.weight = nn.Parameter(pack(rows))
    table.forward = lambda ids: rows[ids]
    assert torch.equal(emb(ids), want)
    with pytest.raises(ValueError, match="40.*16"):
        emb(torch.zeros(1, 40, dtype=torch.long))


@EACH
def test_rows_that_a_table_keeps(emb, name, ids):
    class Cached(nn.Module):
        rows = torch.randn(2, 5, 8)

        def forward(self, ids):
            return self.rows

    before = Cached.rows.clone()
    setattr(emb, name, Cached())
    with torch.no_grad():
        emb.train()(ids)
    assert torch.equal(Cached.rows, before)


@EACH
@pytest.mark.parametrize(
    "options",
    [
        {"max_norm": 0.01},
        {"max_norm": 0.01, "norm_type": 1.0},
        {"padding_idx": 1},
        {"scale_grad_by_freq": True},
        {"sparse": True},
    ],
)
def test_options_set_later(emb, name, options, ids):
    """As on nn.Embedding: rows and gradients, each."""
    plain = copy.deepcopy(emb)
    for part in TABLES:
        table = nn.Embedding.from_pretrained(getattr(emb, part).weight.detach().clone())
        setattr(plain, part, table.requires_grad_(True))
    for layer in (emb, plain):
        vars(getattr(layer, name)).update(options)
    ids[0] = ids[0, 0]  # a frequent one
    results = [emb(ids), plain_sum(plain, ids)]
    assert torch.equal(*results)
    for out in results:
        out.pow(2).sum().backward()
    for part in TABLES:
        ours, theirs = (getattr(layer, part).weight.grad for layer in (emb, plain))
        assert ours.is_sparse == theirs.is_sparse
        assert torch.equal(ours.to_dense(), theirs.to_dense())


@EACH
def test_a_weight_on_meta(emb, name, ids):
    """huggingface/accelerate#442: never the other table's rows alone."""
    table = getattr(emb, name)
    table.weight = nn.Parameter(table.weight.to("meta"))
    with pytest.raises(RuntimeError, match="meta"):
        emb(ids)


@EACH
def test_a_weight_on_an_accelerator(emb, name, device, ids):
    """Two devices do not meet in silence."""
    if device.type == "cpu":
        pytest.skip("needs a second device")
    getattr(emb, name).to(device)
    with pytest.raises(RuntimeError, match="device"):
        emb(ids)


# ---- the tools themselves ----


@pytest.mark.parametrize("way", ["cpu_offload", "disk_offload", "dispatch_model"])
def test_accelerate(emb, way, tmp_path, ids):
    """huggingface/accelerate#442: a weight is there only while its module runs."""
    accelerate = pytest.importorskip("accelerate")
    cpu, want = torch.device("cpu"), emb(ids).detach()
    if way == "cpu_offload":
        emb = accelerate.cpu_offload(emb, execution_device=cpu)
    elif way == "disk_offload":
        emb = accelerate.disk_offload(emb, str(tmp_path), execution_device=cpu)
    else:
        places = {"token_embeddings": "cpu", "position_embeddings": "disk"}
        emb = accelerate.dispatch_model(
            emb,
            {**places, "dropout": "cpu"},
            main_device=cpu,
            offload_dir=str(tmp_path),
            force_hooks=True,
        )
    assert any(p.is_meta for p in emb.parameters())
    assert torch.equal(emb(ids), want) and torch.equal(emb(ids), want)
    where = torch.arange(5).unsqueeze(0)
    assert torch.equal(emb(ids, position_ids=where), want)


def test_peft(emb, ids):
    """Low-rank adapters on both tables."""
    peft = pytest.importorskip("peft")
    want = emb(ids).detach()
    config = peft.LoraConfig(r=2, target_modules=list(TABLES))
    model = peft.get_peft_model(emb, config)
    assert torch.equal(model(ids), want)  # adapters start at zero
    for name, parameter in model.named_parameters():
        if "lora" in name:
            nn.init.normal_(parameter)
    layer = model.base_model.model
    out = model(ids)
    assert torch.equal(out, plain_sum(layer, ids)) and not torch.allclose(out, want)
    out.sum().backward()
    trained = [n for n, p in model.named_parameters() if p.grad is not None]
    assert len(trained) == 4 and all("lora" in name for name in trained)
    merged = model.merge_and_unload()
    assert torch.allclose(merged(ids), out, atol=1e-4)


# torchao looks for kernels of other Pythons, and reads old names of torch's own
@pytest.mark.filterwarnings("ignore")
def test_quantized_by_torchao():
    """pytorch/pytorch#41396: the route of today. It takes a filter, and subclasses."""
    pytest.importorskip("torchao")
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    emb = TransformerEmbeddings(100, 64, 16).eval()
    ids = torch.randint(0, 100, (2, 5))
    want = emb(ids).detach()
    quantize_(emb, Int8WeightOnlyConfig(), lambda m, _: isinstance(m, nn.Embedding))
    for name in TABLES:
        assert type(getattr(emb, name).weight).__name__ == "Int8Tensor"
    out = emb(ids)
    assert torch.equal(out, plain_sum(emb, ids))
    assert 0 < (out - want).abs().max() < 0.02 * want.abs().max()


# torch.ao says that it is deprecated, and quantized tensors say so too
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
@pytest.mark.skipif(
    sys.platform == "darwin", reason="needs the fbgemm or onednn engine"
)
def test_quantized_by_torch_ao():
    """pytorch/pytorch#41396: it looks type(module) up, so it passes over subclasses;
    both tables exchanged for nn.Embedding, it takes them.
    """
    quantization = pytest.importorskip("torch.ao.quantization")
    if not hasattr(quantization, "quantize_dynamic"):
        pytest.skip("torch.ao has no quantize_dynamic any more")

    def quantize(emb):
        config = quantization.float_qparams_weight_only_qconfig
        return quantization.quantize_dynamic(
            emb, {nn.Embedding: config}, dtype=torch.quint8
        )

    emb = TransformerEmbeddings(100, 64, 16).eval()
    ids = torch.randint(0, 100, (2, 5))
    want = emb(ids).detach()
    passed_over = quantize(copy.deepcopy(emb))
    assert type(passed_over.token_embeddings) is TokenEmbedding
    for name in TABLES:
        rows = getattr(emb, name).weight.detach()
        setattr(emb, name, nn.Embedding.from_pretrained(rows))
    emb = quantize(emb)
    assert "quantized" in type(emb.token_embeddings).__module__
    assert "quantized" in type(emb.position_embeddings).__module__
    out = emb(ids)
    assert 0 < (out - want).abs().max() < 0.02 * want.abs().max()
    with pytest.raises(ValueError, match="40.*16"):
        emb(torch.zeros(1, 40, dtype=torch.long))
