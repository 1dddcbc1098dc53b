"""Popović: chains of rigid bodies joined by pins and visco-elastic links, from members to orthosis.

The figures are missing from the scan, and the document gives no lengths, masses or stiffnesses:
the rows use our own values.
"""

from __future__ import annotations

from benchmarks.literature.popovic import constraints, example, links, state_equation
from benchmarks.literature.popovic.picture import picture
from benchmarks.literature.statements import Paper

PAPER = Paper(
    "popovic",
    "Popović: a limb in an orthosis",
    (
        *links.STATEMENTS,
        *constraints.STATEMENTS,
        *state_equation.STATEMENTS,
        *example.STATEMENTS,
    ),
    picture,
)
"""The document in the table of statements."""
