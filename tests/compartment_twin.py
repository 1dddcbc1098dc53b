"""A compartment's surrogate in plain Python on its regressors' own predictions, and checks."""

import manufactured
import numpy as np
from manufactured import truth
from scipy.optimize import brentq


def poses_of(model, count=12, seed=5, within=0.8):
    """Poses in contact inside the box, at all loads."""
    lever = model.coordinates.about_point
    true = truth(model.formulation, model.degree, lever)
    x = manufactured.draw(count, seed, within)
    return true.poses(x[:, :5], true.over(x))


def wrench_error(found, expected):
    """Largest difference of (N, 6, 6) jacobians, over the largest entry with the same unit."""
    error = np.abs(found - expected)
    for rows in (slice(0, 3), slice(3, 6)):
        for block in (slice(0, 3), slice(3, 6)):
            error[:, rows, block] /= np.abs(expected[:, rows, block]).max()
    return error


def carrying(model, pose, axial):
    """The pose with the height at which the model carries an axial load [N]."""

    def missing(rise):
        return model.loads(pose + rise * np.eye(6)[4]).force[1] - axial

    return pose + brentq(missing, -1.5e-3, 1.5e-3, xtol=1e-12) * np.eye(6)[4]


def assert_jacobian(model, poses, columns=slice(None)):
    """Against differences of fourth order, within 1e-6 of the largest entry of each unit."""
    found = model.loads(poses, 1).jacobian
    expected = manufactured.differences(lambda p: model.loads(p).array[:, :6], poses)
    error = wrench_error(found, expected.transpose(0, 2, 1))
    assert error[:, :, columns].max() < 1e-6


def twin_variables(model, poses):
    held = model.space.held(poses)
    u, over, points = model.coordinates.variables(held)
    lever = points if model.coordinates.about_point else np.zeros_like(points)
    return u, over, points, lever


def twin_outputs(model, u, last):
    x = np.append(u, last)[None]
    return np.concatenate([part.predict(x)[0] for part in model.regressors])


def twin_root(model, u, over):
    """Root s of height(u, s) = over, beyond 1 on the tangent; None out of contact."""

    def missing(s):
        return model.regressors[0].predict(np.append(u, s)[None])[0, 0] - over

    if missing(-1.0) <= 0.0:
        return None
    if missing(1.0) > 0.0:
        slope = model.regressors[0].predict_with_jacobian([np.append(u, 1.0)])[1][0, 0, 5]
        return 1.0 - missing(1.0) / slope
    return brentq(missing, -1.0, 1.0, xtol=1e-15, rtol=1e-14)


def twin_plain(model, u, over, lever):
    last = np.clip((over - model.depth[0]) / model.depth[1], -1.2, 1.2)
    loads = twin_outputs(model, u, last)
    loads[9:] += lever
    return loads


def twin(model, pose):
    """Loads (12,) at a pose."""
    u, over, _, lever = (part[0] for part in twin_variables(model, pose[None]))
    if model.formulation == "direct":
        return twin_plain(model, u, over, lever)
    loads = np.zeros(12)
    s = twin_root(model, u, over)
    if s is None:
        loads[9:] = np.nan
        return loads
    root, outputs = 0.5 * (s + 1.0), twin_outputs(model, u, min(s, 1.0))
    ratios, quantities = outputs[1:6], outputs[6:]
    loads[1] = model.largest * root**model.degree
    loads[[0, 2]] = ratios[:2] * loads[1]
    loads[3:6] = ratios[2:] * loads[1] + np.cross(lever, loads[:3])
    loads[6] = quantities[0] * root
    loads[7:9] = quantities[1:3] * root ** (model.degree - 1.0)
    loads[9:] = quantities[3:] + lever
    return loads


def scattered(model, count=60):
    """Poses of which a part is out of contact, beyond the load, or outside the box."""
    rng = np.random.default_rng(11)
    poses = poses_of(model, count, 11, 1.0)
    around = model.space.path.poses(poses[:, 0])
    outside = rng.random(count) < 0.4
    poses[outside] = (around + 1.5 * (poses - around))[outside]
    poses[:, 4] += rng.uniform(-0.6e-3, 1.2e-3, count)
    return poses
