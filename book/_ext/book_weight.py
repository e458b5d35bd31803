"""What a reader must not wait for or stumble over, out of the finished site.

The icon fonts are cut to the icons in use, source maps, a second form of each
font and the theme's other languages go, a preview card gets by with 32 colours,
only the search page loads the search, and a notebook to be downloaded leaves its
slider's pictures to the run that draws them.
"""

import json
import logging
import re
import shutil
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from PIL import Image

# The buttons of ipywidgets' Play; its manager draws them by name.
PLAY = {"fa-play", "fa-pause", "fa-stop", "fa-retweet"}
RULE = re.compile(r'([^{}]*)\{[^{}]*content:"\\([ef][0-9a-f]{3})"[^{}]*\}')
NAME = re.compile(r"\bfa-[a-z0-9-]+")
MENDED = [
    (
        # Only search.html looks into the index, and it is no part of the book.
        re.compile(
            r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*">'
            r"</script>\s*"
        ),
        "",
    ),
    # docutils gives a bibliography roles that screen readers no longer know.
    (re.compile(r' role="doc-biblioentry"|(<div) role="list"'), r"\1"),
    # The title stands in the article; here, for paper alone, a second time.
    (re.compile(r'(<div id="jb-print-docs-body"[^>]*>\s*)<h1>.*?</h1>', re.S), r"\1"),
    # The logo leads home, and stood in no landmark.
    (
        re.compile(r'(<div class="sidebar-primary-item")(>\s*<a class="navbar-brand)'),
        r'\1 role="navigation" aria-label="Home"\2',
    ),
]


def serves(selector, named):
    """`.fa-bars:before` draws an icon by name; any other selector always."""
    names = set(NAME.findall(selector))
    return not names or bool(names & named)


def icons(site):
    """Names and code points of the icons that pages, styles, scripts use."""
    named = set(PLAY)
    for file in [*site.rglob("*.html"), *site.glob("_static/**/*.js")]:
        if not {"vendor", "table"} & set(file.parts):
            named.update(NAME.findall(file.read_text(encoding="utf-8")))
    found = set()
    for file in site.glob("_static/**/*.css"):
        for selector, code in RULE.findall(file.read_text(encoding="utf-8")):
            if serves(selector, named):
                found.add(int(code, 16))
    return named, found


def cut(file, wanted):
    font = TTFont(file, recalcTimestamp=False)
    subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(file)


def lighten(app, exception):
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    named, wanted = icons(site)
    for folder in ("fontawesome/webfonts", "widgets"):
        for file in (site / "_static/vendor" / folder).glob("*.woff2"):
            cut(file, wanted)
    for file in [*site.glob("_static/**/*.map"), *site.glob("_static/**/*.ttf")]:
        file.unlink()
    shutil.rmtree(site / "_static/locales", ignore_errors=True)
    for card in site.glob("_images/social_previews/*.png"):
        picture = Image.open(card).convert("RGB")
        picture.quantize(32, Image.Quantize.FASTOCTREE).save(card, optimize=True)
    for style in site.glob("_static/styles/*.css"):
        text = style.read_text(encoding="utf-8")
        style.write_text(
            RULE.sub(lambda r: r[0] if serves(r[1], named) else "", text),
            encoding="utf-8",
        )
    for file in site.glob("_sources/notebooks/*.ipynb"):
        notebook = json.loads(file.read_text(encoding="utf-8"))
        notebook["metadata"].pop("widgets", None)
        text = json.dumps(notebook, ensure_ascii=False, indent=1)
        file.write_text(text + "\n", encoding="utf-8")
    for page in site.rglob("*.html"):
        if page.name == "search.html":
            continue
        text = page.read_text(encoding="utf-8")
        for fault, cure in MENDED:
            text = fault.sub(cure, text)
        page.write_text(text, encoding="utf-8")


def setup(app):
    for talker in ("fontTools", "matplotlib.font_manager"):
        logging.getLogger(talker).setLevel(logging.ERROR)
    app.connect("build-finished", lighten, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
