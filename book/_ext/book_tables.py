"""Pages made from the notebooks, so that they cannot say anything else.

The directives `chapter-table`, `claims` and `status`.
"""

import json
import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from notebooks import UNCOMPARED, chapters, claims, read, tags  # noqa: E402

PACKAGES = (
    "torch",
    "matplotlib",
    "ipywidgets",
    "tiktoken",
    "transformers",
    "jupyter-book",
    "sphinx",
    "myst-nb",
    "nbval",
    "pytest",
)


class FromNotebooks(SphinxDirective):
    """What the directives below share."""

    def chapters(self):
        found = chapters(Path(self.env.srcdir))
        for path in found:
            self.env.note_dependency(str(path))
        return found

    def inline(self, text):
        return self.parse_inline(text, lineno=self.lineno)[0]

    def link(self, path, text, anchor=""):
        target = self.env.app.builder.get_relative_uri(
            self.env.docname, f"notebooks/{path.stem}"
        )
        return nodes.reference("", text, refuri=target + anchor, internal=True)

    def section(self, name, content):
        return nodes.section(
            "", nodes.title(text=name), *content, ids=[nodes.make_id(name)]
        )

    def table(self, head, rows):
        """A table; a cell is text in Markdown or a node."""
        group = nodes.tgroup(cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        for part, lines in ((nodes.thead(), [head]), (nodes.tbody(), rows)):
            for line in lines:
                row = nodes.row()
                for cell in line:
                    paragraph = nodes.paragraph()
                    paragraph += self.inline(cell) if isinstance(cell, str) else cell
                    row += nodes.entry("", paragraph)
                part += row
            group += part
        return nodes.table("", group)


def title(path):
    return read(path).cells[0].source.split("\n")[0].lstrip("# ")


def lead_in(path, name):
    """What follows `**name**` in the chapter's opening."""
    for cell in read(path).cells[:3]:
        found = re.search(rf"^\*\*{name}\*\* (.*)$", cell.source, re.M)
        if found:
            return found[1]
    raise ValueError(f"{path.name}: no paragraph **{name}** in its opening")


class ChapterTable(FromNotebooks):
    """Every chapter, what the reader has at its end, and the time it takes."""

    def run(self):
        rows, total = [], 0
        for path in self.chapters():
            read_time, run_time = re.fullmatch(
                r"(\d+ minutes) to read, (.+) to run\.", lead_in(path, "Time.")
            ).groups()
            built = re.sub("^the file ", "", lead_in(path, "You will build"))
            time = (
                f"{read_time.replace('utes', '')}, {run_time.replace('seconds', 's')}"
            )
            rows.append((self.link(path, title(path)), built, time))
            total += int(read_time.split()[0])
        hours = f"{total // 60} h {total % 60} min"
        rows.append(("All", "", hours))
        return [self.table(("Chapter", "You build", "To read, to run"), rows)]


class Claims(FromNotebooks):
    """Every claim: number, sentence, what its check printed, link to it."""

    def run(self):
        result = []
        for path in self.chapters():
            items = [self.item(path, claim) for claim in claims(path)]
            result.append(self.section(title(path), items))
        return result

    def item(self, path, claim):
        sentence = nodes.paragraph()
        sentence += self.link(path, f"Claim {claim.number}", f"#{claim.anchor}")
        sentence += nodes.Text(". ")
        sentence += self.inline(claim.sentence)
        item = nodes.container("", sentence, classes=["claim-item"])
        if claim.measured:
            text = claim.measured.rstrip()
            item += nodes.literal_block(text, text, language="none")
        return item


class Status(FromNotebooks):
    """What is proved, how long it takes, and with which versions."""

    def run(self):
        return [
            self.section("Chapters", self.proofs()),
            self.section("Versions of this build", self.versions()),
            self.section("Lighthouse", self.lighthouse()),
        ]

    def record(self, name):
        file = ROOT / "benchmarks" / name
        self.env.note_dependency(str(file))
        return json.loads(file.read_text(encoding="utf-8"))

    def proofs(self):
        times = self.record("chapters.json")
        rows, total = [], [0, 0, 0, 0]
        for path in self.chapters():
            cells = [c for c in read(path).cells if c.cell_type == "code"]
            gpu = sum("gpu" in tags(c) for c in cells)
            left = sum(bool(UNCOMPARED & set(tags(c))) for c in cells) - gpu
            counts = [len(claims(path)), len(cells) - left - gpu, left, gpu]
            total = [a + b for a, b in zip(total, counts)]
            seconds = times["seconds"].get(path.stem)
            rows.append(
                (
                    self.link(path, title(path)),
                    *map(str, counts),
                    f"{seconds} s" if seconds else "not measured",
                )
            )
        rows.append(("All", *map(str, total), f"{sum(times['seconds'].values())} s"))
        head = (
            "Chapter",
            "Claims",
            "Cells compared",
            "Run, not compared",
            "Need an accelerator",
            "Run time",
        )
        note = (
            f"Run times were measured on {times['date']} on one machine "
            f"({times['processor']}, {times['threads']} thread, torch "
            f"{times['torch']}), each chapter in a fresh kernel."
        )
        return [self.table(head, rows), nodes.paragraph("", "", *self.inline(note))]

    def versions(self):
        rows = [("Python", platform.python_version())]
        rows += [(name, version(name)) for name in PACKAGES]
        return [self.table(("Package", "Version"), rows)]

    def lighthouse(self):
        record = self.record("lighthouse.json")
        names = ("performance", "accessibility", "best-practices", "seo")
        rows = [
            (f"`{row['page']}`", row["form"], *(str(row[name]) for name in names))
            for row in record["pages"]
        ]
        note = (
            f"Medians of {record['runs']} runs of Lighthouse {record['lighthouse']} "
            f"on {record['date']}, the site served from the same machine. "
            "`make lighthouse` measures anew."
        )
        head = ("Page", "Form", "Performance", "Accessibility", "Best practices", "SEO")
        return [self.table(head, rows), nodes.paragraph("", "", *self.inline(note))]


def setup(app):
    app.add_directive("chapter-table", ChapterTable)
    app.add_directive("claims", Claims)
    app.add_directive("status", Status)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
