"""Static optimisation and the reaction of a knee, alone and beside OpenSim's own tools."""

import re

import numpy as np
import pytest
from bare_legs import BELOW, MUSCLES, TIME, WEIGHT, bare_model, bare_walk, solved, standing
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.external_loads import AppliedForce, write_applied_forces
from dynamics.musculoskeletal.knee_reaction import knee_cycle, knee_loads
from dynamics.musculoskeletal.osim_model import OsimModel
from foundation.base.errors import InputError
from pipeline.studies.muscle_walks.setup import prepare_walk

pytestmark = pytest.mark.usefixtures("opensim")

ABOVE = WEIGHT - BELOW
VASTI = tuple(muscle for muscle in MUSCLES if muscle[0] == "vasti")
#: Knees that bend by negative and by positive angles, by the turn of the frames of their joints.
BENDS = {(0.0, 0.0, 0.0): -1.0, (np.pi, 0.0, 0.0): 1.0}


def loads_of(
    folder, force, point, torque=(0.0, 0.0, 0.0), muscles=MUSCLES, turn=(0, 0, 0), **angles
):
    """Return the loads of the knee that the ground carries, the result and the setup."""
    model = bare_model(folder / "bare.osim", muscles=muscles, knee_turn=turn)
    setup, result = solved(bare_walk(model, *standing(folder, force, point, torque, **angles)))
    return knee_loads(setup.model, setup.knee.joint, setup.plant, result), result, setup


@pytest.mark.parametrize(("leg", "outward"), [("right", 0.1), ("left", -0.1)])
def test_a_knee_bears_the_weight_above(tmp_path, leg, outward):
    loads, result, _ = loads_of(tmp_path, (0.0, WEIGHT, 0.0), (0.0, 0.0, outward))
    assert loads.leg == leg
    assert_allclose(loads.axial_force, ABOVE, rtol=1e-9)
    for values in (loads.ap_force, loads.internal_torque, loads.adduction_moment, loads.flexion):
        assert_allclose(values, 0.0, atol=1e-9)
    assert_allclose(result.muscle_forces, 0.0, atol=1e-6)


@pytest.mark.parametrize(("leg", "outward"), [("right", 1.0), ("left", -1.0)])
def test_signs_of_force_torque_and_moment(tmp_path, leg, outward):
    """A push of the ground to the front, toes turned inwards, a force nearer the midline."""
    point, inwards = (0.0, 0.5, 0.07 * outward), (0.0, 5.0 * outward, 0.0)
    loads, *_ = loads_of(tmp_path, (30.0, WEIGHT, 0.0), point, inwards, VASTI)
    assert loads.leg == leg
    assert_allclose(loads.ap_force, 30.0, rtol=1e-6)
    # The push, medial of the axis of the tibia, turns the toes outwards.
    assert_allclose(loads.internal_torque, 5.0 - 0.03 * 30.0, rtol=1e-6)
    assert_allclose(loads.adduction_moment, 0.03 * WEIGHT, rtol=1e-6)


def test_one_muscle_balances_the_moment_and_compresses_the_knee(tmp_path):
    loads, result, setup = loads_of(tmp_path, (0.0, WEIGHT, 0.0), (-0.05, 0.0, 0.1), muscles=VASTI)
    assert setup.settings.primary == ("knee_angle_r", "knee_angle_l")
    moment = 0.05 * WEIGHT
    tension = result.muscle_forces[:, result.muscles.index("vasti_r")]
    reserve = result.reserves[:, 0]
    assert_allclose(0.04 * tension + np.abs(reserve), moment, rtol=1e-9)
    assert (np.abs(reserve) < 1e-2).all()
    assert_allclose(loads.axial_force, ABOVE + tension, rtol=1e-9)


@pytest.mark.parametrize("turn", BENDS)
def test_forces_are_along_the_bent_tibia(tmp_path, turn):
    angle = {"knee_angle_r": 30.0 * BENDS[turn]}
    force, foot = (0.0, WEIGHT, 0.0), (-0.2, 0.0, 0.1)
    loads, result, _ = loads_of(tmp_path, force, foot, (0, 0, 0), VASTI, turn, **angle)
    assert_allclose(np.degrees(loads.flexion), 30.0, rtol=1e-9)
    tension = result.muscle_forces[:, result.muscles.index("vasti_r")]
    c, s = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
    # From the insertion to the origin of the muscle, in the axes of the tibia.
    origin = np.array([[c, -s], [s, c]]) @ [0.04, 0.2] - [0.04, -0.1]
    pull = np.outer(tension, origin / np.linalg.norm(origin))
    assert_allclose(loads.axial_force, ABOVE * c + pull[:, 1], rtol=1e-6)
    assert_allclose(loads.ap_force, -ABOVE * s + pull[:, 0], rtol=1e-6)


def test_synergists_share_a_moment_by_the_least_squared_activations(tmp_path):
    name, *ends, strength = VASTI[0]
    both = (VASTI[0], (f"{name}_deep", *ends, 0.5 * strength))
    _, result, _ = loads_of(tmp_path, (0.0, WEIGHT, 0.0), (-0.05, 0.0, 0.1), muscles=both)
    strong, weak = (
        result.muscle_forces[:, result.muscles.index(name)] for name in ("vasti_r", "vasti_deep_r")
    )
    assert_allclose(strong, 4.0 * weak, rtol=1e-6)  # a ~ F, so that the force is ~ F².
    assert_allclose(0.04 * (strong + weak), 0.05 * WEIGHT, rtol=1e-3)


def test_a_coupled_coordinate_is_moved_with_its_own(tmp_path):
    """A muscle has the arm that its length has along the coupled motion."""
    slope = 1.5
    coupler = (
        '<ConstraintSet><objects><CoordinateCouplerConstraint name="c">'
        "<coupled_coordinates_function><LinearFunction><coefficients>"
        f"{slope} 0</coefficients></LinearFunction></coupled_coordinates_function>"
        "<independent_coordinate_names>knee_angle_r</independent_coordinate_names>"
        "<dependent_coordinate_name>ankle_angle_r</dependent_coordinate_name>"
        "</CoordinateCouplerConstraint></objects></ConstraintSet>"
    )
    model = bare_model(tmp_path / "bare.osim", more=coupler)
    # What a file has of a coupled coordinate does not count.
    files = standing(tmp_path, (0.0, WEIGHT, 0.0), (-0.02, 0.0, 0.1), ankle_angle_r=20.0)
    setup, result = solved(bare_walk(model, *files))
    plant, names = setup.plant, setup.plant.motion.names
    assert "ankle_angle_r" not in setup.settings.primary
    assert not plant.motion.values[:, names.index("ankle_angle_r")].any()
    found = plant.forces(0, np.zeros(0), np.zeros(0))
    arms = plant.system.arms()
    knee, ankle = (names.index(f"{name}_angle_r") for name in ("knee", "ankle"))
    row = plant.free.index("knee_angle_r")
    assert_allclose(found.arms[row], arms[knee] + slope * arms[ankle], atol=1e-9)
    assert result.errors.max() < 1e-6
    # The reaction balances weight and pull, whatever holds the coupled coordinate.
    loads = knee_loads(setup.model, setup.knee.joint, plant, result)
    pulls = result.muscle_forces[
        :, [result.muscles.index(f"{m}_r") for m in ("vasti", "hamstrings")]
    ]
    assert_allclose(loads.axial_force, ABOVE + pulls.sum(axis=1), rtol=1e-6)


def test_muscles_whose_tendon_opensim_stretches_pull_by_activation(tmp_path):
    model = bare_model(tmp_path / "bare.osim")
    text = model.read_text().replace("Millard2012EquilibriumMuscle", "Thelen2003Muscle")
    model.write_text(re.sub(r"<minimum_activation>.*?</min_control>", "", text))
    files = standing(tmp_path, (0.0, WEIGHT, 0.0), (-0.02, 0.0, 0.1))
    _, result = solved(bare_walk(model, *files))
    pull = [
        result.muscle_forces[0, result.muscles.index(f"{n}_r")] for n in ("vasti", "hamstrings")
    ]
    assert_allclose(0.04 * np.subtract(*pull), 0.02 * WEIGHT, rtol=1e-2)
    with pytest.raises(
        InputError, match=r"fibre_forces: .* Thelen2003Muscle .*fibre_forces = false"
    ):
        solved(bare_walk(model, *files, fibre_forces=True))


def test_the_knee_is_that_of_the_leg_with_a_stride_in_the_motion(tmp_path):
    """The ground carries the right leg more, but one strike of it is before the motion."""
    model, time = OsimModel(bare_model(tmp_path / "bare.osim")), np.linspace(0.0, 2.0, 2001)

    def stepping(side, force, *spans):
        bears = np.any([(time > a) & (time < b) for a, b in spans], axis=0)
        vertical = np.outer(force * bears, [0.0, 1.0, 0.0])
        plate = Plate(side, vertical, np.zeros((2001, 3)), np.zeros((2001, 3)))
        return AppliedForce(f"calcn_{side}", time, plate, True)

    right = stepping("r", 900.0, (0.1, 0.8), (1.2, 1.9))
    left = stepping("l", 700.0, (0.65, 1.35), (1.75, 2.1))
    assert knee_cycle(model, (right, left), (0.0, 2.0)).joint.name == "knee_r"
    found = knee_cycle(model, (right, left), (0.3, 2.0))
    assert found.joint.name == "knee_l"
    assert_allclose([found.start, found.stop], [0.65, 1.75], atol=2e-3)


def analysed(opensim, folder, model, motion, loads, span, joint):
    """Return OpenSim's static optimisation, and its joint reaction on the child, as tables.

    Of a motion of all coordinates [deg, m] with external loads, from and to two instants [s].
    """
    reserves, read = opensim.ForceSet(), opensim.Model(str(model))
    for k in range(read.getCoordinateSet().getSize()):
        name = read.getCoordinateSet().get(k).getName()
        actuator = opensim.CoordinateActuator(name)
        actuator.setName(f"{name}_reserve")
        actuator.setOptimalForce(1.0)
        actuator.setMinControl(-1e4)
        actuator.setMaxControl(1e4)
        reserves.cloneAndAppend(actuator)
    reserves.printToXML(str(folder / "reserves.xml"))

    def run(analysis, name):
        tool = opensim.AnalyzeTool()
        tool.setName(name)
        tool.setModelFilename(str(model))
        tool.setCoordinatesFileName(str(motion))
        tool.setExternalLoadsFileName(str(loads))
        tool.setInitialTime(span[0])
        tool.setFinalTime(span[1])
        files = opensim.ArrayStr()
        files.append(str(folder / "reserves.xml"))
        tool.setForceSetFiles(files)
        tool.setReplaceForceSet(False)
        tool.setResultsDir(str(folder))
        analysis.setName(name)
        analysis.setStartTime(span[0])
        analysis.setEndTime(span[1])
        tool.updAnalysisSet().cloneAndAppend(analysis)
        tool.printToXML(str(folder / f"{name}.xml"))
        opensim.AnalyzeTool(str(folder / f"{name}.xml")).run()

    static = opensim.StaticOptimization()
    static.setUseMusclePhysiology(False)
    static.setActivationExponent(2)
    static.setConvergenceCriterion(1e-8)
    static.setMaxIterations(2000)
    run(static, "static")
    (forces,) = folder.glob("static_*_force.sto")
    reaction = opensim.JointReaction()
    reaction.setForcesFileName(str(forces))
    for setter, word in (("setJointNames", joint), ("setOnBody", "child"), ("setInFrame", "child")):
        words = opensim.ArrayStr()
        words.append(word)
        getattr(reaction, setter)(words)
    run(reaction, "reaction")
    (loads_of_joint,) = folder.glob("reaction_*ReactionLoads*")
    table = loads_of_joint.rename(folder / "reaction.sto")
    return read_motion_table(forces), read_motion_table(table)


def compared(opensim, folder, file, span):
    """Return our loads of the knee, those of OpenSim at the same instants, and muscle forces."""
    whole = prepare_walk(file.model_copy(update={"comak": file.comak.model_copy(update=span[1])}))
    motion = whole.plant.motion
    scale = np.where(motion.rotational, 180.0 / np.pi, 1.0)
    table = MotionTable(motion.names, motion.time, scale * motion.values, True)
    write_motion_table(folder / "whole.mot", table)
    loads = write_applied_forces(folder, whole.plant.system.external_loads.forces)
    setup, result = solved(file)
    knee = knee_loads(setup.model, setup.knee.joint, setup.plant, result)
    found = analysed(
        opensim, folder, file.walk.model, folder / "whole.mot", loads, span[0], knee.joint
    )
    at = [
        np.array([np.interp(result.time, t.time, column) for column in t.values.T]) for t in found
    ]
    forces = np.array([at[0][found[0].names.index(name)] for name in result.muscles]).T
    fx, fy, _, mx, my, _ = at[1][:6]
    mirror = -1.0 if knee.leg == "left" else 1.0
    return knee, (-fy, -fx, -mirror * my, -mirror * mx), (result.muscle_forces, forces)


def check(knee, theirs, forces, force, moment):
    """Check loads within a force [N] and a moment [N m], and forces of muscles within the force."""
    mine = knee.axial_force, knee.ap_force, knee.internal_torque, knee.adduction_moment
    for ours, other, within in zip(mine, theirs, (force, force, moment, moment), strict=True):
        assert_allclose(ours, other, atol=within)
    assert_allclose(*forces, atol=force)


def test_a_swinging_leg_has_the_reaction_that_opensim_finds(opensim, tmp_path):
    course = np.sin(2.0 * np.pi * TIME)
    angles = {"hip_flexion_l": 20.0 * course, "knee_angle_l": -30.0 - 25.0 * course}
    model = bare_model(tmp_path / "bare.osim")
    files = standing(tmp_path, (20.0, WEIGHT, -10.0), (0.03, 0.0, 0.08), **angles)
    file = bare_walk(model, *files, start_s=0.5, stop_s=0.52)
    file = file.model_copy(update={"walk": file.walk.model_copy(update={"knee": "knee_l"})})
    knee, theirs, forces = compared(
        opensim, tmp_path, file, ((0.5, 0.52), {"start_s": 0.1, "stop_s": 0.9})
    )
    assert np.abs(knee.ap_force).max() > 5.0
    check(knee, theirs, forces, 0.5, 0.05)
