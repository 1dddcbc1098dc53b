"""The formulations of a compartment by name (see `surrogates.formulations.compartment_fit`)."""

from __future__ import annotations

from typing import NamedTuple

from surrogates.compiled.compartments import ENERGY, INVERTED, POWER, ROOT, STIFFNESS


class Formulation(NamedTuple):
    """What is learnt of a compartment, and from which samples.

    Attributes
    ----------
    code : int
        Code in the compiled evaluation.
    reference : {"touch", "load"}, optional
        Load whose heights the formulation learns: first contact, or the reference load.
    touches : bool
        Whether the formulation can learn the heights of first contact too.
    energies : bool
        Whether the formulation learns from stored energies.
    """

    code: int
    reference: str | None = None
    touches: bool = False
    energies: bool = False


#: Formulations of a compartment by name.
FORMULATIONS = {
    "inverted": Formulation(INVERTED, touches=True),
    "energy": Formulation(ENERGY, energies=True),
    "root": Formulation(ROOT, touches=True),
    "touch_stiffness": Formulation(STIFFNESS, reference="touch"),
    "load_stiffness": Formulation(STIFFNESS, reference="load"),
    "power": Formulation(POWER),
    "direct": Formulation(POWER),
}
