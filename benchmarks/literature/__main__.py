"""Compare statements of papers with ours: `python -m benchmarks.literature [PAPER ...]`.

The program prints one table per paper. `--docs` rewrites the tables and pictures of
docs/literature.md, and docs/literature/statements.csv, which has all rows with all figures.
"""

from __future__ import annotations

import argparse
import csv

from benchmarks.frame import DOCS
from benchmarks.literature.papers import PAPERS
from benchmarks.literature.statements import HEAD, Paper, numbered, section, summary, tally

PAGE = DOCS / "literature.md"
RECORD = DOCS / "literature" / "statements.csv"
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"


def write_tables(tables: dict[Paper, list[tuple[str, ...]]]) -> None:
    """Replace the tables of the page, and the record of all rows."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    text = "\n".join(summary(paper, rows) for paper, rows in tables.items())
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("paper", *HEAD))
        writer.writerows((paper.name, *row) for paper, rows in tables.items() for row in rows)


def write_page(papers: tuple[Paper, ...]) -> None:
    """Replace the tables of the page, the record of all rows, and the pictures."""
    write_tables({paper: numbered(paper) for paper in papers})
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
