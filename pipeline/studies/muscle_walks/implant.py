"""Forces of an instrumented implant beside those of a walk of an OpenSim model."""

from __future__ import annotations

import numpy as np
from scipy.constants import g as STANDARD_GRAVITY

from dynamics.musculoskeletal import ComakResult, OsimModel
from dynamics.musculoskeletal.knee_reaction import KneeLoads
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.config.data_folder import data_file
from pipeline.studies.implant_forces.comparison import PARTS, MeasuredWalk, compare_with_implant
from pipeline.studies.implant_forces.forces import read_implant_forces
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import WalkSetup
from pipeline.studies.muscle_walks.summary import body_weight
from pipeline.studies.muscle_walks.tables import contact_table, run_frames


def check_implant_forces(file: MuscleWalkFile) -> None:
    """Read the measured forces of a walk, if there are any, before the walk is simulated.

    Raises `InputError` if the file cannot be used, or a stated contact is none of the model.
    """
    config = file.implant_forces
    if config is None:
        return
    model = OsimModel(data_file(file.walk.model))
    read_implant_forces(config, model.mass * STANDARD_GRAVITY)
    names = [contact.name for contact in model.contacts]
    if config.contact is not None and config.contact not in names:
        raise InputError(
            f"implant_forces.contact: expected a contact of {model.path.name}, {', '.join(names)}, "
            f"found {config.contact!r}"
        )


def measured_walk(
    file: MuscleWalkFile, setup: WalkSetup, result: ComakResult, knee: KneeLoads | None = None
) -> MeasuredWalk | None:
    """Return the measured forces beside those of a walk; None without measured forces.

    Both are axial: along the axis of the implant, and upwards in the frame of the bed, or of the
    tibia of a knee without articular contact. Raises `InputError` as `compare_with_implant`, or if
    several contacts have two compartments and none is stated.
    """
    config = file.implant_forces
    if config is None:
        return None
    if knee is not None:
        total = {"total": knee.axial_force}
        return compare_with_implant(config, knee.time, total, body_weight(setup), knee.joint)
    table = contact_table(result, run_frames(setup))
    contact = config.contact or _tibiofemoral(result)
    predicted = {
        part: np.abs(table.column(name))
        for part in PARTS
        if (name := f"{contact}_{part}_force_y_N") in table.names
    }
    return compare_with_implant(config, result.time, predicted, body_weight(setup), contact)


def _tibiofemoral(result: ComakResult) -> str:
    """Return the only contact with a medial and a lateral compartment."""
    frame = result.loads[0]
    found = [
        name
        for k, name in enumerate(result.contacts)
        if set(COMPARTMENTS) <= set(frame[k].compartments)
    ]
    if len(found) != 1:
        raise InputError(
            f"implant_forces.contact: expected the contact that the implant measured, since "
            f"{len(found)} of {', '.join(result.contacts)} have a medial and a lateral compartment"
        )
    return found[0]
