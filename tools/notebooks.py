"""What the tools and the tests read from the chapters."""

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
# Tags of cells whose output nbval does not compare.
UNCOMPARED = {"nbval-ignore-output", "nbval-skip", "gpu"}
CLAIM = re.compile(r"^\*\*Claim (\d+\.\d+)\.\*\* (.+)$", re.S)


class BookError(Exception):
    """A fault in the book's sources, told in one line."""


def chapters(root=ROOT):
    """The chapters' paths in the order of `_toc.yml`."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    files = [c["file"] for part in toc["parts"] for c in part["chapters"]]
    return [root / f"{f}.ipynb" for f in files if f.startswith("notebooks/")]


def read(path):
    """The notebook at `path`, or a BookError that says what is wrong."""
    try:
        return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except FileNotFoundError:
        raise BookError(f"{path.name}: named in _toc.yml but not there") from None
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise BookError(
            f"{path.name}: not a notebook ({reason}); restore it with git"
        ) from None


def write(path, text):
    """Write the whole text or nothing."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8", newline="\n")
    new.replace(path)


def tags(cell):
    return cell.metadata.get("tags", [])


@dataclass
class Claim:
    number: str
    sentence: str
    notebook: str
    check: nbformat.NotebookNode | None

    @property
    def anchor(self):
        return "claim-" + self.number.replace(".", "-")

    @property
    def measured(self):
        """What the check printed when it last ran."""
        outputs = self.check.outputs if self.check else []
        return "".join(o.text for o in outputs if o.output_type == "stream")


def claims(path):
    """The numbered claims of a chapter, each with the code cell after it."""
    found, cells = [], read(path).cells
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if cell.cell_type != "markdown":
            continue
        paragraphs = re.split(r"\n\s*\n", cell.source.strip())
        for place, paragraph in enumerate(paragraphs):
            match = CLAIM.match(paragraph)
            if match:
                last = place == len(paragraphs) - 1
                code = last and after is not None and after.cell_type == "code"
                sentence = " ".join(match[2].split())
                found.append(
                    Claim(match[1], sentence, path.stem, after if code else None)
                )
    return found
