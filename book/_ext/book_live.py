"""The directive `live`: a sentence that goes through the layer on the page.

It holds a still example with the numbers of the same tables, for print, for the
ePub and where there is no JavaScript. In a notebook `<!-- live: parts -->`
stands for it, which other readers of notebooks do not show.
"""

import functools
import html
import re

import torch
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book_helpers import gpt2_tokenizer
from book_helpers.whisper import load_whisper_tables

SENTENCE = "The dog bites the man."
SCRIPTS = ("tokens", "rows", "layer", "page")
MARK = re.compile(r"<!-- live: ([a-z ]+) -->")


@functools.cache
def still():
    """The example's tokens, ids and column 0 of token row, position row and sum."""
    tables, tokenizer = load_whisper_tables(), gpt2_tokenizer()
    ids = torch.tensor(tokenizer.encode(SENTENCE))  # (6,)
    at = torch.searchsorted(tables.token_ids, ids)  # (6,)
    assert torch.equal(tables.token_ids[at], ids)
    rows, positions = tables.token_rows[at], tables.positions[: len(ids)]  # (6, 384)
    columns = torch.stack([rows, positions, rows + positions])[:, :, 0]  # (3, 6)
    lines = []
    for p, token_id in enumerate(ids.tolist()):
        name = html.escape(tokenizer.decode([token_id]).replace(" ", "␣"))
        numbers = (f"{v:.4f}".replace("-", "−") for v in columns[:, p].tolist())
        cells = "".join(f"<td>{n}</td>" for n in (token_id, *numbers))
        lines.append(f'<tr><th scope="row"><code>{name}</code></th>{cells}</tr>')
    heads = ("token", "id", "token row", "position row", "sum")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<p>{SENTENCE} Its six ids, and the first of the 384 numbers that each "
        "token's row, its position's row and their sum hold:</p>"
        '<div class="pst-scrollable-table-container"><table class="table">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


class Live(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        whole = ' id="live"' if self.env.docname.endswith("/live") else ""
        text = (
            f'<div class="live" data-parts="{self.arguments[0]}"{whole} '
            f'data-sentence="{SENTENCE}">{still()}</div>'
        )
        return [nodes.raw("", text, format="html")]


def unmark(app, docname, source):
    """In a notebook's JSON; nothing else has the mark."""
    source[0] = MARK.sub(r"```{live} \1\\n```", source[0])


def add_scripts(app, page, template, context, doctree):
    """The scripts, on pages that need them."""
    raws = doctree.findall(nodes.raw) if doctree else ()
    if any('class="live"' in raw.astext() for raw in raws):
        app.add_css_file("live/live.css")
        for name in SCRIPTS:
            app.add_js_file(f"live/{name}.js", defer="defer")


def setup(app):
    app.add_directive("live", Live)
    app.connect("source-read", unmark)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
