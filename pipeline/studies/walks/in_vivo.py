"""Comparison of a walk with instrumented knees, and likely causes of a difference."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dynamics.simulator.result import SimulationResult
from dynamics.walking.knee_loads import KneeLoads
from pipeline.store.run_documents import Computed
from pipeline.studies.walks.loads import Walk

#: Mean peak tibiofemoral force of five instrumented knees in level walking, over the body weight
#: (Kutzner et al. 2010, J Biomech 43:2164-2173).
IN_VIVO_PEAK = 2.61
#: Usual peaks over the body weight in level walking, about that mean.
PEAK_RANGE = (2.0, 3.0)
#: Usual medial share of the transmitted load (Erhart et al. 2010, J Orthop Res
#: 28:1548-1553, introduction).
MEDIAL_RANGE = (0.6, 0.8)


#: Place of a figure relative to its usual range.
Place = Literal["below", "within", "above"]


class InVivo(Computed):
    """Peak force and medial share of a walk, the usual ranges, and causes of differences."""

    peak_BW: float
    usual_peak_BW: list[float]
    medial_share: float | None
    mean_medial_share: float | None
    usual_medial_share: list[float]
    peak_is: Place
    share_is: Place
    causes: list[str]


def in_vivo_comparison(
    walk: Walk,
    result: SimulationResult,
    *,
    cocontraction_kPa: float,
    medial_offset_mm: float,
    largest_offset_mm: float,
) -> InVivo:
    """Compare peak force and medial share of a walk with those of instrumented knees.

    Parameters
    ----------
    walk : Walk
        Knee loads of the walk.
    result : SimulationResult
        Simulated gait cycle.
    cocontraction_kPa : float
        Least stress of every muscle [kPa].
    medial_offset_mm : float
        Distance of the axial force of the simulator from the tibial origin, medial positive [mm].
    largest_offset_mm : float
        Largest adduction moment over axial force that contact carries [mm]; 0 without the moment.
    """
    knee = walk.knee
    peak = max(knee.peaks(walk.body_weight))
    columns = result.columns()
    total = columns["total_force_y_N"]
    at = int(np.argmax(total))
    share = float(columns["medial_force_y_N"][at] / total[at])
    of_all = float(columns["medial_force_y_N"].sum() / total.sum())
    causes = []
    if peak < PEAK_RANGE[0]:
        causes.append(
            f"the muscles share the moments without antagonists (at least {cocontraction_kPa:g} "
            "kPa in every muscle: a larger muscles.cocontraction_kPa presses the joint more), and "
            "a slow walk loads the knee less"
        )
    if peak > PEAK_RANGE[1]:
        causes.append(
            "the knee is a pin with planar motion, so that errors of the motion, of the point of "
            "the ground force and of the moment arms become muscle force (check the joint moments; "
            f"every muscle has at least {cocontraction_kPa:g} kPa of muscles.cocontraction_kPa)"
        )
    if not MEDIAL_RANGE[0] <= share <= MEDIAL_RANGE[1]:
        causes.append(_cause_of_share(knee, medial_offset_mm, largest_offset_mm))
    return InVivo(
        peak_BW=peak,
        usual_peak_BW=list(PEAK_RANGE),
        medial_share=share,
        mean_medial_share=of_all,
        usual_medial_share=list(MEDIAL_RANGE),
        peak_is=_place(peak, PEAK_RANGE),
        share_is=_place(share, MEDIAL_RANGE),
        causes=causes,
    )


def _cause_of_share(knee: KneeLoads, medial_offset_mm: float, largest_offset_mm: float) -> str:
    most = knee.external_adduction_moment.max()
    moment = f"the external adduction moment (up to {most:.0f} N·m)"
    if not largest_offset_mm:
        return (
            f"{moment} is not applied, and the axial force acts {medial_offset_mm:g} mm medial of "
            "the tibial origin for the whole stride (simulation.medial_offset_mm of the run sets "
            "the share)"
        )
    return (
        f"{moment} depends on the lateral position of the knee (measured.pelvis_z_m), "
        "contact carries the moment with or without the frontal moments of the muscles "
        "(muscles.adduction_moment), up to an offset of "
        f"{largest_offset_mm:g} mm (muscles.largest_offset_mm)"
    )


def _place(value: float, usual: tuple[float, float]) -> Place:
    if value < usual[0]:
        return "below"
    return "above" if value > usual[1] else "within"
