"""Muscle forces and the reaction of a knee beside OpenSim's own tools of analysis."""

import numpy as np
from bare_legs import TIME, WEIGHT, bare_model, bare_walk, solved, standing
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.musculoskeletal.external_loads import write_applied_forces
from dynamics.musculoskeletal.knee_reaction import knee_loads
from pipeline.studies.muscle_walks.setup import prepare_walk


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
