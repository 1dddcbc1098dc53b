"""Simulation results with a given motion and given loads."""

from dataclasses import fields

import numpy as np

from dynamics.simulator.result import SimulationResult, Statistics
from foundation.base.loads import ContactLoads

NO_CONTACT = np.concatenate([np.zeros(9), np.full(3, np.nan)])


def pressed(force=1000.0, area=1e-4, peak_over_mean=1.0, centre=(0.0, 0.0, 0.0), normal=(0, 1, 0)):
    """Loads (12,) of a flat compartment: the force is the integral of the pressure."""
    vector = force * np.asarray(normal) / np.linalg.norm(normal)
    mean = force / area
    wrench = [*vector, *np.cross(centre, vector)]
    return np.array([*wrench, area, peak_over_mean * mean, mean, *centre])


def result_of(poses, rates, medial, lateral=NO_CONTACT, time=None):
    """Result of N instants; anything given once holds at all of them."""
    count = max(len(np.atleast_2d(a)) for a in (poses, rates, medial, lateral))
    count = count if time is None else len(time)
    time = np.linspace(0.0, 1.0, count) if time is None else np.asarray(time)

    def rows(values):
        return np.broadcast_to(np.atleast_2d(values), (count, np.shape(values)[-1]))

    loads = np.stack([rows(medial), rows(lateral)])
    total = [ContactLoads([m, n]).array for m, n in zip(*loads, strict=True)]
    return SimulationResult(
        time,
        100.0 * (time - time[0]) / max(np.ptp(time), 1e-300),
        rows(poses),
        rows(rates),
        loads,
        np.array(total),
        np.zeros((count, 3)),
        Statistics(*(0 for _ in fields(Statistics))),
    )


def carried_out(model, poses, rates, time=None):
    """Result of a model led along given poses (N, 6) at given rates."""
    loads = model.loads(poses)
    return result_of(poses, rates, loads.medial.array, loads.lateral.array, time)


def swinging_poses(implant, instants, depth=0.2e-3):
    """One period [s] of a motion of an implant of one sagittal radius, and its rates."""
    time = np.linspace(0.0, 1.0, instants)
    phase, full = 2.0 * np.pi * time, 2.0 * np.pi
    home = implant.home_pose(0.3)
    poses = np.tile(home.array, (instants, 1))
    rates = np.zeros((instants, 6))
    poses[:, 4] -= depth
    for column, size in ((0, 0.2), (2, 0.05), (3, 2e-3)):
        poses[:, column] += size * np.sin(phase + column)
        rates[:, column] = size * full * np.cos(phase + column)
    return poses, rates, time
