"""The formulations of a compartment: the one place where a formulation is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from surrogates.compiled.compartments import DIRECT, INVERTED
from surrogates.formulations.lessons import Lesson, Samples, height_over_load, loads_over_height


class Formulation(NamedTuple):
    """A formulation of a compartment.

    Attributes
    ----------
    code : int
        Code of the formulation in the compiled evaluation.
    learns_heights : bool
        Whether heights over the load are learnt, or the loads over the height.
    groups : tuple of str
        Names of the groups of outputs, whose units `pipeline.store.quantities.OUTPUTS` lists.
    lesson : callable
        Returns what is learnt from samples, for F_max [N] and p [1].
    """

    code: int
    learns_heights: bool
    groups: tuple[str, ...]
    lesson: Callable[[Samples, float, float], Lesson]


#: Formulations of a compartment by name, which is also the name of the functions in exported C.
FORMULATIONS = {
    "inverted": Formulation(INVERTED, True, ("height", "ratios", "quantities"), height_over_load),
    "direct": Formulation(DIRECT, False, ("loads",), loads_over_height),
}
