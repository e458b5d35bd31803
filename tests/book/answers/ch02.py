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


def first_sequence(ids, upstream, vocab_size):
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


def gaps_of(table, token_id):
    rows = table.weight.detach()
    return (rows - rows[token_id]).norm(dim=1)


def by_inf(table, token_id, count):
    gaps = gaps_of(table, token_id)
    gaps[token_id] = float("inf")
    return gaps.argsort()[:count].tolist()


def by_sorted(table, token_id, count):
    gaps = gaps_of(table, token_id).tolist()
    others = [i for i in range(len(gaps)) if i != token_id]
    return sorted(others, key=lambda i: gaps[i])[:count]


def by_cdist(table, token_id, count):
    row = table(torch.tensor([token_id]))
    gaps = torch.cdist(row, table.weight)[0]
    order = gaps.argsort(stable=True)
    return order[order != token_id][:count]  # a tensor


def of_tensors(table, token_id, count):
    return list(torch.tensor(by_inf(table, token_id, count)))


def with_itself(table, token_id, count):
    return gaps_of(table, token_id).argsort()[:count].tolist()


def as_in_the_chapter(table, token_id, count):
    order = gaps_of(table, token_id).argsort(stable=True)
    return order[1 : count + 1].tolist()


def farthest(table, token_id, count):
    return gaps_of(table, token_id).argsort(descending=True)[:count].tolist()


def by_dot(table, token_id, count):
    rows = table.weight.detach()
    score = rows @ rows[token_id]
    score[token_id] = -float("inf")
    return score.argsort(descending=True)[:count].tolist()


def by_cosine(table, token_id, count):
    rows = F.normalize(table.weight.detach(), dim=1)
    score = rows @ rows[token_id]
    score[token_id] = -float("inf")
    return score.argsort(descending=True)[:count].tolist()


def by_absolute(table, token_id, count):
    rows = table.weight.detach()
    gaps = (rows - rows[token_id]).abs().sum(dim=1)
    gaps[token_id] = float("inf")
    return gaps.argsort()[:count].tolist()


def reversed_list(table, token_id, count):
    return by_inf(table, token_id, count)[::-1]


def three_always(table, token_id, count):
    return by_inf(table, token_id, 3)


def all_of_them(table, token_id, count):
    return by_inf(table, token_id, len(table.weight) - 1)


def distances(table, token_id, count):
    return gaps_of(table, token_id).sort().values[1 : count + 1].tolist()


def without_equals(table, token_id, count):
    gaps = gaps_of(table, token_id)
    gaps[gaps == 0] = float("inf")
    return gaps.argsort()[:count].tolist()


def spoils_the_table(table, token_id, count):
    rows = table.weight.detach()
    row = rows[token_id].clone()
    rows[token_id] = float("inf")
    return (rows - row).norm(dim=1).argsort()[:count].tolist()


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


def scaled(table, std):
    with torch.no_grad():
        table.weight.mul_(std)


def without_no_grad(table, std):
    table.weight.normal_(std=std)


def without_row_0(ids, upstream, vocab_size):
    gradient = by_index_add(ids, upstream, vocab_size)
    gradient[0] = 0
    return gradient


def keeps_the_padding_row(table, std):
    with torch.no_grad():
        old = table.weight.clone()
        table.weight.normal_(std=std)
        if table.padding_idx is not None:
            table.weight[table.padding_idx] = old[table.padding_idx]


def reset_and_scaled(table, std):
    table.reset_parameters()
    with torch.no_grad():
        table.weight.mul_(std)


WRONG = {
    "2.1": [
        (by_fancy_index, "only one of them counts"),
        (as_mean, "The chain rule adds"),
        (as_counts, "counts the positions"),
        (up_to_the_largest_id, "Row 5 is missing"),
        (first_sequence, "Only the first sequence"),
        (turned, "Rows and columns are exchanged"),
        (sparse, "sparse tensor"),
        (in_float32, "must be float64"),
        (without_row_0, "Row 0 should be"),
        (without_reshape, "raised"),
        (looked_up, "should be (6, 2)"),
        (shifted, "their rows must be zero"),
        (lambda ids, upstream, vocab_size: None, "Return a tensor"),
    ],
    "2.2": [
        ({"c", "d", "f"}, "(a) Row 3 was used"),
        ({"a", "b", "c", "d", "f"}, "(b) The batch does not"),
        ({"a", "d", "f"}, "(c) A tied head"),
        ({"a", "c", "f"}, "(d) Weight decay"),
        ({"a", "c", "d", "e", "f"}, "(e) The lookup sends"),
        ({"a", "c", "d"}, "(f) `padding_idx`"),
        ({"a", "g"}, "on offer"),
        ("acdf", "Give a set of letters"),
    ],
    "2.3": [
        (with_itself, "Id 3 itself"),
        (as_in_the_chapter, "leave out the id, not the first"),
        (farthest, "sort the other way"),
        (by_dot, "favours long rows"),
        (by_cosine, "goes by angle"),
        (by_absolute, "absolute differences"),
        (reversed_list, "the nearest comes first"),
        (all_of_them, "With count=3"),
        (three_always, "count=1"),
        (distances, "not rows and not distances"),
        (without_equals, "at distance 0"),
        (spoils_the_table, "changed the table"),
        (lambda table, token_id, count: None, "Return a list"),
    ],
    "2.4": [
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
        (scaled, "Draw new ones"),
        (without_no_grad, "torch.no_grad"),
        (keeps_the_padding_row, "was not zero"),
        (reset_and_scaled, "a spread of its own"),
    ],
}

RIGHT = {
    "2.1": [by_index_add, by_index_put, by_one_hot, by_autograd],
    "2.2": [
        {"a", "c", "d", "f"},
        frozenset("fdca"),
        {"(A)", "(C)", "(D)", "(F)"},
    ],
    "2.3": [by_inf, by_sorted, by_cdist, of_tensors],
    "2.4": [redraw_data, redraw_init, redraw_copy],
}
