"""Chapter 7: answers people give, and a piece of what each is told."""

import torch
from torch import nn

from embedding_layer import sinusoidal_table


def mask_by_compare(x):
    places = torch.arange(x.shape[1], device=x.device)
    return places.unsqueeze(1) >= places


def mask_new(x):
    return x.new_ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()


def mask(x, **kwargs):
    return torch.ones(x.shape[1], x.shape[1], **kwargs)


def named_device(x):
    return mask(x, dtype=torch.bool, device="meta").tril()


def by_batch(x):
    return torch.ones(len(x), len(x), dtype=torch.bool, device=x.device).tril()


def fixed_size(x):
    return torch.ones(3, 3, dtype=torch.bool, device=x.device).tril()


def filled(model, checkpoint):
    model.to_empty(device="cpu")
    model.load_state_dict(checkpoint)
    return model


def tied(model):
    model.head.weight = model.emb.token_embeddings.weight
    return model


def sines(model):
    model.sines = sinusoidal_table(*model.sines.shape)
    return model


def right_start(model, checkpoint):
    return sines(tied(filled(model, checkpoint)))


def tied_before(model, checkpoint):
    return sines(filled(tied(model), checkpoint))


def only_empty(model, checkpoint):
    return sines(tied(model.to_empty(device="cpu")))


def only_assign(model, checkpoint):
    model.load_state_dict(checkpoint, assign=True)
    return tied(model)


def assign_start(model, checkpoint):
    model.load_state_dict(checkpoint, assign=True)
    return sines(tied(model))


def zero_sines(model, checkpoint):
    tied(filled(model, checkpoint)).sines.zero_()
    return model


def saved_sines(model, checkpoint):
    tied(filled(model, checkpoint))
    model.register_buffer("sines", sinusoidal_table(8, 4))
    return model


def attribute_sines(model, checkpoint):
    tied(filled(model, checkpoint))
    del model.sines
    model.sines = sinusoidal_table(8, 4)
    return model


def frozen(model, checkpoint):
    sines(filled(model, checkpoint))
    table = nn.Parameter(checkpoint["head.weight"], requires_grad=False)
    model.head.weight = model.emb.token_embeddings.weight = table
    return model


def head_that_looks_up(model, checkpoint):
    sines(tied(filled(model, checkpoint)))
    model.head = model.emb.token_embeddings
    return model


def fixed_sines(model, checkpoint):
    tied(filled(model, checkpoint)).sines = sinusoidal_table(8, 4)
    return model


def mask_by_brackets(x):
    i = torch.arange(x.shape[1], device=x.device)
    return i[:, None] >= i


def mask_by_not(x):
    return ~mask(x, dtype=torch.bool, device=x.device).triu(1)


WRONG = {
    "7.1": [
        ("abe", "set of letters"),
        ({"a", "b", "c", "e"}, "(c) A plain attribute"),
        ({"a", "b", "d", "e"}, "(d) A module"),
        ({"a", "b", "e", "f"}, "(f) The optimizer"),
        ({"a", "b", "e", "g"}, "(g) torch.ones(4)"),
        ({"b", "e"}, "(a) Parameters"),
        ({"a", "e"}, "(b) persistent=False"),
        ({"a", "b"}, "(e) nn.ParameterList"),
        ({"a", "h"}, "Only the letters"),
    ],
    "7.2": [
        (lambda x: x.shape[1], "Return a tensor, not int"),
        (named_device, "ask x"),
        (by_batch, "not (3, 3)"),
        (lambda x: mask_new(x).expand(len(x), -1, -1), "no batch axis"),
        (lambda x: mask(x, device=x.device).tril(), "not torch.bool"),
        (lambda x: mask_new(x).T, "tril, not triu"),
        (lambda x: mask_new(x).tril(-1), "sees itself"),
        (lambda x: mask_new(x) | True, "at columns 0 to i"),
        (fixed_size, "must be (1, 1)"),
        (lambda x: mask(x, dtype=torch.bool).tril(), "the mask is on cpu"),
        (lambda x: mask(x, dtype=torch.bool).tril().to(x.device), "a copy in every"),
        (
            lambda x: mask(x, dtype=bool, device="meta" if x.is_meta else "cpu").tril(),
            "Do not list the devices",
        ),
    ],
    "7.3": [
        (lambda model, checkpoint: model.to("cpu"), "NotImplementedError"),
        (lambda model, checkpoint: None, "Return the model"),
        (lambda model, checkpoint: model, "not on the CPU"),
        (only_assign, "['sines'] are not on the CPU"),
        (only_empty, "not what the checkpoint holds"),
        (tied_before, "two parameters"),
        (lambda m, c: tied(filled(m, c)), "what the memory held"),
        (zero_sines, "of its own shape"),
        (saved_sines, "now saved"),
        (attribute_sines, "no longer a buffer"),
        (frozen, "can be trained"),
        (head_that_looks_up, "looks rows up instead"),
        (fixed_sines, "wrong for (10, 6)"),
    ],
}

RIGHT = {
    "7.1": [{"a", "b", "e"}, frozenset("abe"), {"(a)", "(b)", "(e)"}],
    "7.2": [mask_by_compare, mask_new, mask_by_brackets, mask_by_not],
    "7.3": [right_start, assign_start],
}
