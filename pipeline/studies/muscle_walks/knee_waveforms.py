"""Knee of a walk without articular contact: waveforms for `[simulation.waveforms]`, and charts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from dynamics.musculoskeletal import ComakResult
from dynamics.musculoskeletal.knee_reaction import Knee, KneeLoads, knee_loads
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from dynamics.simulator.waveform_tables import load_gait_cycle
from dynamics.simulator.waveforms import lead_back
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture
from pipeline.store.run_documents import Computed
from pipeline.store.samples import write_csv
from pipeline.studies.muscle_walks.frames import FrameCharts
from pipeline.studies.muscle_walks.setup import WalkSetup

#: Waveforms in the folder of a walk.
WAVEFORMS = "waveforms.csv"
#: Least axial force of the waveforms [N]: a knee without ligaments stays in contact in swing.
LEAST_FORCE = 100.0
#: Recommended part of the largest moment on a coordinate that its reserve gives (OpenSim's guide to
#: static optimisation), and reserves too small to matter [1, N m].
_RESERVE, _SMALL = 0.1, 1.0


class KneeSummary(Computed):
    """Cycle and loads of the knee: peak of the axial force, and least and largest values."""

    joint: str
    leg: str
    cycle_s: list[float]
    period_s: float
    peak_N: float | None
    peak_BW: float | None
    peak_at_s: float
    least_axial_force_N: float
    flexion_deg: list[float]
    axial_force_N: list[float]
    ap_force_N: list[float]
    internal_torque_Nm: list[float]
    adduction_moment_Nm: list[float]


def loads_of_knee(setup: WalkSetup, result: ComakResult) -> KneeLoads | None:
    """Return the loads of the knee of a walk; None for a model with articular contact."""
    if setup.knee is None:
        return None
    assert isinstance(setup.plant, OpenSimPlant)
    return knee_loads(setup.model, setup.knee.joint, setup.plant, result)


def write_waveforms(folder: Path, knee: Knee, loads: KneeLoads) -> tuple[str, ...]:
    """Write the waveforms of a knee; return no or one flag: why `run` would refuse them."""
    path = folder / WAVEFORMS
    write_csv(waveform_table(knee, loads), path, "%.9g")
    try:
        load_gait_cycle(path, knee.stop - knee.start)
    except InputError as error:
        return (str(error),)
    return ()


def waveform_table(knee: Knee, loads: KneeLoads) -> pd.DataFrame:
    """Return the cycle of a knee in the columns of `load_gait_cycle`, and the adduction moment."""
    part = np.linspace(0.0, 1.0, 101)

    def closed(signal: FloatArray) -> FloatArray:
        instants = knee.start + (knee.stop - knee.start) * part
        return lead_back(part, np.interp(instants, loads.time, signal))

    return pd.DataFrame(
        {
            "gait_percent": 100.0 * part,
            "flexion_deg": np.degrees(closed(loads.flexion)),
            "axial_force_N": np.maximum(closed(loads.axial_force), LEAST_FORCE),
            "ap_force_N": closed(loads.ap_force),
            "internal_torque_Nm": closed(loads.internal_torque),
            "adduction_moment_Nm": closed(loads.adduction_moment),
        }
    )


def knee_summary(knee: Knee, loads: KneeLoads, weight: float) -> KneeSummary:
    """Return the summary of a knee; `weight` is that of the body [N]."""
    peak = int(loads.axial_force.argmax())

    def ends(values: FloatArray) -> list[float]:
        return [float(values.min()), float(values.max())]

    return KneeSummary(
        joint=loads.joint,
        leg=loads.leg or "unknown",
        cycle_s=[knee.start, knee.stop],
        period_s=knee.stop - knee.start,
        peak_N=loads.axial_force[peak],
        peak_BW=loads.axial_force[peak] / weight,
        peak_at_s=loads.time[peak],
        least_axial_force_N=LEAST_FORCE,
        flexion_deg=ends(np.degrees(loads.flexion)),
        axial_force_N=ends(loads.axial_force),
        ap_force_N=ends(loads.ap_force),
        internal_torque_Nm=ends(loads.internal_torque),
        adduction_moment_Nm=ends(loads.adduction_moment),
    )


def reserve_flags(setup: WalkSetup, result: ComakResult) -> list[str]:
    """Return flags on a knee that no muscle moves, and coordinates whose reserve gives much."""
    if setup.knee is None:
        return []
    none, flags, joint = np.zeros(0), [], setup.knee.joint
    if not set(joint.coordinates) & set(result.free):
        flags.append(
            f"{joint.name}: expected muscles that give the moment of the knee, found none, so that "
            f"its load lacks them; the coordinates that muscles move are {', '.join(result.free)}"
        )
    needed = [setup.plant.forces(frame, none, none).needed for frame in range(len(result.time))]
    moments = np.abs(needed).max(axis=0)
    for k, name in enumerate(result.free):
        reserve = np.abs(result.reserves[:, k])
        peak = int(reserve.argmax())
        if reserve[peak] > max(_RESERVE * moments[k], _SMALL):
            flags.append(
                f"reserve of {name}: expected at most {100.0 * _RESERVE:g} % of the largest moment "
                f"of {moments[k]:.0f} N m, found {reserve[peak]:.1f} N m at "
                f"{result.time[peak]:.4g} s: the muscles are too weak, or motion and forces "
                "do not fit the model"
            )
    return flags


def knee_text(knee: KneeSummary | None, folder: Path) -> list[str]:
    """Return no lines, or those on a knee and on the run that its waveforms drive."""
    if knee is None:
        return []
    start, stop = knee.cycle_s
    ap, torque = knee.ap_force_N, knee.internal_torque_Nm
    return [
        f"{knee.joint} ({knee.leg}), cycle of {start:.4g} to {stop:.4g} s: axial force at most "
        f"{knee.peak_BW:.2f} body weights ({knee.peak_N:.0f} N at {knee.peak_at_s:.4g} s), AP "
        f"force {ap[0]:.0f} to {ap[1]:.0f} N, torque {torque[0]:.1f} to {torque[1]:.1f} N m",
        f"next: knee-contact run walking_implant --set simulation.waveforms="
        f"{folder / WAVEFORMS} --set simulation.period_s={knee.period_s:.4g}",
    ]


def knee_charts(charts: FrameCharts, loads: KneeLoads | None, weight: float) -> Iterator[Picture]:
    """Yield the charts of the loads of a knee; `weight` is that of the body [N]."""
    if loads is None:
        return
    for name, title, label, values in (
        ("axial-force", "Axial force", "force [body weights]", loads.axial_force / weight),
        ("ap-force", "AP force on the tibia", "force to the front [N]", loads.ap_force),
        ("torque", "Torque on the tibia", "internal torque [N m]", loads.internal_torque),
        ("adduction", "Adduction moment", "moment [N m]", loads.adduction_moment),
        ("flexion", "Flexion", "flexion [°]", np.degrees(loads.flexion)),
    ):
        size = {"size": fig.WIDE} if name == "axial-force" else {}
        yield charts.chart(f"knee-{name}", f"{loads.joint}: {title}", label, {"": values}, **size)
