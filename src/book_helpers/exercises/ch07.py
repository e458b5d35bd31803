"""Checks for chapter 7."""

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode

from book_helpers.exercises import call, chosen, exercise, expect
from embedding_layer.layer import TransformerEmbeddings
from embedding_layer.position_embedding import sinusoidal_table


@exercise("7.1")
def check_7_1(answer):
    letters = chosen(answer, "abcdefg")
    expect(
        "c" not in letters,
        "(c) A plain attribute stays where it was made; register a buffer.",
    )
    expect(
        "d" not in letters,
        "(d) A module does not look into a plain list.",
    )
    expect(
        "f" not in letters,
        "(f) The optimizer holds its state, and the module knows nothing of it.",
    )
    expect(
        "g" not in letters,
        "(g) torch.ones(4) without a device is made on the CPU in each call.",
    )
    expect("a" in letters, "(a) Parameters move: that is what .to is for.")
    expect(
        "b" in letters,
        "(b) persistent=False only keeps a buffer out of the state_dict.",
    )
    expect(
        "e" in letters,
        "(e) nn.ParameterList registers what it holds, unlike a plain list.",
    )
    return "Three are registered; the others are your business."


class MadeElsewhere(TorchFunctionMode):
    """Notes the functions whose result is not on the wanted device."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.strays = kind, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.device.type != self.kind:
            self.strays.append(func.__name__)
        return out


def rehearsed(function, shape):
    """The device of function(x) for x on a GPU, with fake tensors: none is needed.

    None if the function does what fake tensors cannot.
    """
    try:
        with FakeTensorMode():
            return function(torch.zeros(shape, device="cuda")).device.type
    except Exception:
        return None


@exercise("7.2")
def check_7_2(causal_mask):
    want = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()  # (3, 3)
    mask = call(causal_mask, torch.zeros(2, 3, 4))
    expect(
        isinstance(mask, torch.Tensor),
        f"Return a tensor, not {type(mask).__name__}.",
    )
    expect(
        mask.device.type == "cpu",
        "For x on the CPU the mask must be on the CPU; do not name a device "
        "yourself, ask x.",
    )
    expect(
        mask.dim() != 3,
        f"The shape is {tuple(mask.shape)}: one mask serves the whole batch, so "
        "it has no batch axis.",
    )
    expect(
        mask.shape == (3, 3),
        f"The shape is {tuple(mask.shape)}, not (3, 3): seq_len is x.shape[1].",
    )
    expect(
        mask.dtype == torch.bool,
        f"The mask is {mask.dtype}, not torch.bool.",
    )
    expect(
        not torch.equal(mask, want.T),
        "Row i must be true up to column i, not from it on: tril, not triu.",
    )
    expect(mask.diagonal().all(), "Row i is true at column i too: a token sees itself.")
    expect(torch.equal(mask, want), "Row i must be true at columns 0 to i.")
    for shape in ((1, 1, 4), (2, 0, 4)):
        seq_len = shape[1]
        other = call(causal_mask, torch.zeros(shape))
        expect(
            other.shape == (seq_len, seq_len),
            f"For x of shape {shape} the mask must be {(seq_len, seq_len)}.",
        )
    with MadeElsewhere("meta") as watch:
        there = call(causal_mask, torch.zeros(2, 3, 4, device="meta"))
    expect(there.is_meta, f"For x on meta the mask is on {there.device}.")
    expect(
        not watch.strays,
        f"With x on meta, {watch.strays[:1]} made a tensor on the CPU that was "
        "moved afterwards: a copy in every call. Make it with device=x.device.",
    )
    expect(
        rehearsed(causal_mask, (2, 3, 4)) in ("cuda", None),
        "For x on a GPU (rehearsed with fake tensors) the mask is not there. Do not "
        "list the devices that you know; ask x.",
    )
    return "It goes wherever x goes."


class Model(nn.Module):
    def __init__(self, d_model=4, max_seq_len=8):
        super().__init__()
        self.emb = TransformerEmbeddings(12, d_model, max_seq_len)
        self.head = nn.Linear(d_model, 12, bias=False)
        self.head.weight = self.emb.token_embeddings.weight
        sines = sinusoidal_table(max_seq_len, d_model)
        self.register_buffer("sines", sines, persistent=False)


@exercise("7.3")
def check_7_3(materialize):
    original = Model()
    checkpoint = {k: v.detach().clone() for k, v in original.state_dict().items()}
    with torch.device("meta"):
        model = Model()
    was = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)  # new memory is NaN
    try:
        model = call(materialize, model, checkpoint)
    finally:
        torch.use_deterministic_algorithms(was)
    expect(isinstance(model, nn.Module), "Return the model.")
    held = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    lost = [name for name, tensor in held.items() if tensor.device.type != "cpu"]
    expect(not lost, f"{lost} are not on the CPU; to_empty gives them memory.")
    state = model.state_dict()
    for name, value in checkpoint.items():
        expect(
            name in state and torch.equal(state[name], value),
            f"{name} is not what the checkpoint holds.",
        )
    expect(
        model.head.weight is model.emb.token_embeddings.weight,
        "Head and token table are two parameters: tie them again, and last.",
    )
    expect(
        isinstance(model.head, nn.Linear),
        f"The head is now {type(model.head).__name__}: it looks rows up instead "
        "of giving logits. Give it the weight, not the table.",
    )
    expect(
        isinstance(model.head.weight, nn.Parameter) and model.head.weight.requires_grad,
        "The table must be a parameter that can be trained.",
    )
    expect("sines" in dict(model.named_buffers()), "`sines` is no longer a buffer.")
    expect("sines" not in state, "`sines` is now saved; it was an unsaved buffer.")
    expect(
        not model.sines.isnan().any(),
        "`sines` holds what the memory held: a checkpoint does not fill it.",
    )
    expect(
        torch.equal(model.sines, original.sines),
        "`sines` must be the sinusoidal_table of its own shape.",
    )
    other = Model(6, 10)
    state = {k: v.detach().clone() for k, v in other.state_dict().items()}
    with torch.device("meta"):
        empty = Model(6, 10)
    sines = call(materialize, empty, state).sines
    expect(
        sines.shape == other.sines.shape and torch.equal(sines, other.sines),
        "Right for sines of shape (8, 4), wrong for (10, 6): ask model.sines.",
    )
    return "Nothing was left behind on meta."
