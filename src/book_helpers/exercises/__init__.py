"""Checks for the exercises. Each says what is wrong, not only that it is."""

from functools import wraps

import torch

# Number of an exercise -> whether the reader has had it right in this session.
RIGHT = {}


class Wrong(Exception):
    """Raised by a check; its text is what the reader is told."""


class Verdict:
    """What a check found: `right`, `answered` and the message shown."""

    def __init__(self, number, message, *, right=False, answered=True):
        self.number, self.message = number, message
        self.right, self.answered = right, answered

    def __repr__(self):
        return f"Exercise {self.number}: {self.message}"


def exercise(number):
    """Turn a function that raises `Wrong` into a check that returns a Verdict.

    `...` as the answer, or a function that returns `...`, is a blank: neither
    right nor wrong. An error in the reader's own code is told in one line.
    The check takes `mine=False` for an answer that is not the reader's own.
    """

    def decorate(check):
        @wraps(check)
        def told(answer):
            if answer is ...:
                return Verdict(number, "not answered yet.", answered=False)
            try:
                # The reader's session keeps its own random numbers.
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(0)
                    praise = check(answer)
            except Blank:
                return Verdict(number, "not answered yet.", answered=False)
            except Wrong as wrong:
                return Verdict(number, f"not yet. {wrong}")
            except Exception as error:  # the reader's code may raise anything
                return Verdict(
                    number,
                    f"your code raised {type(error).__name__}: {error}",
                )
            return Verdict(number, f"right. {praise}", right=True)

        def checked(answer, *, mine=True):
            verdict = told(answer)
            if mine and not RIGHT[number]:
                RIGHT[number] = verdict.right
            return verdict

        RIGHT[number] = False
        return wraps(check)(checked)

    return decorate


def progress(chapter):
    """Print in one line which exercises of a chapter the reader has right."""
    mine = {n: right for n, right in RIGHT.items() if n.split(".")[0] == str(chapter)}
    line = f"Chapter {chapter}: {sum(mine.values())} of {len(mine)} exercises right."
    left = ", ".join(number for number, right in mine.items() if not right)
    print(line + (f" Open: {left}." if left else " All done."))


class Blank(Exception):
    """The reader's function still returns `...`."""


def call(answer, *args):
    """Call the reader's function; `...` back means not answered yet."""
    result = answer(*args)
    if result is ...:
        raise Blank
    return result


def expect(condition, message):
    """Tell the reader `message` unless the condition holds."""
    if not condition:
        raise Wrong(message)


def tensor_of(answer, shape=None):
    """A tensor from a tensor, an array or nested lists of one shape."""
    try:
        tensor = torch.as_tensor(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(answer).__name__
        raise Wrong(f"Return a tensor; your {kind} is none: {error}.") from None
    expect(
        shape is None or tensor.shape == shape,
        f"The shape is {tuple(tensor.shape)}, not {shape and tuple(shape)}.",
    )
    return tensor


def number_of(answer):
    """A float from a number, or from a tensor or array that holds one."""
    try:
        return float(answer)
    except (TypeError, ValueError, RuntimeError):
        kind = type(answer).__name__
        raise Wrong(f"Return a number; your {kind} is none.") from None


def unchanged(before, after, name):
    """The reader's function was lent a tensor and gave it back as it was."""
    same = before.dtype == after.dtype and torch.equal(before, after)
    expect(same, f"Your function changed {name}; work on a copy of it.")


def chosen(answer, offered):
    """The letters of an answer to a question with several right choices."""
    expect(
        isinstance(answer, (set, frozenset)),
        'Give a set of letters, such as {"a", "b"}.',
    )
    letters = {str(letter).strip("() ").lower() for letter in answer}
    others = sorted(letters - set(offered))
    expect(
        not others,
        f"Only the letters a to {offered[-1]} are on offer, not {others}.",
    )
    return letters
