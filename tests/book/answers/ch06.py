"""Chapter 6: answers people give, and a piece of what each is told."""

import copy
import inspect

import torch
from torch import nn

from embedding_layer.contract import check_contract
from embedding_layer.layer import TransformerEmbeddings
from embedding_layer.position_embedding import positions_from_mask


def positions(mask):
    return mask.sum(1, keepdim=True) - 1


def at(where):
    """A cached step that takes its positions from `where(ids, mask)`."""

    def newest(emb, ids, mask):
        return emb(ids[:, -1:], position_ids=where(ids, mask))

    return newest


def one_by_one(emb, ids, mask):
    rows = zip(ids.split(1), mask.split(1), strict=True)
    steps = [emb(i[:, -1:], position_ids=positions(m)) for i, m in rows]
    return torch.cat(steps)


def grown(emb, vocab_size, *, fill="rows", end=False, keep=True, rate=True, mode=True):
    old = emb.token_embeddings.weight
    max_seq_len = emb.position_embeddings.weight.shape[0]
    p = emb.dropout.p if rate else 0.1
    new = TransformerEmbeddings(vocab_size, emb.d_model, max_seq_len, p)
    with torch.no_grad():
        rows = new.token_embeddings.weight
        if fill == "rows":
            rows.copy_(old.mean(dim=0))
        elif fill != "random":
            rows.fill_(old.mean() if fill == "number" else 0)
        rows[-len(old) if end else 0 :][: len(old)] = old
        if keep:
            state = emb.position_embeddings.state_dict()
            new.position_embeddings.load_state_dict(state)
    return new.train(emb.training) if mode else new


def like_it(emb, vocab_size, **options):
    """A new layer with the old one's sizes, options and state."""
    tokens = emb.token_embeddings
    options = {
        "padding_idx": tokens.padding_idx,
        "dtype": tokens.weight.dtype,
        "sparse": tokens.sparse,
        **options,
    }
    limit = len(emb.position_embeddings.weight)
    new = TransformerEmbeddings(
        vocab_size, emb.d_model, limit, emb.dropout.p, **options
    )
    rows = {"token_embeddings.weight": longer(emb, vocab_size)}
    new.load_state_dict({**emb.state_dict(), **rows})
    return new.train(emb.training)


def with_number(emb, vocab_size):
    new = swapped(emb, vocab_size)
    new.token_embeddings.num_embeddings = vocab_size
    return new


def shared(emb, vocab_size):
    new = grown(emb, vocab_size)
    new.position_embeddings = emb.position_embeddings
    return new


def longer(emb, vocab_size):
    old = emb.token_embeddings.weight.detach()
    new_rows = old.mean(dim=0).expand(vocab_size - len(old), -1)
    return torch.cat((old, new_rows))


def swapped(emb, vocab_size):
    new = copy.deepcopy(emb)
    new.token_embeddings.weight = nn.Parameter(longer(emb, vocab_size))
    return new


def frozen(emb, vocab_size):
    new = copy.deepcopy(emb)
    new.token_embeddings = nn.Embedding.from_pretrained(longer(emb, vocab_size))
    return new


def in_the_old_one(emb, vocab_size):
    emb.token_embeddings = nn.Embedding.from_pretrained(longer(emb, vocab_size))
    return copy.deepcopy(emb)


def on_a_leaf(emb, vocab_size):
    new = TransformerEmbeddings(vocab_size, 4, 6)
    new.token_embeddings.weight[:10] = emb.token_embeddings.weight
    return new


def loaded(emb, vocab_size):
    new = TransformerEmbeddings(vocab_size, 4, 6)
    new.load_state_dict(emb.state_dict())
    return new


def from_one_state(emb, vocab_size):
    new = TransformerEmbeddings(vocab_size, emb.d_model, 6, emb.dropout.p)
    rows = {"token_embeddings.weight": longer(emb, vocab_size)}
    new.load_state_dict({**emb.state_dict(), **rows})
    return new.train(emb.training)


def only_shape(layer):
    assert layer(50, 8, 16, 0.1)(torch.zeros(2, 3).long()).shape == (2, 3, 8)


def values(layer, eval_mode=True):
    emb, ids = layer(50, 8, 16, 0.5), torch.randint(50, (2, 5))
    want = emb.token_embeddings(ids) + emb.position_embeddings.weight[:5]
    assert torch.equal(emb.train(not eval_mode)(ids), want)


def as_a_bool(layer):
    return layer(50, 8, 16, 0.1)(torch.zeros(2, 3).long()).shape == (2, 3, 8)


def this_class(layer):
    assert layer is TransformerEmbeddings, "another class"


def its_source(layer):
    assert "narrow" in inspect.getsource(layer.forward), "no narrow"


def wants_luck(layer):
    emb = layer(50, 8, 16, 0.5)
    share = (emb(torch.zeros(1, 16).long()) == 0).float().mean()
    assert share > 0.5, "luck"


def never(layer):
    layer.nothing()


def contract(layer):
    assert not check_contract(layer, compile=False).broken


def thorough(layer):
    emb = layer(50, 64, 16, 0.5)
    W, P = emb.token_embeddings.weight, emb.position_embeddings.weight
    assert W.std() < 0.1 and P.std() < 0.1
    ids = torch.randint(50, (4, 16))
    out = emb(ids)
    kept = out != 0
    assert (out[kept] - 2 * (W[ids] + P)[kept]).abs().max() < 1e-5
    out.sum().backward()
    assert P.grad is not None
    emb.eval()
    for where in (torch.arange(16).flip(0).unsqueeze(0), ids % 16):
        got = emb(ids, position_ids=where)
        assert torch.equal(got, W[ids] + P[where])
    assert torch.equal(emb(ids), W[ids] + P)
    for bad in (ids.float(), -1 - ids, torch.zeros(1, 17).long()):
        try:
            emb(bad)
            accepted = True
        except Exception:
            accepted = False
        assert not accepted


WRONG = {
    "6.1": [
        ("abdg", "Give a set"),
        ({"a", "x"}, "['x']"),
        ({"a", "b", "c", "d", "g"}, "(c) deepcopy sees"),
        ({"a", "b", "d", "e", "g"}, "(e) assign=True"),
        ({"a", "b", "d", "f", "g"}, "(f) The layer gets another table"),
        ({"b", "d", "g"}, "(a) half()"),
        ({"a", "d", "g"}, "(b) deepcopy of the whole pair"),
        ({"a", "b", "g"}, "(d) Loading copies"),
        ({"a", "b", "d"}, "(g) The rows are drawn anew"),
    ],
    "6.2": [
        (lambda emb, ids, mask: emb(ids[:, -1:]), "got position 0"),
        (at(lambda ids, mask: torch.tensor([[4]])), "got position 4, its column"),
        (at(lambda ids, mask: mask.sum(1, keepdim=True)), "One too many"),
        (at(lambda ids, mask: mask.sum(1) - 1), "(3, 1) or (1, 1), got (3,)"),
        (at(lambda ids, mask: positions_from_mask(mask)), "got (3, 5)"),
        (at(lambda ids, mask: positions(mask).float()), "got torch.float32"),
        (at(lambda ids, mask: (mask == 0).sum(1, keepdim=True)), "the padding"),
        (at(lambda ids, mask: positions(mask) - 5), "is counted from 0"),
        (
            lambda emb, ids, mask: emb(ids, position_ids=positions_from_mask(mask))[
                :, -1:
            ],
            "more than the last column",
        ),
        (
            lambda emb, ids, mask: emb(ids[:, :1], position_ids=positions(mask)),
            "the first tokens",
        ),
        (
            lambda emb, ids, mask: at(lambda i, m: positions(m))(emb, ids, mask)[:, 0],
            "keep the column axis",
        ),
        (
            lambda emb, ids, mask: (
                emb.token_embeddings(ids[:, -1:])
                + emb.position_embeddings(positions(mask))
            ),
            "never called",
        ),
        (lambda emb, ids, mask: None, "not NoneType"),
    ],
    "6.3": [
        (lambda emb, v: emb, "the old layer itself"),
        (lambda emb, v: longer(emb, v), "not Tensor"),
        (lambda emb, v: grown(emb, v - 1), "(12, 4)"),
        (lambda emb, v: grown(emb, v, keep=False), "position rows are fresh"),
        (lambda emb, v: grown(emb, v, fill="zero"), "new rows are zero"),
        (lambda emb, v: grown(emb, v, fill="number"), "That is one number"),
        (lambda emb, v: grown(emb, v, fill="random"), "not the mean of the 10"),
        (lambda emb, v: grown(emb, v, end=True), "stand at the end"),
        (lambda emb, v: grown(emb, v, rate=False), "is now 0.1"),
        (lambda emb, v: grown(emb, v, mode=False), "the new one is in training"),
        (lambda emb, v: grown(emb, v).eval(), "the new one is in eval"),
        (shared, "share a table"),
        (swapped, "still says 10"),
        (frozen, "requires_grad is False"),
        (in_the_old_one, "The old layer has changed"),
        (on_a_leaf, "torch.no_grad()"),
        (loaded, "filled row by row"),
        (from_one_state, "For a layer of torch.float64"),
        (lambda emb, v: like_it(emb, v, padding_idx=None), "had padding_idx=2"),
        (lambda emb, v: like_it(emb, v, sparse=False), "had sparse=True"),
    ],
    "6.4": [
        (only_shape, "0 of 13 wrong layers were caught"),
        (values, "3 of 13 wrong layers were caught"),
        (lambda layer: values(layer, False), "Did you call eval()"),
        (as_a_bool, "returned True"),
        (this_class, "another class"),
        (its_source, "no narrow"),
        (wants_luck, "luck"),
        (never, "AttributeError"),
    ],
}
RIGHT = {
    "6.1": [{"a", "b", "d", "g"}, {"(A)", "b", "D", "g"}],
    "6.2": [
        at(lambda ids, mask: positions(mask)),
        at(lambda ids, mask: positions_from_mask(mask)[:, -1:]),
        one_by_one,
    ],
    "6.3": [like_it, with_number],
    "6.4": [thorough, contract],
}
