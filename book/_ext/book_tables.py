"""Pages made from the notebooks, so that they cannot say anything else.

The directives `chapter-table`, `reading-times`, `claims` and `status`.
"""

import json
import platform
import re
from importlib.metadata import version
from pathlib import Path

from chapter import (
    BUDGET,
    DEEPER,
    GPU,
    MAIN,
    ROOT,
    UNCOMPARED,
    WORDS_A_MINUTE,
    chapters,
    tags,
    words,
)
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

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
        for chapter in found:
            self.env.note_dependency(str(chapter.path))
        return found

    def record(self, name):
        """What was measured once and stored."""
        file = ROOT / "benchmarks" / name
        self.env.note_dependency(str(file))
        return json.loads(file.read_text(encoding="utf-8"))

    def inline(self, text):
        return self.parse_inline(text, lineno=self.lineno)[0]

    def link(self, chapter, text="", anchor=""):
        text = text or chapter.title
        target = self.env.app.builder.get_relative_uri(self.env.docname, chapter.page)
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


class ChapterTable(FromNotebooks):
    """Every chapter, what the reader has at its end, and the time it takes."""

    def run(self):
        seconds = self.record("chapters.json")["seconds"]
        rows, total = [], [0, 0]
        for chapter in self.chapters():
            built = re.sub("^the file ", "", chapter.lead_in("You will build"))
            minutes = [chapter.minutes(lane) for lane in (MAIN, DEEPER)]
            total = [a + b for a, b in zip(total, minutes, strict=True)]
            main, deeper = map(time, minutes)
            run = seconds.get(chapter.stem)
            rows.append(
                (self.link(chapter), built, main, deeper, f"{run} s" if run else "")
            )
        rows.append(("All", "", *map(time, total), ""))
        head = ("Chapter", "You build", "To read", "Deeper", "To run")
        return [self.table(head, rows)]


def time(minutes):
    """`9 min`, `1 h 5 min`, in one piece; nothing for nothing."""
    hours, rest = divmod(minutes, 60)
    said = (f"{hours} h " if hours else "") + f"{rest} min" if minutes else ""
    return said.replace(" ", "\N{NO-BREAK SPACE}")


class ReadingTimes(FromNotebooks):
    """Its own text, with the minutes of a path for {short}, {main} and {all}.

    The short one goes through the chapters that build a file.
    """

    has_content = True

    def run(self):
        found = self.chapters()
        built = [chapter for chapter in found if chapter.file_lines()]
        short = sum(words(chapter.gist) for chapter in built) / WORDS_A_MINUTE
        main, deeper = (
            sum(chapter.minutes(lane) for chapter in found) for lane in (MAIN, DEEPER)
        )
        text = "\n".join(self.content).format(
            short=round(short), main=time(main), all=time(main + deeper)
        )
        return self.parse_text_to_nodes(text)


class Claims(FromNotebooks):
    """Every claim: number, sentence, what its check printed, link to it."""

    def run(self):
        result = []
        for chapter in self.chapters():
            items = [self.item(chapter, claim) for claim in chapter.claims]
            result.append(self.section(chapter.title, items))
        return result

    def item(self, chapter, claim):
        sentence = nodes.paragraph()
        sentence += self.link(chapter, f"Claim {claim.number}", f"#{claim.anchor}")
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
            self.section("Reading", [self.reading()]),
            self.section("Versions of this build", self.versions()),
            self.section("Lighthouse", self.lighthouse()),
        ]

    def proofs(self):
        times = self.record("chapters.json")
        rows, total = [], [0, 0, 0, 0]
        for chapter in self.chapters():
            cells = chapter.code
            gpu = sum(GPU in tags(c) for c in cells)
            left = sum(bool(UNCOMPARED & set(tags(c))) for c in cells) - gpu
            counts = [len(chapter.claims), len(cells) - left - gpu, left, gpu]
            total = [a + b for a, b in zip(total, counts, strict=True)]
            seconds = times["seconds"].get(chapter.stem)
            rows.append(
                (
                    self.link(chapter),
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

    def reading(self):
        """What the main lane of each chapter asks of a reader."""
        rows = [("At most", *map(str, BUDGET.values()))]
        for chapter in self.chapters():
            rows.append((self.link(chapter), *map(str, chapter.spent.values())))
        head = ("Main lane", "Words", "Lines of code", "Claims", "Minutes")
        return self.table((*head, "Words in Deeper"), rows)

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
    app.add_directive("reading-times", ReadingTimes)
    app.add_directive("claims", Claims)
    app.add_directive("status", Status)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
