"""A small chapter in the form of the second edition, for the tests."""

import nbformat
from chapter import KERNEL, LANGUAGE, SVG, Chapter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

STORY = """\
# Names of the days

A program numbers the days from Monday to Sunday, 1 to 7, and takes their mean to
say when a shop is busy. It answers "Thursday" for a shop that is busy on Mondays
and Sundays. Nothing crashed. The mean of 1 and 7 is 4. What is a number, that
taking its mean can go wrong?"""
BUILT = """\
**You will build** the file `days.py`: a name for each number.

**You need** Python, and nothing of PyTorch."""
ALT = "Seven dots in a row, the two at the ends filled, and a mark in the middle."


def picture(text):
    """A figure as `show` writes it, wide as the book's, with some text in it."""
    label = (
        '<text x="{}" y="70" style="font-size: 10.5px; fill: '
        'var(--fig-ink, #1f2328)">{}</text>'
    )
    dot = (
        '<circle cx="{}" cy="40" r="9" style="stroke: var(--fig-blue, #0072b2); '
        'fill: var(--fig-blue, #0072b2)" />'
    )
    days = "Mon Tue Wed Thu Fri Sat Sun".split()
    inside = "".join(
        dot.format(30 + 54 * i) + label.format(20 + 54 * i, day)
        for i, day in enumerate(days)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 388.8 90" '
        f'width="100%" role="img" aria-label="{text}">{inside}</svg>'
    )


def text(source):
    return new_markdown_cell(source)


def code(source, printed="", *tags, drawn=None, **metadata):
    cell = new_code_cell(source, metadata={"tags": list(tags), **metadata})
    if drawn:
        data = {SVG: picture(drawn), "text/plain": drawn}
        cell.outputs.append(new_output("display_data", data))
    if printed:
        cell.outputs.append(new_output("stream", text=printed + "\n"))
    return cell


def exercise(number):
    check = f"Exercise 1.{number}: "
    later = {"text/plain": check + "not answered yet."}
    right = {"text/plain": check + "right. Well done."}
    asked = new_code_cell("answer = ...\ncheck(answer)", outputs=[])
    asked.outputs = [new_output("execute_result", later)]
    solved = new_code_cell(f"# @title Solution 1.{number}\ncheck(7)")
    solved.outputs = [new_output("execute_result", right)]
    solved.metadata = nbformat.from_dict(
        {
            "tags": ["solution", "hide-cell"],
            "cellView": "form",
            "jupyter": {"source_hidden": True, "outputs_hidden": True},
            "mystnb": {"code_prompt_show": f"A solution of exercise 1.{number}"},
        }
    )
    question = (
        f"**Exercise 1.{number}.** How many days has a week, asked {number} times?"
    )
    return [text(question), asked, solved]


def cells():
    return [
        text(STORY),
        code("# nothing to install", "", "colab-install", "hide-cell"),
        code("from days import setup\n\nsetup()", "", "hide-cell"),
        code("show(week())", "busy days: 1 and 7", "hide-input", drawn=ALT),
        text(BUILT),
        text(
            "## The mean of names\n\nA mean adds numbers. So we add.\n\n"
            "**Predict.** What is the mean of the busy days, 1 and 7?\n\n"
            "- 1\n- 4, a `Thursday`\n- 7"
        ),
        text(
            "The sum is 8, and there are two.\n\n"
            "**Claim 1.1.** The mean of the days 1 and 7 is 4, on which the shop is "
            "never busy."
        ),
        code("mean = (1 + 7) / 2\nassert mean == 4\nprint(mean)", "4.0"),
        code("print('Thursday')", "Thursday"),
        text(
            "So the mean is a name of a quiet day. A `token` would fare no better.\n\n"
            "**Claim 1.2.** Seven names have no order."
        ),
        code("assert 7 == 7\nprint(7)", "7"),
        text(
            "## Measured\n\n"
            "**Predict.** How large a share of the days is busy, in percent?"
        ),
        code(
            "share = 2 / 7\nassert 0.2 < share < 0.3\nprint(f'share: ≈ {share:.0%}')",
            "share: ≈ 29%",
        ),
        text("About $2/7$, as counted:\n\n$$\\frac{2}{7} \\approx 0.29$$"),
        text(
            "## Deeper: other weeks\n\nThe old French week had ten days. Its "
            "vocabulary was new, and no embedding of it is known.\n\n"
            "**Claim 1.3.** Ten days are more than seven."
        ),
        code("assert 10 > 7\nprint(10 - 7)", "3"),
        text("**Predict.** Is there a week of no day?\n\n- yes\n- no"),
        code("print('no')", "no"),
        text("## The file\n\n**Claim 1.4.** The file holds all seven names."),
        code("DAYS = 7", "", "src:days.py", "hide-input"),
        text("## Exercises"),
        *exercise(1),
        *exercise(2),
        *exercise(3),
        text(
            "## Summary\n\nA number can be a name.\n\n**Next.** Months.\n\n"
            "**Sources.** The calendar."
        ),
    ]


def notebook(cells):
    book = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    book.metadata.no_glossary = ["vocabulary"]
    book.metadata.language_info = nbformat.from_dict(LANGUAGE)
    for number, cell in enumerate(book.cells, 1):
        cell.id = f"cell-{number:03d}"
    for number, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        cell.execution_count = number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
    return book


def chapter(folder, cells):
    """The cells as a chapter in the folder."""
    path = folder / "01_days.ipynb"
    nbformat.write(notebook(cells), path)
    return Chapter(path)
