"""The checks of the exercises know the mistakes people make."""

import importlib
import pkgutil

import answers
import pytest

CHAPTERS = [m.name for m in pkgutil.iter_modules(answers.__path__)]


def check_of(number):
    chapter, place = number.split(".")
    module = importlib.import_module(f"book_helpers.exercises.ch{int(chapter):02d}")
    return getattr(module, f"check_{chapter}_{place}")


def kept(table):
    params = []
    for chapter in CHAPTERS:
        module = importlib.import_module(f"answers.{chapter}")
        for number, entries in getattr(module, table).items():
            for place, entry in enumerate(entries):
                name = f"{number}-{place}"
                params.append(pytest.param(number, entry, id=name))
    return params


@pytest.mark.parametrize("number, entry", kept("WRONG"))
def test_a_wrong_answer_is_told_what_is_wrong(number, entry):
    answer, piece = entry
    verdict = check_of(number)(answer)
    assert not verdict.right
    assert piece in verdict.message


@pytest.mark.parametrize("number, answer", kept("RIGHT"))
def test_a_right_answer_passes_also_when_unusual(number, answer):
    verdict = check_of(number)(answer)
    assert verdict.right, verdict.message


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_exercise_tells_five_mistakes_apart(chapter):
    module = importlib.import_module(f"answers.{chapter}")
    assert set(module.WRONG) == set(module.RIGHT)
    for number, entries in module.WRONG.items():
        told = {check_of(number)(answer).message for answer, _ in entries}
        assert len(told) == len(entries) >= 5, number


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_blank_is_neither_right_nor_wrong(chapter):
    module = importlib.import_module(f"answers.{chapter}")
    for number in module.WRONG:
        verdict = check_of(number)(...)
        assert not verdict.answered and not verdict.right
