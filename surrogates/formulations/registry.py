"""The formulations of a compartment: the one place where a formulation is registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from surrogates.formulations.lessons import Lesson, height_over_load, loads_over_height


class Formulation(NamedTuple):
    """A formulation of a compartment; `lesson` returns what is learnt, for F_max [N] and p [1]."""

    #: Whether heights over the load are learnt, or the loads over the height.
    learns_heights: bool
    #: Groups of outputs, whose units `pipeline.store.quantities.OUTPUTS` lists.
    groups: tuple[str, ...]
    lesson: Callable[..., Lesson]


#: Formulations of a compartment by name, which is also the name of the functions in exported C.
FORMULATIONS = {
    "inverted": Formulation(True, ("height", "ratios", "quantities"), height_over_load),
    "direct": Formulation(False, ("loads",), loads_over_height),
}
