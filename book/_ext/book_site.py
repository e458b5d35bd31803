"""What the site adds to portable notebooks, at build time.

Claims and exercises get an address, keywords lead to their chapter,
words to their meaning. Figures become part of the page, so that
the theme's colours reach them. Saved widgets are shown still until the reader
comes near.
"""

import json
import re
import sys
from pathlib import Path
from urllib.parse import urlparse

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from chapter import STATE, VIEW, Chapter, anchor

LEAD_IN = re.compile(r"^(Claim|Exercise) (\d+\.\d+)\.$")


class LeadIns(SphinxPostTransform):
    """`**Claim 1.2.**` at the start of a paragraph gets an id and a class."""

    default_priority = 200

    def run(self, **kwargs):
        for strong in self.document.findall(nodes.strong):
            match = LEAD_IN.match(strong.astext())
            paragraph = strong.parent
            if match and paragraph.astext().startswith(strong.astext()):
                paragraph["ids"].append(anchor(*match.groups()))
                paragraph["classes"].append(match[1].lower())


def chapter_of(env, docname=None):
    """The chapter of a page, by default the one that is made, or None."""
    path = Path(env.doc2path(docname or env.docname))
    return Chapter(path) if path.suffix == ".ipynb" else None


class Keywords(SphinxTransform):
    """A notebook's keywords lead to it from the search and the index."""

    default_priority = 500

    def apply(self, **kwargs):
        chapter = chapter_of(self.env)
        if chapter:
            start = self.document.next_node(nodes.section)["ids"][0]
            entries = [
                ("single", word, start, "main", None) for word in chapter.keywords
            ]
            self.document.insert(0, addnodes.index(entries=entries))


class Meanings(SphinxTransform):
    """In a chapter, the first use of a glossary term leads to its meaning,
    and the title of a source to the bibliography."""

    default_priority = 510
    FIXED = (
        nodes.literal,
        nodes.literal_block,
        nodes.reference,
        nodes.title,
        nodes.math,
        nodes.math_block,
        nodes.strong,
        nodes.raw,
        addnodes.pending_xref,
    )

    def apply(self, **kwargs):
        chapter = chapter_of(self.env)
        if not chapter:
            return
        book = Path(self.env.srcdir) / "book"
        text = (book / "glossary.md").read_text(encoding="utf-8")
        terms = re.findall(r"^(\w[^\n]*)\n  \w", text, re.M)
        sources = (book / "references.bib").read_text(encoding="utf-8")
        titles = {
            re.sub("[{}]", "", t) for t in re.findall(r"title = \{(.*)\},", sources)
        }
        for title in list(self.document.findall(nodes.emphasis)):
            if title.astext() in titles:
                title.replace_self(
                    self.link("doc", "/book/bibliography", title.deepcopy())
                )
        left = {term.lower(): term for term in terms if term not in chapter.no_glossary}
        # The longest first: "token id" is not "token".
        longest = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
        pattern = re.compile(rf"\b({longest})s?\b", re.I)
        for text in list(self.document.findall(nodes.Text)):
            if not self.fixed(text):
                self.first(text, pattern, left)

    def first(self, text, pattern, left):
        parts, done = [], 0
        for found in pattern.finditer(text):
            term = left.pop(found[1].lower(), None)
            if term:
                shown = nodes.inline("", found[0], classes=["term"])
                parts += [
                    nodes.Text(text[done : found.start()]),
                    self.link("term", term, shown),
                ]
                done = found.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[done:])])

    def fixed(self, node):
        while node is not None:
            if isinstance(node, self.FIXED) or (
                isinstance(node, nodes.paragraph)
                and node.astext().startswith("Sources.")
            ):
                return True
            node = node.parent
        return False

    def link(self, kind, target, shown):
        return addnodes.pending_xref(
            "",
            shown,
            refdomain="std",
            reftype=kind,
            reftarget=target,
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )


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


def file_name(asset):
    return Path(str(getattr(asset, "filename", asset) or "")).name


def trim(app, pagename, templatename, context, doctree):
    """Leave out scripts no page uses; widget state goes behind the text."""
    keep, tail, state = [], "", {}
    # Cards, tabs and grids of sphinx-design, on pages without any.
    design = {"design-tabs.js", "sphinx-design.min.css"}
    unused = set() if 'class="sd-' in context.get("body", "") else design
    for script in context.get("script_files", []):
        name = file_name(script)
        attributes = getattr(script, "attributes", {}) or {}
        body = attributes.get("body") or ""
        if "thebe" in name or "thebe_selector" in body or name in unused:
            continue
        if attributes.get("type") == STATE:
            state = json.loads(body)["state"]
            tail = f'<script type="{STATE}">{body}</script>'
        else:
            keep.append(script)
    context["script_files"] = keep
    context["css_files"] = [
        file
        for file in context.get("css_files", [])
        if "thebe" not in (name := file_name(file)) and name not in unused
    ]
    if tail:
        views = rf'(<script type="{re.escape(VIEW)}">)(.*?)(</script>)'
        context["body"] = (
            re.sub(views, lambda m: still(m, state), context["body"], flags=re.S) + tail
        )
    # The name of a fold is what stands there, for those who hear it too.
    named = ' aria-label="Toggle hidden content"'
    context["body"] = context.get("body", "").replace(named, "")


def addresses(app, config):
    """Every absolute address follows from html.baseurl."""
    config.ogp_site_url = config.html_baseurl
    config.notfound_urls_prefix = root = urlparse(config.html_baseurl).path
    config.notfound_context = {
        "title": "Page not found",
        "pagetitle": "Page not found",
        "body": "<h1>Page not found</h1><p>Nothing is at this address. "
        f'<a href="{root}book/index.html">The first page</a> lists every '
        f'chapter, and <a href="{root}search.html">the search</a> looks into '
        "all of them.</p>",
    }


def setup(app):
    app.add_transform(Keywords)
    app.add_transform(Meanings)
    app.add_post_transform(LeadIns)
    app.add_post_transform(Figures)
    app.connect("config-inited", addresses)
    app.connect("html-page-context", trim, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
