"""The checks of the exercises know the mistakes people make."""

import importlib
import pkgutil

import answers
import pytest
from chapter import chapters

from book_helpers import exercises

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


def test_progress_counts_the_readers_own_right_answers(capsys, monkeypatch):
    monkeypatch.setattr(exercises, "RIGHT", {})

    @exercises.exercise("99.1")
    def first(answer):
        exercises.expect(answer == 1, "It is 1.")

    @exercises.exercise("99.2")
    def second(answer):
        exercises.expect(answer == 2, "It is 2.")

    def line():
        exercises.progress(99)
        return capsys.readouterr().out

    first(1, mine=False)
    second(1)
    assert line() == "Chapter 99: 0 of 2 exercises right. Open: 99.1, 99.2.\n"
    first(1)
    first(0)
    assert line() == "Chapter 99: 1 of 2 exercises right. Open: 99.2.\n"
    second(2)
    assert line() == "Chapter 99: 2 of 2 exercises right. All done.\n"


@pytest.mark.parametrize("chapter", chapters(), ids=str)
def test_a_chapter_shows_the_progress_of_all_its_exercises(chapter):
    number, wanted = chapter.number, chapter.exercises
    shown = [c for c in chapter.code if f"progress({number})" in c.source]
    assert len(shown) == 1
    assert shown[0].outputs[0].text == (
        f"Chapter {number}: 0 of {len(wanted)} exercises right. "
        f"Open: {', '.join(wanted)}.\n"
    )
