"""The exported C, compiled and loaded as a function of CasADi, with its derivatives."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from c_library import compile_c, needs_compiler
from lazily import casadi
from made_knees import KNEES, middle_of, poses_about
from surrogate_arrays import arrays

from surrogates.export.c_export import export_knee
from surrogates.formulations.contact_surrogate import ContactSurrogate

pytestmark = [needs_compiler, pytest.mark.casadi]
#: A knee, and a pair with three compartments.
SMOOTH = KNEES["smooth_inverted_polynomial_poly_fourier"]
PAIR = ContactSurrogate(
    {
        "front": SMOOTH.compartment("medial"),
        "int": SMOOTH.compartment("lateral"),
        "back": SMOOTH.compartment("medial"),
    }
)
CONTACTS = {"knee": SMOOTH, "pair": PAIR}
WEIGHTS = np.random.default_rng(7).normal(size=18)


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("casadi")
    files = {name: export_knee(contact, name, casadi=True) for name, contact in CONTACTS.items()}
    found = {}
    for name, text in files.items():
        (folder / name).mkdir()
        library = compile_c(folder / name, **{name: text})
        found[name] = casadi.external(f"{name}_wrench", library._name)
    return found


def differentiated(function):
    """Wrench, Jacobian, second derivatives, Hessian of a weighted sum: a function of the pose."""
    pose = casadi.MX.sym("pose", 6)
    wrench = function(pose)
    jacobian = casadi.jacobian(wrench, pose)
    total = casadi.dot(WEIGHTS[: wrench.numel()], casadi.vec(wrench))
    outputs = [wrench, jacobian, casadi.jacobian(jacobian, pose), casadi.hessian(total, pose)[0]]
    return casadi.Function("all", [pose], outputs)


def check(prefix, functions, count):
    contact, function = CONTACTS[prefix], differentiated(functions[prefix])
    parts = len(contact.compartments)
    poses = np.concatenate([poses_about(part, count) for part in contact.parts])
    loads, jacobian, _ = arrays(contact, poses)
    bends = contact.loads(poses, 2).hessian
    total = np.tensordot(bends, WEIGHTS[: 6 * parts].reshape(parts, 6), ([1, 2], [0, 1]))
    wanted = loads[..., :6], jacobian, bends, total
    found = [np.empty(values.shape) for values in wanted]
    for i, pose in enumerate(poses):
        wrench, slopes, seconds, hessian = (np.array(value) for value in function(pose))
        found[0][i] = wrench.T
        found[1][i] = slopes.reshape(parts, 6, 6)
        found[2][i] = seconds.reshape(6, parts, 6, 6).transpose(1, 2, 0, 3)
        found[3][i] = hessian
    for a, b in zip(found, wanted, strict=True):
        peak = np.abs(b).max(axis=0)
        assert (np.abs(a - b) / np.where(peak > 0.0, peak, 1.0)).max() < 1e-10
    assert (np.abs(bends).max(axis=(2, 3, 4)) > 0.0).mean() > 0.3


@pytest.mark.parametrize("prefix", CONTACTS)
def test_derivatives_are_those_of_python(prefix, functions):
    check(prefix, functions, 30)


def test_poses_that_are_not_finite_are_refused(functions):
    pose = middle_of(SMOOTH)[0]
    assert np.isfinite(np.array(functions["knee"](pose))).all()
    with pytest.raises(RuntimeError, match="knee_wrench"):
        functions["knee"](np.where(np.arange(6) == 3, np.nan, pose))


def test_threads_share_the_function(functions):
    knee, function = SMOOTH, differentiated(functions["knee"])
    poses = poses_about(knee.compartment("medial"), 100)
    wanted = [np.array(function(pose)[3]) for pose in poses]
    copies = [differentiated(functions["knee"]) for _ in range(4)]

    def work(copy):
        return [np.array(copy(pose)[3]) for pose in poses]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, copies):
            np.testing.assert_array_equal(found, wanted)
