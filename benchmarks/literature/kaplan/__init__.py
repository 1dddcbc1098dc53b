"""Kaplan, Hovey & Heegaard: heel strike by penalty contact with stick-slip friction.

The figures are missing from the scan, and the document gives no lengths, masses, postures or
parameters of the ground: the rows use our own values.
"""

from __future__ import annotations

from benchmarks.literature.kaplan import gait, penalty_law, rigid_laws
from benchmarks.literature.kaplan.picture import picture
from benchmarks.literature.statements import Paper

PAPER = Paper(
    "kaplan",
    "Kaplan, Hovey & Heegaard, heel strike by penalty contact",
    (*rigid_laws.STATEMENTS, *penalty_law.STATEMENTS, *gait.STATEMENTS),
    picture,
)
"""The document in the table of statements."""
