"""Draw the landing page's moving picture from a real layer: book/picture.html.

    python tools/picture.py

CSS moves it: no script, a box to pause it, and still for readers who ask
their system for less motion.
"""

import torch
from chapter import ROOT, write

from book_helpers.figures import COLOURS
from book_helpers.tokenizer import gpt2_tokenizer
from embedding_layer import TransformerEmbeddings

TARGET = ROOT / "book/picture.html"
TEXT, D_MODEL, SEED = "dog bites man", 6, 0
BLUE, ORANGE, MUTED = (
    f"var(--fig-{name}, {COLOURS[name]})" for name in ("blue", "orange", "muted")
)
CELL, STEP, TOP = 12, 58, 62
TABLE, PICKED, PLACED, SUM, OUT = 128, 236, 332, 428, 524  # left edges
ALT = (
    "Three words become ids, each id picks a row of the token table, each "
    "position a row of the position table, the two rows are added, and in "
    "training dropout leaves a value out."
)
COLOURING = "Blue is above zero, orange below; the deeper, the farther. ␣ is a space."
STEPS = (
    "The tokenizer gives each piece of text an id.",
    "The id picks a row of the token table.",
    "The position, counted from 0, picks a row of the position table.",
    "The two rows are added.",
    "In training, dropout zeroes each value with chance 0.1 and divides the rest "
    "by 0.9.",
)


def vectors():
    """Pieces of text, ids, and what the layer makes of them, for real."""
    tokenizer = gpt2_tokenizer()
    ids = tokenizer.encode(TEXT)
    torch.manual_seed(SEED)
    layer = TransformerEmbeddings(50257, D_MODEL, 16, dropout=0.1)
    with torch.no_grad():
        dropped = layer(torch.tensor([ids]))[0]  # (seq_len, d_model)
        layer.eval()
        total = layer(torch.tensor([ids]))[0]  # (seq_len, d_model)
    words = [tokenizer.decode([i]).replace(" ", "␣") for i in ids]
    table = layer.token_embeddings.weight.detach()  # (vocab_size, d_model)
    positions = layer.position_embeddings.weight.detach()  # (max_seq_len, d_model)
    return words, ids, table, positions, total, dropped


def row(values, x, y, name="", style=""):
    cells = "".join(
        f'<rect x="{x + i * CELL}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
        + (
            f'fill="{BLUE if v > 0 else ORANGE}" '
            f'fill-opacity="{min(abs(v) / 0.05, 1) * 0.85 + 0.15:.2f}"/>'
            if v
            else f'fill="none" stroke="{MUTED}"/>'
        )
        for i, v in enumerate(values.tolist())
    )
    return f'<g class="{name}" style="{style}">{cells}</g>'


def label(text, x, y, name="", anchor="middle"):
    return f'<text class="{name}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def draw():
    words, ids, table, positions, total, dropped = vectors()
    assert (dropped == 0).any() and (dropped == 0).sum() <= 3
    middle = D_MODEL * CELL / 2
    shown = sorted([0, *ids, 50256])
    height = TOP + 3 * STEP
    at = {i: TOP - 6 + n * (height - TOP) / len(shown) for n, i in enumerate(shown)}
    heads = {
        TABLE: "token table",
        PICKED: "token rows s2",
        PLACED: "position table s3",
        SUM: "their sum s4",
        OUT: "after dropout s5",
    }
    parts = []
    for x, (one, two, *name) in ((x, text.split()) for x, text in heads.items()):
        parts += [label(one, x + middle, 18, *name), label(two, x + middle, 36, *name)]
    for i in shown:
        parts += [
            label(i, TABLE - 8, at[i] + 11, "soft", "end"),
            row(table[i], TABLE, at[i]),
        ]
        parts.append(
            label("⋮", TABLE + middle, at[i] + 30, "soft") if i != 50256 else ""
        )
    for position, (word, token) in enumerate(zip(words, ids, strict=True)):
        y = TOP + 8 + position * STEP
        move = f"--dx:{TABLE - PICKED}px;--dy:{at[token] - y:.0f}px"
        parts += [
            label(word, 0, y + 4, "", "start"),
            label(token, 0, y + 24, "s1 soft", "start"),
            row(table[token], PICKED, y, "s2 glide", move),
            label("+", PLACED - 12, y + 11, "s3"),
            label(position, PLACED + middle, y + 30, "s3 soft"),
            row(positions[position], PLACED, y, "s3"),
            label("=", SUM - 12, y + 11, "s4"),
            row(total[position], SUM, y, "s4"),
            label("→", OUT - 12, y + 11, "s5"),
            row(dropped[position], OUT, y, "s5"),
        ]
    steps = "".join(f'<li class="step{n}">{s}</li>' for n, s in enumerate(STEPS, 1))
    return (
        '<div class="moving">\n'
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 598 {height}" role="img" aria-label="{ALT}">\n'
        + "\n".join(filter(None, parts))
        + '\n</svg>\n<label class="pause"><input type="checkbox"> Pause</label>\n'
        + f"<p>{COLOURING}</p><ol>{steps}</ol>\n</div>\n"
    )


if __name__ == "__main__":
    write(TARGET, draw())
