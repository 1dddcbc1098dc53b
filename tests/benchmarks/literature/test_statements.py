"""Tables of statements: the verdict of every row is that of the documentation."""

from __future__ import annotations

import csv

import pytest

from benchmarks.literature.__main__ import BEGIN, END, PAGE, RECORD
from benchmarks.literature.papers import PAPERS
from benchmarks.literature.statements import (
    HEAD,
    Paper,
    Statement,
    misprint,
    numbered,
    row,
    section,
    summary,
    undecidable,
)

SMITH = Paper(
    "smith",
    "Smith 2010, a knee",
    (
        lambda: Statement("fig. 1", "2 mm", "2.01 mm", True, "nearly"),
        lambda: Statement("eq. 2", "x", "y", False, "why"),
        lambda: misprint("eq. 3", "a", "b", "c", True),
        lambda: misprint("eq. 4", "a", "b", "c", False),
        lambda: undecidable("fig. 5", "a curve", "figure missing"),
    ),
)


def rows_of_record(paper):
    with RECORD.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["paper", *HEAD]
    return [tuple(cells) for name, *cells in rows if name == paper.name]


def test_a_section_has_heading_and_table():
    text = section(SMITH)
    assert text.startswith("## Smith 2010, a knee\n")
    assert "\n5 statements: 2 agree, 1 differs, 1 is an error in print, 1 is undecidable.\n" in text
    assert "| 1 | fig. 1 | 2 mm | 2.01 mm | agrees: nearly |" in text
    assert "| 2 | eq. 2 | x | y | differs: why |" in text
    assert "| 3 | eq. 3 | a | c | error in print: correct: b |" in text
    assert "| 4 | eq. 4 | a | c | agrees |" in text
    assert "| 5 | fig. 5 | a curve | – | undecidable: figure missing |" in text
    assert "![" not in text


def test_a_summary_lists_agreements_without_the_figures_found():
    text = summary(SMITH, numbered(SMITH))
    assert text.startswith("## Smith 2010, a knee\n")
    assert "\n5 statements: 2 agree, 1 differs, 1 is an error in print, 1 is undecidable.\n" in text
    before, after = text.split("The following statements agree:")
    assert "| 2 | eq. 2 | x | y | differs: why |" in before
    assert "| 5 | fig. 5 | a curve | – | undecidable: figure missing |" in before
    assert "| 1 | fig. 1 | 2 mm | nearly |" in after
    assert "| 4 | eq. 4 | a |  |" in after
    assert "2.01" not in text


#: The statements of the other paper take four minutes: `python -m benchmarks.literature lehtoranta`
#: judges them, and `test_lehtoranta*.py` the equations and layers behind them.
SHORT = pytest.mark.parametrize(
    "paper", [p for p in PAPERS if p.name != "lehtoranta"], ids=lambda paper: paper.name
)


@pytest.mark.slow
@SHORT
def test_the_verdicts_are_those_of_the_record(paper):
    recorded = rows_of_record(paper)
    assert len(recorded) == len(paper.rows)
    for number, statement in enumerate(paper.statements(), start=1):
        place, printed, _, _ = row(statement)
        assert recorded[number - 1][:3] == (str(number), place, printed)
        assert recorded[number - 1][-1].startswith(statement.verdict), statement


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_page_has_the_tables_of_the_record(paper):
    tables = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    assert summary(paper, rows_of_record(paper)) in tables


@pytest.mark.slow
@SHORT
def test_no_cell_breaks_its_row(paper):
    assert all(line.count("|") in (0, 6) for line in section(paper).splitlines())


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_page_shows_the_picture(paper):
    assert f"![{paper.title}]({paper.image})" in PAGE.read_text(encoding="utf-8")
    assert (PAGE.parent / paper.image).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("paper", [p for p in PAPERS if p.picture], ids=lambda paper: paper.name)
def test_the_picture_is_drawn(paper, tmp_path):
    paper.picture().savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1e4
