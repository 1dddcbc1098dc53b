"""CalculiX on a flat layer with an exact solution, and beside the finite-element model.

`python -m benchmarks.peers.layers_study` prints the section of docs/peers.md alone; the other
engines are not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import exact_layer
from benchmarks.exact import MODULUS, RATIO, THICKNESS
from benchmarks.exact_layer_compliance import Layer
from benchmarks.frame import Table, alike
from benchmarks.knees import data_folder, gait_poses, load_knee
from benchmarks.peers.calculix import program_version, solve, unavailable
from benchmarks.peers.flat_layer import layer, paraboloid
from benchmarks.peers.layers_compared import Compared, compare
from foundation.finite_element.base import SolidBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.surfaces import load_mesh

_RADII, _LOAD = (78e-3, 183e-3), 1000.0
_SPACINGS = (2e-3, 1e-3)
_SHALLOW = 100.0
_SOLID = "grand_challenge_DM_implant/Tibial Insert decimated.stl"
#: Poses of the cycle, and which of them: about one and three sixths, in stance.
_POSES, _CHOSEN = 6, (1, 3)

_TEXT = """### Finite elements: CalculiX

CalculiX {version} (C3D8I elements, small strains, node-to-surface penalty of 2e6 /m times Young's
modulus). CalculiX measures the gap of a displaced node along the femur's normal, so that the
tangential displacement counts where the femur slopes. Linear layer theory and the finite-element
model of this project count the displacement along the layer's normal alone. "Shallow" is the same
patch under a paraboloid of {shallow:g} times the radii at a hundredth of the approach: no slopes,
and the errors are those of the elements. At equal spacing the difference between "as it is" and
"shallow" is the effect of the slopes. The finite-element model raises its overlaps for the
straight sides of the elements; the bearing nodes of CalculiX are raised by the same heights.

{flat}

{real}
"""


@dataclass(frozen=True)
class FlatRow:
    """Errors of CalculiX at the exact approach of 1000 N, relative, and the time [s]."""

    spacing: float
    shallow: bool
    load: float
    peak_pressure: float
    area: float
    seconds: float


def flat_study() -> list[FlatRow]:
    """Press the paraboloid of 78 x 183 mm on a flat layer 8 mm thick, at two node spacings."""
    gap = exact_layer.paraboloid(*_RADII)
    exact = exact_layer.exact_contact(Layer(MODULUS, RATIO, THICKNESS), gap, load=_LOAD)
    rows = []
    for shallow, factor in ((False, 1.0), (True, _SHALLOW)):
        radii = (factor * _RADII[0], factor * _RADII[1])
        for spacing in _SPACINGS:
            mesh = layer(spacing, THICKNESS, (5e-3, 6.5e-3), 30e-3)
            femur = paraboloid(radii, exact.approach / factor, (6e-3, 8e-3), spacing)
            found = solve(mesh, (MODULUS, RATIO), *femur)
            errors = (
                factor * float(found.force[1]) / exact.load - 1.0,
                factor * found.peak_pressure / exact.peak_pressure - 1.0,
                found.area / exact.area - 1.0,
            )
            rows.append(FlatRow(spacing, shallow, *errors, found.seconds))
    return rows


def real_study(spacing: float = 1e-3) -> list[Compared] | str:
    """Compare both models on the Grand Challenge implant at two poses of gait, or say why not."""
    knee = load_knee("grand challenge")
    solid = data_folder() / _SOLID
    if knee is None or not solid.is_file():
        return "no Grand Challenge implant in $KNEE_DATA"
    base = SolidBase(load_mesh(solid, axes=("-x", "y", "-z"), check=False))
    model = FiniteElementContact(*knee, ElasticLayer(MODULUS, RATIO, base), spacing=spacing)
    poses = gait_poses(model, _POSES)
    return [row for k in _CHOSEN for row in compare(model, poses[k])]


def section(announce: Callable[[str], None] = lambda text: None) -> str:
    """Return the section of the page, or the reason why there are no figures."""
    reason = unavailable()
    if reason:
        return f"### Finite elements: CalculiX\n\nNot measured: {reason}."
    announce("CalculiX on a flat layer")
    flat = flat_study()
    announce("CalculiX and the finite-element model on the Grand Challenge implant")
    real = real_study()
    return _TEXT.format(
        version=program_version(), shallow=_SHALLOW, flat=_flat_table(flat), real=_real_table(real)
    )


def _flat_table(rows: list[FlatRow]) -> Table:
    shown = [
        ("shallow" if row.shallow else "as it is", row.spacing,
         row.load, row.peak_pressure, row.area, row.seconds)
        for row in rows
    ]  # fmt: skip
    columns = {"paraboloid": "", "spacing [mm]": "g",
               **alike(("load [%]", "peak [%]", "area [%]"), "+.2f"),
               "time [s]": ".0f"}  # fmt: skip
    title = "Error on a flat layer of 8 mm, paraboloid 78 x 183 mm, at the exact approach of 1000 N"
    return Table(title, columns, shown)


def _real_table(rows: list[Compared] | str) -> Table | str:
    title = "The finite-element model from CalculiX, Grand Challenge implant, 1 mm, same meshes"
    if isinstance(rows, str):
        return f"### {title}\n\nNot measured: {rows}."
    shown = [
        (row.compartment, row.calculix.force[1], row.calculix.peak_pressure, row.load_difference,
         row.peak_difference, row.area_difference, row.calculix.seconds)
        for row in rows
    ]  # fmt: skip
    columns = {"compartment": "", "axial force [N]": ".1f", "peak [MPa]": ".2f",
               "force [%]": ".2f", **alike(("peak [%]", "area [%]"), "+.2f"),
               "time of CalculiX [s]": ".0f"}  # fmt: skip
    return Table(title, columns, shown)


if __name__ == "__main__":
    print(section(print))
