"""The two lanes of a chapter, out of plain notebooks.

`## Deeper: …` is folded, a **Predict.** covers what answers it, code that
serves stands folded below what it draws, and the chapter's head says how long
it takes to read. The page is whole without its scripts: they cover what
`answer` marks, and the e-book has neither folds nor covers.
"""

import json
import re

from book_site import chapter_of
from chapter import (
    DEEPER,
    FOLDED,
    HIDE_CELL,
    INSTALL,
    ROOT,
    SOLUTION,
    SVG,
    VIEW,
    file_of,
    has,
    tags,
)
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.transforms.post_transforms import SphinxPostTransform

# myst-nb counts lines anew in each cell, from this times its number.
LINES_OF_A_CELL = 10_000


def is_code(node):
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


class Folds(SphinxPostTransform):
    """A folded cell says what it holds, and what it printed comes first."""

    default_priority = 201  # after myst-nb has folded
    formats = ("html",)

    def run(self, **kwargs):
        chapter = chapter_of(self.env)
        for node in filter(is_code, self.document.findall(nodes.container)):
            for fold in [n for n in node.children if isinstance(n, HideCodeCellNode)]:
                what = held(chapter.cells[node["cell_index"]])
                if what:
                    fold["prompt_show"] = f"Show {what}"
                    fold["prompt_hide"] = f"Hide {what}"
                node.remove(fold)
                node.append(fold)


def held(cell):
    """What a folded cell holds, or None if the notebook says it."""
    if SOLUTION in tags(cell):
        return None
    if INSTALL in tags(cell):
        return "the set-up for Colab"
    if file_of(cell):
        lines = cell.source.strip().count("\n") + 1
        return f"the file {file_of(cell)}, {lines} line{'s' * (lines > 1)}"
    if HIDE_CELL in tags(cell):
        if re.match(r"(from|import) ", cell.source):
            return "the imports"
        defined = re.findall(r"^(?:class|def) (\w+)", cell.source, re.M)
        return f"the code of {', '.join(defined)}"
    if has(cell, SVG, VIEW):
        return "the code that draws this"
    return f"the code {'behind' if cell.outputs else 'that prepares'} this"


class OnTheSite(SphinxPostTransform):
    formats = ("html",)

    def run(self, **kwargs):
        chapter = chapter_of(self.env)
        if chapter and self.app.builder.name != "epub":
            self.change(chapter)


class Deeper(OnTheSite):
    """A section for the second time: its heading opens it."""

    default_priority = 206  # after what stands in it

    def change(self, chapter):
        for section in self.document.findall(nodes.section):
            heading, *rest = section.children
            if heading.astext().startswith(FOLDED):
                section.children = []
                section += raw('<details class="deeper"><summary>')
                section += heading
                section += raw("</summary>")
                section += [*rest, raw("</details>")]


class Predictions(OnTheSite):
    """What answers a **Predict.** is marked, for predict.js to cover.

    That is the text up to the next code, the run of code after it, and what the
    next cell says of that: up to a claim, a question or a heading.
    """

    default_priority = 205

    def change(self, chapter):
        asked = {prediction.cell + 1: prediction for prediction in chapter.predictions}
        last = {}
        for node in self.document.findall(nodes.paragraph):
            if is_predict(node) and cell_of(node) in asked:
                last[cell_of(node)] = node
        for number, (cell, question) in enumerate(last.items(), 1):
            around = question.parent
            start = around.index(question)
            end = start + 1 + bool(asked[cell].choices)
            answer = self.answer(around.children[end:])
            if not answer:
                continue
            name = f"predict-{chapter.number}-{number}"
            box = nodes.container("", ids=[name], classes=["predict"])
            box += around.children[start:end]
            cover = nodes.container("", *answer, classes=["answer"])
            around.children[start : end + len(answer)] = []
            around.insert(start, [box, cover])

    def answer(self, following):
        found, code, after = [], False, None
        for node in following:
            if isinstance(node, nodes.section) or is_predict(node):
                break
            if code and not is_code(node):
                after = after or cell_of(node)
                if cell_of(node) != after or "claim" in node["classes"]:
                    break
            elif after:
                break
            code = code or is_code(node)
            found.append(node)
        return found if code else []


def cell_of(node):
    """The number of the cell that a node is from, counted from 1."""
    return node.line // LINES_OF_A_CELL


def is_predict(node):
    return isinstance(node, nodes.paragraph) and node.astext().startswith("Predict. ")


def raw(html):
    return nodes.raw("", html, format="html")


def head(app, pagename, templatename, context, doctree):
    """How long the chapter takes, below its title."""
    if not pagename.startswith("notebooks/") or "body" not in context:
        return
    chapter = chapter_of(app.env, pagename)
    deeper = chapter.minutes(DEEPER)
    said = [f"{chapter.minutes()} minutes to read"]
    if deeper:
        said.append(f"{deeper} more in Deeper")
    record = json.loads((ROOT / "benchmarks/chapters.json").read_text(encoding="utf-8"))
    if chapter.stem in record["seconds"]:
        said.append(f"{record['seconds'][chapter.stem]} seconds to run")
    line = f'</h1>\n<p class="reading">{", ".join(said)}</p>'
    context["body"] = context["body"].replace("</h1>", line, 1)


def setup(app):
    for transform in (Folds, Deeper, Predictions):
        app.add_post_transform(transform)
    app.connect("html-page-context", head, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
