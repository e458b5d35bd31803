"""The book as one ePub file: whole, in order, and by the rules of the format."""

import posixpath
import re
import zipfile
from xml.etree import ElementTree

import pytest
from chapter import SVG, VIEW, chapters
from pages import EBOOK

XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
DRAWING = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def book():
    with zipfile.ZipFile(EBOOK) as file:
        yield file


def page(book, name):
    return ElementTree.fromstring(book.read(name))


def pages(book):
    return [name for name in book.namelist() if name.endswith(".xhtml")]


def test_the_file_says_what_it_is(book):
    first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    assert book.read(first) == b"application/epub+zip"


def test_it_has_a_cover_with_the_title_as_its_text(book):
    package = page(book, "content.opf")
    (guide,) = [e for e in package.iter(f"{OPF}reference") if e.get("type") == "cover"]
    (image,) = [
        e for e in package.iter(f"{OPF}item") if e.get("href", "").endswith("cover.png")
    ]
    metas = {e.get("name"): e.get("content") for e in package.iter(f"{OPF}meta")}
    assert metas["cover"] == image.get("id")
    assert book.read(image.get("href")).startswith(b"\x89PNG")
    shown = book.read(guide.get("href")).decode()
    assert "cover.png" in shown and "The Embedding Layer" in shown


def test_pages_are_well_formed_and_quiet(book):
    """XML, no script, nothing from outside, no id twice."""
    for name in pages(book):
        root = page(book, name)
        tags = {e.tag for e in root.iter()}
        assert f"{XHTML}script" not in tags and f"{XHTML}input" not in tags, name
        ids = [e.get("id") for e in root.iter() if e.get("id")]
        assert len(ids) == len(set(ids)), name
        loaded = [
            e.get("src") or e.get("href", "")
            for e in root.iter()
            if e.tag != f"{XHTML}a"
        ]
        assert not [link for link in loaded if "://" in link], name
        assert "var(--" not in book.read(name).decode(), name


@pytest.mark.parametrize("chapter", chapters(), ids=str)
def test_the_e_book_has_neither_folds_nor_covers(book, chapter):
    text = book.read(f"{chapter.page}.xhtml").decode()
    assert not re.search(r"<(form|input|button)|class=\"(answer|deeper|predict)", text)
    deeper = [c for c in chapter.cells if re.search("^## Deeper: ", c.source, re.M)]
    assert len(re.findall("<h2>[^\n]*?Deeper: ", text)) == len(deeper) > 0
    assert text.count(" minutes to read") == 1
    assert "<summary>Show the imports</summary>" in text and "Hide the" not in text


def test_every_chapter_is_there_in_order_with_its_figures(book):
    links = [e.get("href") for e in page(book, "nav.xhtml").iter(f"{XHTML}a")]
    wanted = [f"{chapter.page}.xhtml" for chapter in chapters()]
    assert [link for link in links if link.startswith("notebooks/")] == wanted
    for name, chapter in zip(wanted, chapters(), strict=True):
        figures = [e.get("aria-label") for e in page(book, name).iter(f"{DRAWING}svg")]
        shown = [
            output
            for cell in chapter.code
            for output in cell.outputs
            if {SVG, VIEW} & set(output.get("data", {}))
        ]
        assert len(figures) == len(shown) and all(figures), name


def test_formulas_are_mathml(book):
    text = "".join(book.read(name).decode() for name in pages(book))
    assert text.count("<math") > 50
    assert "katex-html" not in text and "\\(" not in re.sub(
        r"<pre.*?</pre>", "", text, flags=re.S
    )


def test_every_link_leads_somewhere(book):
    ids = {name: {e.get("id") for e in page(book, name).iter()} for name in pages(book)}
    for name in pages(book):
        for link in (e.get("href", "") for e in page(book, name).iter(f"{XHTML}a")):
            if not link or "://" in link or link.startswith("mailto:"):
                continue
            path, _, fragment = link.partition("#")
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
                if path
                else name
            )
            assert target in ids, (name, link)
            assert not fragment or fragment in ids[target], (name, link)


def test_the_list_of_files_is_true(book):
    root = page(book, "content.opf")
    items = {item.get("id"): item for item in root.iter(f"{OPF}item")}
    for item in items.values():
        assert item.get("href") in book.namelist()
        if item.get("href").endswith(".xhtml"):
            text = book.read(item.get("href")).decode()
            held = set((item.get("properties") or "").split()) - {"nav"}
            assert held == {
                n for n, tag in (("svg", "<svg"), ("mathml", "<math")) if tag in text
            }
    assert all(ref.get("idref") in items for ref in root.iter(f"{OPF}itemref"))
