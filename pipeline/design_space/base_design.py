"""The design that stands for the base configuration of a run over designs."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.config.designs import design_space_of
from pipeline.config.schema import Config

#: Origin of a value that the base configuration states.
STATED = "base configuration"


class BaseValue(NamedTuple):
    """Value of a parameter in the unit of its name, and where it comes from, in words."""

    value: float
    origin: str


def base_values(config: Config) -> dict[str, BaseValue]:
    """Return the value of each parameter in the base configuration, by name.

    Of a parameter that the base configuration does not state as a number within the range, the
    middle of the range.
    """
    tree = config.model_dump()
    found = {}
    for parameter in design_space_of(config).parameter:
        low, high = parameter.range
        stated = _stated(tree, parameter.key)
        if isinstance(stated, float | int) and low <= stated <= high:
            found[parameter.label] = BaseValue(float(stated), STATED)
        else:
            told = "no number" if isinstance(stated, str) or stated is None else f"{stated:g}"
            origin = f"middle of the range, the base configuration has {told}"
            found[parameter.label] = BaseValue(0.5 * (low + high), origin)
    return found


def _stated(tree: dict[str, Any], key: str) -> Any:
    """Return the value of a dotted key; None if a section is missing."""
    branch: Any = tree
    for name in key.split("."):
        if not isinstance(branch, dict):
            return None
        branch = branch.get(name)
    return branch
