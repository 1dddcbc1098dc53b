"""Statements of papers beside ours: `python -m benchmarks.literature [PAPER ...]` prints tables.

With `--docs`, the tables and pictures of docs/literature.md are written anew.
"""

from __future__ import annotations

import argparse

from benchmarks.frame import DOCS
from benchmarks.literature.papers import PAPERS
from benchmarks.literature.statements import Paper, section, tally

PAGE = DOCS / "literature.md"
HEAD, TAIL = "<!-- tables -->\n", "<!-- end of tables -->\n"


def write_page(papers: tuple[Paper, ...]) -> None:
    """Replace the tables of the page, and the pictures."""
    before, rest = PAGE.read_text(encoding="utf-8").split(HEAD)
    text = "\n".join(section(paper) for paper in papers)
    PAGE.write_text(f"{before}{HEAD}\n{text}\n{TAIL}{rest.split(TAIL)[1]}", encoding="utf-8")
    for paper in papers:
        if paper.picture is not None:
            paper.picture().savefig(DOCS / paper.image, dpi=110)


def main() -> None:
    """Print the tables of the chosen papers, or write those of all papers to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="names; all by default")
    parser.add_argument("--docs", action="store_true", help=f"write docs/{PAGE.name} anew")
    arguments = parser.parse_args()
    known = {paper.name: paper for paper in PAPERS}
    if unknown := [name for name in arguments.papers if name not in known]:
        parser.error(f"expected names among {', '.join(known)}, found {', '.join(unknown)}")
    if arguments.docs:
        write_page(PAPERS)
        return
    chosen = [known[name] for name in arguments.papers or known]
    for paper in chosen:
        print(section(paper))
    print(f"{tally([each for paper in chosen for each in paper.statements()])}.")


if __name__ == "__main__":
    main()
