"""Stage a over designs: which designs are learnt, unseen and held out; the base design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.design_space_schema import satisfied
from pipeline.config.designs import design_config, design_space_of
from pipeline.config.schema import Config
from pipeline.errors import StageError
from pipeline.originals.knee_surfaces import build_implant
from surrogates.parametric.parameters import Parameters
from surrogates.sampling.designs import unit_design

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


#: Uses of designs: candidates that are learnt, or never learnt, of two kinds.
LEARNT, UNSEEN, HELD_OUT = "learnt", "unseen", "held_out"
_USES = (LEARNT, UNSEEN, HELD_OUT)
#: Candidates for each design that is learnt, where rounds choose.
CANDIDATES_EACH = 4
#: Part of a range by which designs that are learnt may lie outside, so that the ends of the ranges,
#: where the best designs often are, have neighbours on both sides.
_MARGIN = 0.03
#: Part of the designs of a use that are moved away from the middle of the ranges by a factor, up to
#: their ends: most of these lie at edges and corners, where errors are largest.
_OUTWARD, _STRETCH = {LEARNT: 0.25, UNSEEN: 0.5, HELD_OUT: 0.0}, 2.5
#: Most designs that are drawn for each feasible one, and most blocks of a sequence.
_MOST_DRAWN, _MOST_BLOCKS = 50, 12
#: Number of a use's first design.
_FIRST = {LEARNT: 0, UNSEEN: 1_000_000, HELD_OUT: 2_000_000}


class Drawn(NamedTuple):
    """Designs, and how many were drawn and dropped."""

    #: `design` (number), `use`, and the value of each parameter in the unit of its name.
    table: pd.DataFrame
    #: Number of designs that were drawn.
    drawn: int
    #: Number of infeasible designs by reason.
    dropped: dict[str, int]


def parameters_of(config: Config) -> Parameters:
    """Return the parameters of the designs of a configuration."""
    space = design_space_of(config)
    low, high = np.array([parameter.range for parameter in space.parameter]).T
    return Parameters(space.names, low, high)


def draw_designs(config: Config) -> Drawn:
    """Stage a: draw the designs of all uses from Sobol sequences; drop infeasible designs.

    The designs that are learnt also lie a little outside of the ranges; part of them and of the
    unseen designs lies at edges and corners. A design is infeasible if it violates a constraint of
    [design_space], or if its configuration or implant is refused. Raises `StageError` if hardly any
    design is feasible.
    """
    space = design_space_of(config)
    counts = {
        LEARNT: space.designs * (CANDIDATES_EACH if space.rounds > 1 else 1),
        UNSEEN: space.unseen,
        HELD_OUT: space.held_out,
    }
    parts, dropped, drawn = [], dict[str, int](), 0
    for number, use in enumerate(_USES):
        rng = np.random.default_rng(np.random.SeedSequence([space.seed, number]))
        margin = _MARGIN if use == LEARNT else 0.0
        values, tried = _feasible(config, counts[use], margin, _OUTWARD[use], rng, dropped)
        drawn += tried
        table = pd.DataFrame(values, columns=pd.Index(space.names))
        numbers = _FIRST[use] + np.arange(len(table))
        table.insert(0, "design", numbers)
        table.insert(1, "use", use)
        parts.append(table)
    return Drawn(pd.concat(parts, ignore_index=True), drawn, dropped)


def _feasible(
    config: Config,
    count: int,
    margin: float,
    outward: float,
    rng: np.random.Generator,
    dropped: dict[str, int],
) -> tuple[FloatArray, int]:
    """Return the first feasible designs (count, P) of a Sobol sequence, and how many were drawn.

    The ranges are widened by a `margin` [1], whose infeasible designs do not count; the part
    `outward` [1] of the designs lies mostly at edges and corners, each of these once.
    """
    parameters = parameters_of(config)
    found, known = list[FloatArray](), set[bytes]()
    tried = blocks = 0
    while count and len(found) < count:
        if tried >= _MOST_DRAWN * count or blocks > _MOST_BLOCKS:
            told = "; ".join(f"{number} times {reason}" for reason, number in dropped.items())
            raise StageError(
                f"[design_space]: {len(found)} of {tried} designs are feasible: {told}; change the "
                "ranges or the constraints"
            )
        # A Sobol sequence is even in blocks of a power of two.
        size = max(tried, 2 ** int(np.ceil(np.log2(count))))
        blocks += 1
        unit = unit_design("sobol", size, len(parameters) + 1, rng)
        factor = np.where(unit[:, -1:] < outward, _STRETCH, 1.0)
        unit = np.clip(0.5 + factor * (unit[:, :-1] - 0.5), 0.0, 1.0)
        for point in (1.0 + 2.0 * margin) * unit - margin:
            if len(found) == count:
                break
            values, inside = parameters.from_unit(point), abs(point - 0.5).max() <= 0.5
            if values.tobytes() in known:
                continue
            known.add(values.tobytes())
            tried += 1
            if not (reason := infeasible(config, parameters.named(values))):
                found.append(values)
            elif inside:
                dropped[reason] = dropped.get(reason, 0) + 1
            else:
                tried -= 1
    return np.array(found).reshape(count, len(parameters)), tried


def infeasible(config: Config, values: Mapping[str, float]) -> str:
    """Return why a design is infeasible, without its numbers; "" for a feasible design."""
    space = design_space_of(config)
    columns = {name: np.array([value]) for name, value in values.items()}
    for text in space.constraints:
        if not satisfied(text, columns)[0]:
            return f"not {text}"
    try:
        own = design_config(config, values)
        if own.knee.source == "builtin":
            build_implant(own.knee.implant)
    except InputError as error:
        return _without_numbers(str(error))
    return ""


def _without_numbers(text: str) -> str:
    """Return a message without the design and what was found, which differ between designs."""
    if text.startswith("design with "):
        text = text.partition(": ")[2]
    return text.partition(", found")[0]
