"""The whole book as one ePub: figures in plain colours, formulas as MathML.

An e-book reader knows no variable, no script, and no theme of a website.
"""

import posixpath
import re
from pathlib import Path

from book_site import file_name
from sphinx.builders.epub3 import Epub3Builder

# What dresses the pages of a site.
DRESSERS = (
    "sphinx_book_theme",
    "pydata_sphinx_theme",
    "jupyter_book",
    "sphinx_thebe",
    "sphinx_copybutton",
    "sphinx_togglebutton",
    "sphinx_design",
    "sphinxext",
    "sphinx_sitemap",
    "notfound",
)
STYLES = ("pygments.css", "epub.css", "ebook.css")
PLAINER = [
    (re.compile(r"var\(--fig-\w+, (#[0-9a-f]{6})\)"), r"\1"),
    (re.compile(r"<script.*?</script>|<label class=\"pause\">.*?</label>", re.S), ""),
    # A folded cell's two titles, one of which the site's style hides.
    (
        re.compile(r"<summary[^>]*>\s*<p [^>]*>(.*?)</p>.*?</summary>", re.S),
        r"<summary>\1</summary>",
    ),
    (re.compile(r'<a [^>]*href="\.\./embedding-layer\.epub"[^>]*>(.*?)</a>'), r"\1"),
    (re.compile(r'(href="\.\./notebooks/\w+)\.html'), r"\1.xhtml"),
]


class Ebook(Epub3Builder):
    """Sphinx's own, with the faults mended that epubcheck found."""

    def get_toc(self):
        super().get_toc()
        for node in self.refnodes:
            node["refuri"] = posixpath.normpath(node["refuri"])

    def build_content(self):
        """Pages with drawings or formulas must say so in the list of files."""
        super().build_content()
        listed = Path(self.outdir, "content.opf")

        def declare(item):
            page = Path(self.outdir, item[2]).read_text(encoding="utf-8")
            held = [name for name in ("svg", "mathml") if f"<{name[:4]}" in page]
            return item[1] + (f' properties="{" ".join(held)}"' if held else "") + "/>"

        text = listed.read_text(encoding="utf-8")
        text = re.sub(
            r'(<item [^>]*href="([^"]+\.xhtml)"[^>]*xml")\s*/>', declare, text
        )
        listed.write_text(text, encoding="utf-8")


def undress(app):
    for event in ("html-page-context", "build-finished"):
        for listener in list(app.events.listeners.get(event, [])):
            if listener.handler.__module__.startswith(DRESSERS):
                app.disconnect(listener.id)


def plain(app, pagename, templatename, context, doctree):
    context["css_files"] = [
        file for file in context.get("css_files", []) if file_name(file) in STYLES
    ]
    context["script_files"] = []
    for fancy, bare in PLAINER:
        context["body"] = fancy.sub(bare, context.get("body", ""))


def setup(app):
    # A pair, which YAML has not.
    app.config.epub_cover = ("_static/cover.png", "epub-cover.html")
    app.add_builder(Ebook, override=True)
    app.connect("builder-inited", undress)
    app.connect("html-page-context", plain, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
