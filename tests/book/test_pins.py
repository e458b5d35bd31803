"""Every pin can be installed on every Python that the README promises."""

import re
import sysconfig
from importlib.metadata import distributions

import env
import pytest
from chapter import ROOT
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

# The first patch of each counts as the version: 3.11.0 is Python 3.11.
PROMISED = [f"{major}.{minor}.0" for major, minor in env.PYTHONS]
# Pins that only a Mac has.
ELSEWHERE = {"appnope"}


def pins():
    text = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in env.SOURCES[:2]
    )
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.M)
    assert len(found) > 100
    return {canonicalize_name(name): version for name, version in found}


def refused(packages, python):
    """Of (name, version, Requires-Python), those that this Python cannot have."""
    return [
        f"{name}=={version} needs Python {asked}"
        for name, version, asked in packages
        if asked and not SpecifierSet(asked).contains(python)
    ]


def installed():
    # Of site-packages alone: importing setuptools adds what it brings to the path.
    path = [sysconfig.get_path("purelib")]
    return {
        canonicalize_name(one.name): (one.version, one.metadata.get("Requires-Python"))
        for one in distributions(path=path)
    }


@pytest.mark.parametrize("python", PROMISED)
def test_every_pin_can_be_installed_on(python):
    here = installed()
    packages = [(name, *here[name]) for name in pins() if name in here]
    assert refused(packages, python) == []


def test_every_pin_was_judged():
    """What the test above reads is what is pinned, all of it."""
    here = installed()
    missing = {name for name in pins() if name not in here}
    assert missing <= ELSEWHERE
    for name, version in pins().items():
        if name in here:
            assert here[name][0].split("+")[0] == version, name


def test_a_package_that_needs_a_later_patch_is_caught():
    """So soupsieve 4.1.3 kept the book from Debian 12, which has 3.11.2."""
    package = [("soupsieve", "4.1.3", ">=3.11.5")]
    assert refused(package, "3.11.0") == ["soupsieve==4.1.3 needs Python >=3.11.5"]
    assert refused(package, "3.13.0") == []
