"""Lines of code and words of documentation against limits: a change may lower a limit, only."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = {".py", ".c", ".h", ".js", ".css", ".html", ".jinja"}
#: Most lines of each folder. Whoever needs more takes something out.
LINES = {
    "foundation": 17_160,
    "surrogates": 12_760,
    "dynamics": 14_750,
    "pipeline": 28_600,
    "benchmarks": 1_560,
    "examples": 1_600,
    "tests": 42_660,
}
#: Most words of README.md, CONTRIBUTING.md and the pages in docs, written by hand.
WORDS = 41_150


def lines_in(folder):
    files = (file for file in (ROOT / folder).rglob("*") if file.suffix in CODE)
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


@pytest.mark.parametrize("folder", LINES)
def test_lines_of_code(folder):
    assert 0 < lines_in(folder) <= LINES[folder]


def test_words_of_documentation():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    assert 0 < sum(len(page.read_text("utf-8").split()) for page in pages) <= WORDS
