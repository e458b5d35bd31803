"""The form of a chapter: what CONTRIBUTING asks for, as a list of faults."""

import ast
import re

from chapter import (
    BUDGET,
    FILE,
    HIDE_CELL,
    HIDE_INPUT,
    INSTALL,
    SVG,
    VIEW,
    file_of,
    has,
    is_shown,
    tags,
    words,
)

WIDEST, SHOWN, HIDDEN = 72, 15, 25
OPENING, CHOICES, LONGEST_CHOICE = 150, (2, 4), 80
PREDICTIONS, CLAIMS, EXERCISES = (3, 6), 4, (3, 5)
ABOUT = "≈"
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def faults(chapter):
    """What is wrong with a chapter, each in a line."""
    return [line for look in LOOKS for line in look(chapter)]


def opening(chapter):
    """A story, the picture of the idea, then what is built and needed."""
    first = chapter.cells[0]
    if not re.match(r"# \S", first.source):
        yield "cell 1: no `# Title`"
    story = first.source.partition("\n")[2]
    if not 20 <= words(story) <= OPENING:
        yield f"cell 1: {words(story)} words of story, not 20 to {OPENING}"
    if "**Time.**" in chapter.opening:
        yield "the opening states a time; the build computes it"
    for name in ("You will build", "You need"):
        if f"**{name}**" not in chapter.opening:
            yield f"the opening has no **{name}**"
    code = chapter.code
    if INSTALL not in tags(code[0]) or chapter.cells[1] is not code[0]:
        yield "cell 2 is not the install cell"
    if HIDE_CELL not in tags(code[1]) or "setup(" not in code[1].source:
        yield f"cell 3: imports and setup() are not folded with {HIDE_CELL}"
    before = []
    for section, _, cell, text in chapter.pieces:
        if section:
            yield "no picture before the first section"
            return
        if cell.cell_type == "markdown":
            before.append(text)
        elif has(cell, SVG, VIEW):
            break
        elif not {HIDE_CELL, HIDE_INPUT} & set(tags(cell)):
            yield "code is shown before the picture of the idea"
    if has(cell, VIEW):
        yield "the first picture is a slider; the reader has not met the idea yet"
    if re.search(r"\$", outside_code("\n".join(before))):
        yield "a formula stands before the picture of the idea"
    if "?" not in before[-1]:
        yield "the text before the picture asks no question"


def headings(chapter):
    text = outside_code("\n\n".join(chapter.markdown))
    return re.findall(r"^(#+) (.+)$", text, re.M)


def ending(chapter):
    names = [name for level, name in headings(chapter) if level == "##"]
    if names[-2:] != ["Exercises", "Summary"]:
        yield "the last two sections are not Exercises and Summary"
    for lead in ("**Next.**", "**Sources.**"):
        if lead not in chapter.text(section="Summary"):
            yield f"the summary has no {lead}"
    last = chapter.markdown[-1].strip().split("\n\n")[-1]
    if not last.startswith("**Sources.**"):
        yield "the sources are not the last paragraph"


def deeper(chapter):
    for level, name in headings(chapter):
        if "deeper" in name.lower() and not (
            level == "##" and re.match(r"Deeper: \S", name)
        ):
            yield f"heading {name!r}: write `## Deeper: …`"


def budget(chapter):
    for name, spent in chapter.spent.items():
        if spent > BUDGET[name]:
            yield f"{name}: {spent}, at most {BUDGET[name]}"


def cells(chapter, shown=SHOWN):
    asked = {id(c) for _, lane, c, _ in chapter.pieces if lane == "exercises"}
    for number, cell in enumerate(chapter.cells, 1):
        if cell.cell_type != "code" or INSTALL in tags(cell) or file_of(cell):
            continue
        lines = cell.source.splitlines()
        most = shown if is_shown(cell) and id(cell) not in asked else HIDDEN
        if len(lines) > most:
            yield f"cell {number}: {len(lines)} lines, at most {most}"
        for line in lines:
            if len(line) > WIDEST:
                yield f"cell {number}: wider than {WIDEST} columns: {line}"


def predictions(chapter):
    written = sum(text.count("**Predict.**") for text in chapter.markdown)
    found = chapter.predictions
    least, most = PREDICTIONS
    if written != len(found):
        yield (
            f"{written - len(found)} **Predict.** of {written} not last in the cell, "
            "with at most a list of choices behind"
        )
    if not least <= written <= most:
        yield f"{written} predictions, not {least} to {most}"
    for asked in found:
        where = f"cell {asked.cell + 1}, **Predict.**"
        if "?" not in asked.question:
            yield f"{where}: no question"
        if asked.choices and not CHOICES[0] <= len(asked.choices) <= CHOICES[1]:
            yield f"{where}: {len(asked.choices)} choices, not {CHOICES[0]} to 4"
        for choice in asked.choices:
            if len(choice) > LONGEST_CHOICE:
                yield f"{where}: a long choice: {choice}"
        for cell in chapter.cells[asked.cell + 1 :]:
            if cell.cell_type == "code":
                break
            if re.search(r"^#+ |^\*\*Predict\.\*\*", cell.source, re.M):
                yield f"{where}: no code answers it before the next heading or question"
                break


def pictures(chapter):
    sliders = sum(has(cell, VIEW) for cell in chapter.code)
    if sliders > 1:
        yield f"{sliders} sliders, at most one"
    if not any(has(cell, SVG) for cell in chapter.code):
        yield "no figure"
    for number, cell in enumerate(chapter.cells, 1):
        if file_of(cell) and HIDE_INPUT not in tags(cell):
            yield f"cell {number}: tagged {FILE}… but not {HIDE_INPUT}"
        if has(cell, SVG, VIEW) and not {HIDE_INPUT, HIDE_CELL} & set(tags(cell)):
            yield f"cell {number}: draws, and is not folded with {HIDE_INPUT}"


def measured(chapter):
    """Each number behind `≈` has its assertion with two bounds in its cell."""
    for number, cell in enumerate(chapter.cells, 1):
        if cell.cell_type != "code" or file_of(cell):
            continue
        printed, bounds = measures(cell.source)
        if printed > bounds:
            yield (
                f"cell {number}: {printed} numbers behind {ABOUT}, {bounds} assertions "
                "with two bounds"
            )
        for output in cell.outputs:
            for text in (output.get("text"), output.get("data", {}).get("text/plain")):
                for found in re.findall(rf"{ABOUT}.{{0,12}}", text or ""):
                    if not re.match(rf"{ABOUT} +[+−-]?\d", found):
                        yield f"cell {number}: no number behind {found!r}"


def measures(source):
    """How many `≈` the strings of a cell hold, and how many bounds it asserts."""
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.M))
    printed = bounds = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            printed += node.value.count(ABOUT)
        elif isinstance(node, ast.Assert):
            bounds += sum(
                isinstance(part, ast.Compare)
                and len(part.ops) == 2
                and all(isinstance(op, ORDER) for op in part.ops)
                for part in ast.walk(node.test)
            )
    return printed, bounds


def claims(chapter):
    if len(chapter.claims) < CLAIMS:
        yield f"{len(chapter.claims)} claims, at least {CLAIMS}"


def outside_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.S))


LOOKS = (
    opening,
    ending,
    deeper,
    budget,
    cells,
    predictions,
    pictures,
    measured,
    claims,
)
