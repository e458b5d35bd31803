"""One style for every figure, legible on a light and on a dark page.

A figure is drawn in the light colours below. `svg` then writes each of them
as a CSS variable with the light colour as fallback, so the site's style sheet
can give the dark ones, and Jupyter, which knows no variable, shows a light
figure on its own white ground.
"""

import base64
import collections
import io
import re
import zlib
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import matplotlib
from IPython.display import display
from matplotlib.figure import Figure
from PIL import Image

# Okabe and Ito's colour-blind safe palette, darkened to 3:1 on white.
COLOURS = {
    "ground": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "grid": "#d1d9e0",
    "blue": "#0072b2",
    "orange": "#c25400",
    "green": "#00805d",
    "purple": "#a0508c",
    "pale": "#b6d4e8",
}
BLUE, ORANGE, GREEN, PURPLE = (
    COLOURS[c] for c in ("blue", "orange", "green", "purple")
)
INK, MUTED, GRID, PALE = (COLOURS[c] for c in ("ink", "muted", "grid", "pale"))

STYLE = {
    "figure.figsize": (5.4, 2.9),
    "figure.facecolor": COLOURS["ground"],
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    # Written at each label. Verdana is as wide, where DejaVu is not to be had.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": matplotlib.cycler(color=[BLUE, ORANGE, GREEN, PURPLE]),
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "lines.linewidth": 2,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "image.cmap": "cividis",
}

WRITTEN = {
    "svg.fonttype": "none",  # real text: small, sharp, found by search
    "svg.hashsalt": "book",  # the same ids in every run
}

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def figure(rows=1, cols=1, *, height=2.9, **kwargs):
    """A figure in the book's style and its axes, as `plt.subplots` gives them.

    Units: height in inches; the width is the text's.
    """
    fig = Figure(figsize=(5.4, height))
    return fig, fig.subplots(rows, cols, **kwargs)


def svg(fig, alt, prefix="f"):
    """The figure as one SVG element with `alt` as its accessible name.

    Ids get `prefix`, so that several figures can share a page.
    """
    buffer = io.BytesIO()
    with matplotlib.rc_context(WRITTEN):
        fig.savefig(buffer, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for child in [c for c in root if c.tag == f"{{{SVG}}}metadata"]:
        root.remove(child)
    root.attrib.pop("height")
    root.set("width", "100%")
    root.set("role", "img")
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r"#([\w-]+)[\")]", text))
    text = re.sub(
        r' id="([\w.-]+)"',
        lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "",
        text,
    )
    text = re.sub(r"(url\(#|href=\"#)", rf"\g<1>{prefix}-", text)
    text = re.sub(r"<[^>]+>", lambda tag: shortened(tag[0]), text)
    text = re.sub(r">\s+<", "><", text)
    for name, value in COLOURS.items():
        text = text.replace(value, f"var(--fig-{name}, {value})")
    text = with_classes(text)
    text = re.sub(r"(?<=image/png;base64,)[^\"]+", lambda m: small(m[0]), text)
    return text.replace(' role="img"', f' role="img" aria-label={quoteattr(alt)}', 1)


def shortened(tag):
    """Coordinates with two decimals; what is read stays as it is."""
    tag = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}", tag)
    return re.sub(r' transform="rotate\(-0 [^"]*"|(?<=\d) (?= )', "", tag)


def with_classes(text):
    """A style that many shapes share stands once. Its class is named by its content:
    several figures on a page may have it.
    """
    found = collections.Counter(re.findall(r' style="([^"]*)"', text))
    names = {
        style: f"s{zlib.crc32(style.encode()):08x}"
        for style, count in found.items()
        if count > 1
    }
    for style, name in names.items():
        text = text.replace(f' style="{style}"', f' class="{name}"')
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    return text.replace("</style>", rules + "</style>", 1)


def small(png):
    """A base64 PNG in 64 colours: a third of the bytes, the same picture."""
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    buffer = io.BytesIO()
    picture.quantize(64, Image.Quantize.FASTOCTREE).save(buffer, "PNG", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def show(fig, alt):
    """Display a figure. `alt` says in a sentence what a reader would see."""
    display({"image/svg+xml": svg(fig, alt), "text/plain": alt}, raw=True)
