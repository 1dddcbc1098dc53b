"""The formulations of a compartment by name (see `surrogates.formulations.compartment_fit`)."""

from __future__ import annotations

from surrogates.compiled.compartments import DIRECT, INVERTED

#: Code of each formulation in the compiled evaluation.
FORMULATIONS = {"inverted": INVERTED, "direct": DIRECT}
