"""The built reference pages: whole, and at stable addresses."""

import inspect
import re

import pytest
from chapter import ROOT, chapters

import embedding_layer
from embedding_layer import devices
from embedding_layer.contract import check_contract

HTML = ROOT / "_build/html/book"
PUBLIC = {name: getattr(embedding_layer, name) for name in embedding_layer.__all__}
PUBLIC["contract.check_contract"] = check_contract
PUBLIC |= {
    f"devices.{name}": f for name, f in inspect.getmembers(devices, inspect.isfunction)
}
CHAPTERS = {chapter.stem for chapter in chapters()}


def entry(name):
    """What the API page says of one name, as HTML."""
    text = (HTML / "api.html").read_text(encoding="utf-8")
    found = re.split(r'<dt class="sig sig-object py" id="([^"]+)">', text)[1:]
    entries = dict(zip(found[::2], found[1::2], strict=True))
    return entries[f"embedding_layer.{name}"]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_api_page_says_what_each_parameter_is(name):
    told = dict(re.findall(r"<strong>(\w+)</strong> – ([^<]+)", entry(name)))
    for parameter in inspect.signature(PUBLIC[name]).parameters:
        assert told.get(parameter, "").strip(), parameter


@pytest.mark.parametrize("name", PUBLIC)
def test_the_api_page_links_the_chapter_of_each_name(name):
    module = inspect.getsourcefile(PUBLIC[name])
    with open(module, encoding="utf-8") as file:
        made_from = re.search(r"notebooks/(\w+)\.ipynb", file.readline())
    links = re.findall(r'href="\.\./notebooks/(\w+)\.html"', entry(name))
    assert len(links) == 1 and set(links) <= CHAPTERS
    assert made_from is None or links == [made_from[1]]


@pytest.mark.parametrize(
    "label",
    re.findall(
        r"^\(([\w-]+)\)=$", (ROOT / "book/errors.md").read_text(encoding="utf-8"), re.M
    ),
)
def test_an_error_has_a_stable_address(label):
    text = (HTML / "errors.html").read_text(encoding="utf-8")
    assert text.count(f'id="{label}"') == 1
