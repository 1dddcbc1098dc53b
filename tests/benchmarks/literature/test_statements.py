"""Tables of statements: the verdict of every row is that of the documentation."""

from __future__ import annotations

import pytest

from benchmarks.literature.__main__ import HEAD, PAGE, TAIL
from benchmarks.literature.papers import PAPERS
from benchmarks.literature.statements import Paper, Statement, misprint, row, section, undecidable


def test_a_section_has_heading_picture_and_table():
    paper = Paper(
        "smith",
        "Smith 2010, a knee",
        (
            lambda: Statement("fig. 1", "2 mm", "2.01 mm", True),
            lambda: Statement("eq. 2", "x", "y", False, "why"),
            lambda: misprint("eq. 3", "a", "b", "c", True),
            lambda: misprint("eq. 4", "a", "b", "c", False),
            lambda: undecidable("fig. 5", "a curve", "figure missing"),
        ),
    )
    text = section(paper)
    assert text.startswith("## Smith 2010, a knee\n")
    assert "\n5 statements: 2 agrees, 1 differs, 1 error in print, 1 undecidable.\n" in text
    assert "| 1 | fig. 1 | 2 mm | 2.01 mm | agrees |" in text
    assert "| 2 | eq. 2 | x | y | differs: why |" in text
    assert "| 3 | eq. 3 | a | c | error in print: right is b |" in text
    assert "| 4 | eq. 4 | a | c | agrees |" in text
    assert "| 5 | fig. 5 | a curve | – | undecidable: figure missing |" in text
    assert "![" not in text


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_verdicts_are_those_of_the_page(paper, request):
    if paper.name == "lehtoranta":
        request.getfixturevalue("knee_data")  # a recorded walk
    tables = PAGE.read_text(encoding="utf-8").split(HEAD)[1].split(TAIL)[0]
    lines = tables.split(f"## {paper.title}\n")[1].split("\n## ")[0].splitlines()
    rows = [each for each in lines if each.startswith("| ") and each[2].isdigit()]
    assert len(rows) == len(paper.rows)
    for number, statement in enumerate(paper.statements(), start=1):
        place, printed, _, _ = row(statement)
        (line,) = [each for each in lines if each.startswith(f"| {number} | ")]
        assert line.startswith(f"| {number} | {place} | {printed} |"), statement
        assert line.split(" | ")[-1].startswith(statement.verdict), statement


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
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
