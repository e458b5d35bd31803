"""Chapter 2: answers people give, and a piece of what each is told."""

import torch
from torch import nn
from torch.nn import functional as F


def by_index_add(ids, upstream, vocab_size):
    d = upstream.shape[-1]
    gradient = upstream.new_zeros(vocab_size, d)
    return gradient.index_add(0, ids.flatten(), upstream.reshape(-1, d))


def by_index_put(ids, upstream, vocab_size):
    gradient = upstream.new_zeros(vocab_size, upstream.shape[-1])
    return gradient.index_put((ids,), upstream, accumulate=True)


def by_one_hot(ids, upstream, vocab_size):
    one_hot = F.one_hot(ids, vocab_size).to(upstream.dtype)
    return torch.einsum("bsv,bsd->vd", one_hot, upstream)


def by_autograd(ids, upstream, vocab_size):
    table = upstream.new_zeros(vocab_size, upstream.shape[-1])
    table.requires_grad_()
    F.embedding(ids, table).backward(upstream)
    return table.grad


def by_fancy_index(ids, upstream, vocab_size):
    gradient = upstream.new_zeros(vocab_size, upstream.shape[-1])
    gradient[ids] += upstream
    return gradient


def as_mean(ids, upstream, vocab_size):
    count = torch.bincount(ids.flatten(), minlength=vocab_size).clamp(min=1)
    return by_index_add(ids, upstream, vocab_size) / count.unsqueeze(-1)


def as_counts(ids, upstream, vocab_size):
    return by_index_add(ids, torch.ones_like(upstream), vocab_size)


def up_to_the_largest_id(ids, upstream, vocab_size):
    return by_index_add(ids, upstream, int(ids.max()) + 1)


def first_text(ids, upstream, vocab_size):
    return by_index_add(ids[0], upstream[0], vocab_size)


def turned(ids, upstream, vocab_size):
    return by_index_add(ids, upstream, vocab_size).T


def sparse(ids, upstream, vocab_size):
    return by_index_add(ids, upstream, vocab_size).to_sparse()


def in_float32(ids, upstream, vocab_size):
    return by_index_add(ids, upstream.float(), vocab_size)


def without_reshape(ids, upstream, vocab_size):
    gradient = torch.zeros(vocab_size, upstream.shape[-1])
    return gradient.index_add(0, ids, upstream)


def looked_up(ids, upstream, vocab_size):
    return upstream


def shifted(ids, upstream, vocab_size):
    return by_index_add(ids + 1, upstream, vocab_size)


def redraw_data(table, std):
    table.weight.data.normal_(0, std)
    if table.padding_idx is not None:
        table.weight.data[table.padding_idx].zero_()


def redraw_init(table, std):
    nn.init.normal_(table.weight, std=std)
    if table.padding_idx is not None:
        nn.init.zeros_(table.weight[table.padding_idx].detach())


def redraw_copy(table, std):
    rows = std * torch.randn(table.weight.shape)
    if table.padding_idx is not None:
        rows[table.padding_idx] = 0
    with torch.no_grad():
        table.weight.copy_(rows)


def forgot_padding(table, std):
    nn.init.normal_(table.weight, std=std)


def new_parameter(table, std):
    rows = std * torch.randn(table.weight.shape)
    if table.padding_idx is not None:
        rows[table.padding_idx] = 0
    table.weight = nn.Parameter(rows)


def returns_a_tensor(table, std):
    return std * torch.randn(table.weight.shape)


def std_as_mean(table, std):
    with torch.no_grad():
        table.weight.normal_(std)
        if table.padding_idx is not None:
            table.weight[table.padding_idx] = 0


def with_std(change):
    return lambda table, std: redraw_data(table, change(std))


def zero_is_false(table, std):
    nn.init.normal_(table.weight, std=std)
    if table.padding_idx:
        table.weight.data[table.padding_idx] = 0


def always_indexes(table, std):
    nn.init.normal_(table.weight, std=std)
    table.weight.data[table.padding_idx] = 0


def first_row(table, std):
    nn.init.normal_(table.weight, std=std)
    table.weight.data[0] = 0


def uniform(table, std):
    nn.init.uniform_(table.weight, -std * 3**0.5, std * 3**0.5)
    if table.padding_idx is not None:
        table.weight.data[table.padding_idx] = 0


def own_reset(table, std):
    table.reset_parameters()


WRONG = {
    "2.1": [
        (by_fancy_index, "only one of them counts"),
        (as_mean, "The chain rule adds"),
        (as_counts, "counts the places"),
        (up_to_the_largest_id, "Row 5 is missing"),
        (first_text, "Only the first text"),
        (turned, "Rows and columns are exchanged"),
        (sparse, "sparse tensor"),
        (in_float32, "must be float64"),
        (without_reshape, "raised"),
        (looked_up, "asked was (6, 2)"),
        (shifted, "their rows must be zero"),
        (lambda ids, upstream, vocab_size: None, "Return a tensor"),
    ],
    "2.2": [
        (38.6, "counts numbers"),
        (154, "the table alone"),
        (309, "two such tables"),
        (463, "Adam keeps two"),
        (1235, "float64"),
        (589, "MiB"),
        (0.618, "in GB"),
        (617_558_016, "in bytes"),
        ("618", "Give a number"),
        (700, "too many"),
    ],
    "2.3": [
        (forgot_padding, "has lost its zeros"),
        (new_parameter, "a new weight"),
        (returns_a_tensor, "have not changed"),
        (std_as_mean, "The mean is"),
        (with_std(lambda std: std**2), "std**2"),
        (with_std(lambda std: std**0.5), "the root of std"),
        (with_std(lambda std: 0.02), "0.02 whatever"),
        (own_reset, "PyTorch's own start"),
        (zero_is_false, "0 counts as False"),
        (always_indexes, "no row may be zero"),
        (first_row, "Row 0 is zero"),
        (uniform, "not normal"),
    ],
    "2.4": [
        (0.02, "grow with the root"),
        (0.02 * 768 / 4096, "not with d_model"),
        (0.02 * (4096 / 768) ** 0.5, "The wrong way round: longer"),
        (0.02 * 4096 / 768, "without the root"),
        (4096**-0.5, "logits spread 1"),
        (0.55, "spread of the logits"),
        (0.55 / 4096, "Divide by the root"),
        (-0.0087, "positive"),
        (0.005, "would have the spread"),
    ],
}

RIGHT = {
    "2.1": [by_index_add, by_index_put, by_one_hot, by_autograd],
    "2.2": [618, 617.6, torch.tensor(618)],
    "2.3": [redraw_data, redraw_init, redraw_copy],
    "2.4": [0.02 * (768 / 4096) ** 0.5, 0.55 / 64, 0.00866],
}
