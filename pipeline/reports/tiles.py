"""Figures at the top of the report: tiles of the page, and lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from foundation.base.loads import COMPARTMENTS
from pipeline.reports.accuracy import height_error, worst_load
from pipeline.reports.gait_section import Gait
from pipeline.reports.inputs import HEADLINE_COLUMNS, RunFiles
from pipeline.reports.model_section import doubted
from pipeline.reports.units import ASCII, largest, number
from pipeline.store.quantities import CATALOGUE
from pipeline.store.run_documents import MODELS


class Tile(NamedTuple):
    """A figure of a run."""

    what: str
    #: The figure with its unit, and what else is to say.
    value: str
    words: str
    #: Class of the tile in the page.
    kind: str = ""

    @property
    def line(self) -> str:
        """The tile for the terminal, in ASCII characters."""
        return f"{self.what}: {self.value}, {self.words}".translate(ASCII)


def knee_tiles(knee: Mapping[str, Any] | None, layer: Mapping[str, Any] | None) -> Iterator[Tile]:
    """Yield the figures of a knee in gait, beside those of the elastic layer."""
    if knee is None:
        return
    known = {name: number(value) for name, value in knee.items() if value is not None}
    for side in COMPARTMENTS:
        if (peak := known.get(f"{side}_peak_pressure_MPa")) is not None:
            words = "largest over the cycle"
            if layer and (compartment := layer["compartments"].get(side)):
                layer_peak = number(compartment["layer_peak_pressure_MPa"], 2)
                words = (
                    f"by {layer['model']}; the elastic layer: about {layer_peak} MPa"
                    f"{doubted(compartment)}"
                )
            yield Tile(f"Peak pressure, {side}", f"{peak} MPa", words)
    if (area := known.get("largest_area_mm2")) is not None:
        yield Tile("Contact area, largest", f"{area} mm²", "of both compartments")
    for what, name, token, unit, way in (
        ("AP travel", "anterior", "mm", " mm", "anterior"),
        ("Int.-ext. rotation", "rotation", "deg", "°", "internal"),
    ):
        size, low, high = (known[f"{name}_{end}_{token}"] for end in ("range", "least", "largest"))
        yield Tile(what, f"{size}{unit}", f"{low} to {high}{unit} {way}")
    if (share := known.get("medial_share_percent")) is not None:
        yield Tile("Medial share of the load", f"{share} %", "of the axial force over the cycle")
    if (worn := known.get("wear_mm3_per_million_cycles")) is not None:
        words = "per million cycles (Archard's law)"
        yield Tile("Wear, polyethylene", f"{worn} mm³", words, "wear")


def surrogate_tiles(files: RunFiles, gait: Gait) -> Iterator[Tile]:
    """Yield accuracy, speed and samples of the surrogate of a run."""
    worst, height = worst_load(files.validation.figures), height_error(files.figures)
    load = f"{worst.part} {CATALOGUE[worst.quantity].label}"
    words = f"error of the worst of the six loads over its peak (NRMSE): {load}, at unseen poses"
    yield Tile("Accuracy, pose given", f"{number(worst.displayed['value'])} %", words)
    if height is not None:
        most = height_error(files.figures, "maximum")
        words = f"error of the height at which a load is carried (RMS, {height.part})"
        if most is not None:
            words += f"; largest {number(most.displayed['value'])} µm"
        yield Tile("Accuracy, load given", f"{number(height.displayed['value'])} µm", words)
    shares = gait.rms_over_range_percent
    force, anterior, *pressures = (shares.get(column) for column in HEADLINE_COLUMNS)
    for what, share in (
        ("medial axial force", force),
        ("AP position", anterior),
        ("peak pressure, worse compartment", largest(pressures)),
    ):
        if share is not None:
            words = f"{what}: difference from the original over the cycle, RMS over range"
            yield Tile("Accuracy in gait", f"{number(share)} %", words)
    if (speed := gait.speed) is not None:
        for what, name, unit, sign, words in (
            ("evaluation", "evaluation", "us", "µs", ", loads with their Jacobian"),
            ("whole gait cycle", "cycle", "s", "s", ""),
        ):
            one, other = (number(speed[f"{m}_{name}_{unit}"]) for m in MODELS)
            words = f"original {one} {sign}, surrogate {other} {sign}{words}"
            yield Tile(f"Speed, {what}", f"{number(speed[f'{name}_ratio'])} ×", words, "speed")
    if (varied := gait.combinations) is not None:
        words = f"{number(varied['median_cycle_ratio'])} times as fast in the median"
        yield Tile("Combinations of inputs", number(varied["total"]), words)
    total = files.run.counts["total"]
    words = (
        f"trained on; {number(total.candidates)} candidates, "
        f"{number(total.first + total.evaluated + total.gait)} evaluated, "
        f"{number(len(files.held_out))} held out"
    )
    yield Tile("Samples", number(total.training + total.gait), words, "domain")
