"""Springs of a bed, independent or coupled, at a pose of the femur: what the library computes.

Independent springs of a layer that hardly changes its volume are too stiff: their confined modulus
is infinite at Poisson's ratio 0.5. Such a layer gives to a pressure on a patch of half width a
about as to a wave of the wave number 2/a (Hayes et al., `foundation.layer_theory`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray
from foundation.base.errors import PoseError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import AREA, CENTRE, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.core.library import CONSTANTS, CONTACT_SUMS, CORE, SCRATCH, Record, address
from foundation.elastic_foundation.laws import (
    CoupledLaw,
    LayerLaw,
    LinearLaw,
    SpringLaw,
    coupled_laws,
    single_laws,
)
from foundation.layer_theory.flat_layer import PER_STEP, deficit_table, strength, wave_compliance

#: Places of the largest indentation [m], the largest strain [1], the energy [J] and the offset of
#: the patch [m]; before them, the sums have the order of the loads.
DEPTH, STRAIN, ENERGY, OFFSET = range(12, CONTACT_SUMS)


class SpringSums(NamedTuple):
    """Sums (SUMS,) [SI] of a compartment, and derivative (6, 6) of its wrench by the pose."""

    sums: FloatArray
    jacobian: FloatArray

    @property
    def loads(self) -> FloatArray:
        """Loads (12,) [N, N m, m², Pa, m]."""
        s = self.sums.tolist()
        # The library sums pressure times area, and that times the place; loads have the means.
        area, carried = s[AREA], s[MEAN_PRESSURE]
        mean = carried / area if area > 0.0 else 0.0
        centre = [m / carried for m in s[CENTRE]] if carried > 0.0 else [np.nan] * 3
        return np.array([*s[:MEAN_PRESSURE], mean, *centre])

    @property
    def depth(self) -> FloatArray:
        """Largest indentation [m] and largest strain [1], (2,)."""
        return self.sums[DEPTH:ENERGY]

    @property
    def energy(self) -> float:
        """Elastic energy [J]."""
        return float(self.sums[ENERGY])


#: Largest strain of a patch that no lattice resolves, such as a sliver within a triangle.
_LIGHT = 0.02


def motion(
    twist: FloatArray | None = None,
    damping: float = 0.0,
    friction: float = 0.0,
    transition_speed: float = 1.0,
) -> Record:
    """Return the struct `dissipation` of a twist (6,) [m/s, rad/s]; None at rest."""
    moving = twist is not None and (damping > 0.0 or friction > 0.0)
    return Record(
        "dissipation",
        moving=moving,
        twist=np.zeros(6) if twist is None else twist,
        damping=damping,
        friction=friction,
        transition_speed=transition_speed,
    )


AT_REST = motion()


@dataclass(frozen=True, eq=False)
class Springs:
    """Femur, bed, law and coupling, structs of `foundation/core/contact.h`."""

    femur: Record
    bed: Record
    law: Record
    coupling: Record | None
    #: Largest indentation of the search [m].
    reach: float
    #: Whether loads are the gradient of the energy instead of along the bed's normals.
    conservative: bool

    @cached_property
    def _size(self) -> int:
        coupling = 0 if self.coupling is None else self.coupling.address
        return int(CORE.contact_scratch(self.bed.address, coupling))

    def evaluate(
        self,
        pose: Pose,
        chosen: NDArray[np.bool_],
        moving: Record = AT_REST,
        *,
        jacobian: bool = False,
        energy: bool = False,
        field: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums (C, CONTACT_SUMS) and Jacobians by the twist (C, 6, 6) [SI], if `chosen`."""
        # `field` (2, F), zero before, receives indentation and pressure at the middle of each
        # element. Light touches that no lattice resolves are borne by independent springs.
        # `PoseError` means that the compliance of coupled springs is not positive definite.
        sums, slopes = np.zeros((len(chosen), CONTACT_SUMS)), np.zeros((len(chosen), 6, 6))
        rotation, translation = pose.rotation_matrix, pose.translation
        shared = self.femur.address, self.bed.address
        place = address(rotation), address(translation)
        scratch = SCRATCH.of(self._size)
        if self.coupling is not None:
            chosen = chosen.copy()
            for side in map(int, np.flatnonzero(chosen)):
                own = None if field is None else np.zeros_like(field)
                solved = CORE.coupled_contact(
                    *shared, self.coupling.address, *place, side, self.reach, self.conservative,
                    address(sums[side]), address(slopes[side]) if jacobian else 0,
                    0 if own is None else address(own), scratch,
                )  # fmt: skip
                chosen[side] = not _resolved(sums[side], solved)
                if own is not None and field is not None and not chosen[side]:
                    field += own
            if not chosen.any():
                return sums, slopes
        kept, by_twist = sums[~chosen], slopes[~chosen]
        CORE.spring_contact(
            *shared, self.law.address, moving.address, *place, address(chosen), self.reach,
            self.conservative, energy or self.coupling is not None, address(sums),
            address(slopes) if jacobian else 0, 0 if field is None else address(field), scratch,
        )  # fmt: skip
        if self.coupling is not None:
            sums[~chosen], slopes[~chosen] = kept, by_twist
        return sums, slopes


def _resolved(sums: FloatArray, solved: int) -> bool:
    """Return whether a lattice resolves a patch with sums (CONTACT_SUMS,) [SI]."""
    if solved and (sums[MEAN_PRESSURE] > 0.0 or sums[DEPTH] == 0.0):
        return True
    if sums[STRAIN] > _LIGHT:
        raise PoseError(
            "the compliance of the layer is not positive definite on the patch of contact: "
            "expected less overlap of the surfaces or a thicker layer, found an overlap of "
            f"{1e3 * sums[DEPTH]:.3g} mm, {sums[STRAIN]:.3g} times the thickness"
        )
    return False


#: Width of Hertz's patch over the root of a central second moment of the overlap, of a paraboloid,
#: and a margin for wider patches.
_PATCH_WIDTH = 2.0 * np.sqrt(6.0) * 0.86
#: Distance of the edge found from nodal pressures outside the true edge, in edges of the cells.
EDGE_OFFSET = 0.05
#: Places of the nodes in the cells of the lattices that loads are averaged over.
_PLACES = ((0.0, 0.0), (0.5, 0.5))


def coupling_of(law: SpringLaw, thicknesses: FloatArray) -> Record | None:
    """Return the struct `coupling` of a law with thicknesses (L, F) [m] of elements, or None."""
    laws = coupled_laws(law)
    if not laws:
        return None
    tables = np.stack([deficit_table(each.poissons_ratio) for each in laws])
    return Record(
        "coupling",
        layers=len(laws),
        springs=thicknesses.shape[1],
        pieces=tables.shape[1],
        tables=tables,
        per_step=PER_STEP,
        strengths=np.array([strength(each.modulus, each.poissons_ratio) for each in laws]),
        ratios=np.array([each.poissons_ratio for each in laws]),
        thicknesses=np.array([[each.thickness_factor] for each in laws]) * thicknesses,
        scale=float(_PATCH_WIDTH) / laws[0].nodes_across,
        count_places=len(_PLACES),
        places=np.array(_PLACES),
        edge_offset=EDGE_OFFSET,
    )


NEARLY_INCOMPRESSIBLE = CONSTANTS["NEARLY_INCOMPRESSIBLE"]
#: Wave number of the layer times half width of the patch.
_WAVE = 2.0
#: Excess of the force over that of the wave: the estimate is within 10 % under the balls of
#: `make bench ARGS=accuracy.coupled_springs_under_balls`.
_SHARE = 0.78
#: Least excess that is said.
_SAID = 1.1


def soft_layers(law: SpringLaw, thicknesses: FloatArray) -> tuple[tuple[LayerLaw, float], ...]:
    """Return nearly incompressible layers and mean thicknesses [m], of thicknesses (L, F) [m]."""
    laws = single_laws(law)
    ratios = [each.poissons_ratio for each in laws if not isinstance(each, CoupledLaw)]
    if max(ratios, default=0.0) <= NEARLY_INCOMPRESSIBLE:
        return ()
    return tuple(zip(laws, thicknesses.mean(axis=1).tolist(), strict=True))


def confinement_flags(
    name: str, layers: tuple[tuple[LayerLaw, float], ...], sums: FloatArray
) -> tuple[Flag, ...]:
    """Return the flag of a compartment with sums (SUMS,) [SI], if its springs are too stiff."""
    area, peak, depth = sums[AREA], sums[PEAK_PRESSURE], sums[DEPTH]
    if not layers or area <= 0.0 or depth <= 0.0:
        return ()
    excess = _excess(peak * _compliance(layers, _WAVE / float(np.sqrt(area / np.pi))) / depth)
    if excess < _SAID:
        return ()
    ratio = max(law.poissons_ratio for law, _ in layers)
    return (Flag(FlagKind.STIFF_SPRINGS, name, (ratio, two_digits(excess))),)


def confined_excess(poissons_ratio: float) -> float:
    """Return how many times too stiff springs are on a patch twice as wide as the layer [1]."""
    law = LinearLaw(1.0, poissons_ratio, 1e-3)
    return _excess(_compliance(((law, 1e-3),), _WAVE / 1e-3) * law.confined_modulus / 1e-3)


def times(excess: float) -> str:
    """Return an excess in words."""
    return f"about {two_digits(excess):.15g} times"


def two_digits(excess: float) -> float:
    """Return an excess to two digits, or to a whole number from 10 up [1]."""
    return float(f"{excess:.0f}" if excess >= 10.0 else f"{excess:.2g}")


def _excess(peak: float) -> float:
    """Return the excess of force from that of a wave [1]."""
    return 1.0 + _SHARE * (peak - 1.0)


def _compliance(layers: tuple[tuple[LayerLaw, float], ...], wave_number: float) -> float:
    return sum(
        wave_compliance(law.youngs_modulus, law.poissons_ratio, thickness, wave_number)
        for law, thickness in layers
    )
