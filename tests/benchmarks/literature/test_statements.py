"""Tables of statements: the verdict of every row is that of the documentation."""

from __future__ import annotations

import pytest
from some_slow import some_slow

from benchmarks.literature.__main__ import HEAD, PAGE, TAIL
from benchmarks.literature.papers import PAPERS
from benchmarks.literature.statements import Erratum, Paper, Statement, section

#: Simulations make the others last some seconds each.
SOME = some_slow(PAPERS, lambda paper: paper.name == "kaplan")


def test_a_section_has_heading_picture_and_tables():
    paper = Paper(
        "smith",
        "Smith 2010, a knee",
        lambda: [
            Statement("fig. 1", "2 mm", "2.01 mm", True),
            Statement("eq. 2", "x", "y", False, "why"),
        ],
        lambda: [Erratum("eq. 3", "a", "b", "c", True)],
    )
    text = section(paper)
    assert text.startswith("## Smith 2010, a knee\n")
    assert "| fig. 1 | 2 mm | 2.01 mm | agrees |" in text
    assert "| eq. 2 | x | y | differs: why |" in text
    assert "| eq. 3 | a | b | c |" in text
    assert "![" not in text


@pytest.mark.parametrize("paper", SOME, ids=lambda paper: paper.name)
def test_the_verdicts_are_those_of_the_page(paper):
    tables = PAGE.read_text(encoding="utf-8").split(HEAD)[1].split(TAIL)[0]
    assert f"## {paper.title}\n" in tables
    for statement in paper.statements():
        verdict = "agrees" if statement.agrees else "differs"
        rows = [line for line in tables.splitlines() if f"| {statement.printed} |" in line]
        assert any(line.split(" | ")[-1].startswith(verdict) for line in rows), statement
    for erratum in paper.errata():
        assert erratum.proven, erratum
        assert f"| {erratum.printed} | {erratum.right} |" in tables


@pytest.mark.parametrize("paper", SOME, ids=lambda paper: paper.name)
def test_no_cell_breaks_its_row(paper):
    assert all(line.count("|") in (0, 5) for line in section(paper).splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("paper", [p for p in PAPERS if p.picture], ids=lambda paper: paper.name)
def test_the_picture_is_drawn(paper, tmp_path):
    paper.picture().savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1e4
