"""What a reader must not wait for, taken out of the finished site.

The icon fonts are cut to the icons in use, source maps and a second form of
each font go, and the scripts of the search field no longer hold up the page.
"""

import logging
import re
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

# The buttons of ipywidgets' Play; its manager draws them by name.
PLAY = {"fa-play", "fa-pause", "fa-stop", "fa-retweet"}
RULE = re.compile(r'([^{}]*)\{[^{}]*content:"\\(e[0-9a-f]{3}|f[0-9a-f]{3})"')
NAME = re.compile(r"\bfa-[a-z0-9-]+")
SEARCH = re.compile(
    r'<script (src="[^"]*(?:searchtools|language_data|searchindex)\.js)'
)


def icons(site):
    """Code points of the icons that pages, styles and scripts name."""
    named = set(PLAY)
    for file in [*site.rglob("*.html"), *site.glob("_static/**/*.js")]:
        if "vendor" not in file.parts:
            named.update(NAME.findall(file.read_text(encoding="utf-8")))
    found = set()
    for file in site.glob("_static/**/*.css"):
        for selector, code in RULE.findall(file.read_text(encoding="utf-8")):
            # `.fa-bars:before` draws an icon by name; any other rule always.
            names = set(NAME.findall(selector))
            if not names or names & named:
                found.add(int(code, 16))
    return found


def cut(file, wanted):
    font = TTFont(file, recalcTimestamp=False)
    subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(file)


def lighten(app, exception):
    if exception or app.builder.format != "html" or app.builder.name == "epub":
        return
    site = Path(app.outdir)
    wanted = icons(site)
    for folder in ("fontawesome/webfonts", "widgets"):
        for file in (site / "_static/vendor" / folder).glob("*.woff2"):
            cut(file, wanted)
    for file in [*site.glob("_static/**/*.map"), *site.glob("_static/**/*.ttf")]:
        file.unlink()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(SEARCH.sub(r"<script defer \1", text), encoding="utf-8")


def setup(app):
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    app.connect("build-finished", lighten, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
