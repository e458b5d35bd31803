"""The one reader of a chapter: every build step and every test uses it.

    python tools/chapter.py      what each chapter holds, beside the budget

A chapter has lanes. The main lane is what a first reader reads. A section
whose heading starts with `Deeper:` is for the second time. Exercises and
summary are counted in neither.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]

# The tags of cells. CONTRIBUTING says what each is for.
FILE = "src:"  # and the name of the package's file
INSTALL = "colab-install"
HIDE_INPUT, HIDE_CELL, SOLUTION = "hide-input", "hide-cell", "solution"
IGNORED, SKIPPED, GPU = "nbval-ignore-output", "nbval-skip", "gpu"
UNCOMPARED = {IGNORED, SKIPPED, GPU}
# The kinds of output that are pictures.
SVG = "image/svg+xml"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
# What a notebook says about itself, and a cell about itself.
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
LANGUAGE = {"name": "python"}
KEPT = ("widgets", "accelerator", "colab", "keywords", "no_glossary")
KEPT_IN_A_CELL = ("tags", "jupyter", "cellView", "mystnb")

MAIN, DEEPER = "main", "deeper"
FOLDED = "Deeper:"
ASIDE = ("Exercises", "Summary")
BUDGET = {"words": 1500, "lines": 130, "claims": 8, "minutes": 20, "deeper": 900}
WORDS_A_MINUTE, SECONDS_A_LINE, SECONDS_A_FILE_LINE = 200, 4, 2

SECTION = re.compile(r"^(?=## )", re.M)
CLAIM = re.compile(r"^\*\*Claim (\d+\.\d+)\.\*\* (.+)$", re.S)
EXERCISE = re.compile(r"^\*\*Exercise (\d+\.\d+)\.\*\* (.+)$", re.M)
# The last thing in its cell: a question, and perhaps a list to choose from.
PREDICT = re.compile(
    r"(?:\A|\n\n)\*\*Predict\.\*\* ((?:(?!\n\n|\n- ).)+)((?:\n+- [^\n]+)*)\Z", re.S
)


class BookError(Exception):
    """A fault in the book's sources, told in one line."""


def tags(cell):
    return cell.metadata.get("tags", [])


def anchor(kind, number):
    """The address of a claim or an exercise on its chapter's page."""
    return f"{kind.lower()}-{number.replace('.', '-')}"


@dataclass
class Claim:
    number: str
    sentence: str
    lane: str
    check: nbformat.NotebookNode | None

    @property
    def anchor(self):
        return anchor("claim", self.number)

    @property
    def measured(self):
        """What the check printed when it last ran."""
        outputs = self.check.outputs if self.check else []
        return "".join(o.text for o in outputs if o.output_type == "stream")


@dataclass
class Prediction:
    question: str
    choices: list
    cell: int  # counted from 0


class Chapter:
    """A chapter at `path`. Nothing is read before it is asked for."""

    def __init__(self, path):
        self.path = Path(path)
        self.stem = self.path.stem
        self.number = int(self.stem.split("_")[0])
        self.page = f"notebooks/{self.stem}"

    def __str__(self):
        return self.stem

    @cached_property
    def notebook(self):
        """Shared: who changes it reads a copy of their own with `read`."""
        return parsed(self.path, text_of(self.path))

    @property
    def cells(self):
        return self.notebook.cells

    @property
    def code(self):
        return [c for c in self.cells if c.cell_type == "code"]

    @property
    def markdown(self):
        return [c.source for c in self.cells if c.cell_type == "markdown"]

    @property
    def title(self):
        return self.cells[0].source.split("\n")[0].lstrip("# ")

    @property
    def keywords(self):
        return self.notebook.metadata.get("keywords", [])

    @property
    def no_glossary(self):
        """Terms that this chapter uses in another sense."""
        return self.notebook.metadata.get("no_glossary", [])

    @cached_property
    def pieces(self):
        """(section, lane, cell, text): a Markdown cell is cut at its headings."""
        found, section = [], ""
        for cell in self.cells:
            markdown = cell.cell_type == "markdown"
            parts = SECTION.split(cell.source) if markdown else [cell.source]
            for part in filter(None, parts):
                if markdown and part.startswith("## "):
                    section = part.split("\n")[0].removeprefix("## ").strip()
                lane = DEEPER if section.startswith(FOLDED) else MAIN
                lane = section.lower() if section in ASIDE else lane
                found.append((section, lane, cell, part))
        return found

    @property
    def opening(self):
        """The text before the first section."""
        return self.text(section="")

    def text(self, lane=None, section=None):
        """The Markdown of a lane or of one section."""
        return "\n\n".join(
            part
            for of_section, of_lane, cell, part in self.pieces
            if cell.cell_type == "markdown"
            and (lane is None or lane == of_lane)
            and (section is None or section == of_section)
        )

    def lead_in(self, name):
        """What follows `**name**` in the opening."""
        found = re.search(rf"^\*\*{name}\*\* (.+)$", self.opening, re.M)
        if found is None:
            raise BookError(f"{self.stem}: no paragraph **{name}** in its opening")
        return found[1]

    @cached_property
    def claims(self):
        """The numbered claims, each with the code cell right after it."""
        found = []
        lanes = {id(cell): lane for _, lane, cell, _ in self.pieces}
        for cell, after in zip(self.cells, [*self.cells[1:], None], strict=True):
            if cell.cell_type != "markdown":
                continue
            paragraphs = re.split(r"\n\s*\n", cell.source.strip())
            for paragraph in paragraphs:
                match = CLAIM.match(paragraph)
                if match:
                    last = paragraph is paragraphs[-1]
                    check = last and after is not None and after.cell_type == "code"
                    sentence = " ".join(match[2].split())
                    lane = lanes[id(cell)]
                    found.append(
                        Claim(match[1], sentence, lane, after if check else None)
                    )
        return found

    @cached_property
    def predictions(self):
        """What the reader is asked to guess before it is shown."""
        found = []
        for number, cell in enumerate(self.cells):
            match = PREDICT.search(cell.source.strip())
            if cell.cell_type == "markdown" and match:
                choices = re.findall(r"^- (.+)$", match[2], re.M)
                question = " ".join(match[1].split())
                found.append(Prediction(question, choices, number))
        return found

    @cached_property
    def exercises(self):
        """The numbers of the exercises."""
        return [number for number, _ in EXERCISE.findall("\n\n".join(self.markdown))]

    @property
    def gist(self):
        """What tells the chapter's idea: its opening and its summary."""
        return "\n\n".join((self.opening, self.text(section="Summary")))

    def words(self, lane=MAIN):
        return words(self.text(lane))

    def lines(self, lane=MAIN):
        """Lines of shown code. The package's file is no part of them."""
        return sum(
            count(part)
            for _, of, cell, part in self.pieces
            if cell.cell_type == "code" and of == lane and is_shown(cell)
        )

    def file_lines(self, lane=MAIN):
        return sum(
            count(part)
            for _, of, cell, part in self.pieces
            if cell.cell_type == "code" and of == lane and file_of(cell)
        )

    def minutes(self, lane=MAIN):
        code = self.lines(lane) * SECONDS_A_LINE
        code += self.file_lines(lane) * SECONDS_A_FILE_LINE
        return round(self.words(lane) / WORDS_A_MINUTE + code / 60)

    @property
    def spent(self):
        """What of the budget the chapter uses."""
        return {
            "words": self.words(),
            "lines": self.lines(),
            "claims": sum(claim.lane == MAIN for claim in self.claims),
            "minutes": self.minutes(),
            "deeper": self.words(DEEPER),
        }


def file_of(cell):
    """The package's file that a cell is a part of, or None."""
    return next((t.removeprefix(FILE) for t in tags(cell) if t.startswith(FILE)), None)


def has(cell, *kinds):
    """Whether a cell shows something of one of these kinds."""
    return any(set(kinds) & set(o.get("data", {})) for o in cell.get("outputs", []))


def is_shown(cell):
    """Whether a reader of the site sees the cell's code without a click."""
    hidden = {HIDE_INPUT, HIDE_CELL, SOLUTION, INSTALL} & set(tags(cell))
    return not hidden and file_of(cell) is None


def words(markdown):
    """How many words there are to read; a formula is one, an address none."""
    text = re.sub(r"<!--.*?-->", "", markdown)  # e.g. what stands for a widget
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "formula", text, flags=re.S)
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def count(source):
    return sum(bool(line.strip()) for line in source.splitlines())


def chapters(root=ROOT):
    """The chapters in the order of `_toc.yml`."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    files = [c["file"] for part in toc["parts"] for c in part["chapters"]]
    return [
        Chapter(root / f"{name}.ipynb")
        for name in files
        if name.startswith("notebooks/")
    ]


def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BookError(f"{path.name}: named in _toc.yml but not there") from None


def parse(path, text):
    try:
        return nbformat.reads(text, as_version=4)
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise BookError(
            f"{path.name}: not a notebook ({reason}); restore it with git"
        ) from None


# One parse for one text: a chapter is asked for from many sides.
parsed = lru_cache(maxsize=64)(parse)


def read(path):
    """A notebook of one's own, or a BookError that says what is wrong."""
    return parse(path, text_of(path))


def write(path, text):
    """Write the whole text or nothing."""
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8", newline="\n")
    new.replace(path)


def main():
    row = "{:28}{:>7}{:>7}{:>8}{:>9}{:>8}"
    print(row.format("", *BUDGET))
    print(row.format("at most", *BUDGET.values()))
    for chapter in chapters():
        spent = chapter.spent
        over = [name for name, most in BUDGET.items() if spent[name] > most]
        print(
            row.format(chapter.stem, *spent.values()),
            f"  over: {', '.join(over)}" if over else "",
        )


if __name__ == "__main__":
    main()
