"""The exported C, compiled and loaded as a function of CasADi, with its derivatives."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from c_library import needs_compiler
from lazily import casadi
from made_knees import KNEES, middle_of, poses_about
from surrogate_arrays import arrays

from foundation.base.errors import InputError
from surrogates.export import c_export
from surrogates.export.c_export import compiled_wrench, has_compiler
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
    assert has_compiler()
    folder = tmp_path_factory.mktemp("casadi") / "new"
    return {name: compiled_wrench(contact, folder, name) for name, contact in CONTACTS.items()}


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


def assert_wrench(function, knee):
    """Compare a function of CasADi with the knee at a pose in contact."""
    pose = middle_of(knee)
    wanted = knee.loads(pose).values[0, :, :6]
    peak = np.abs(wanted).max()
    np.testing.assert_allclose(np.array(function(pose[0])).T, wanted, atol=1e-10 * peak)


def outputs(calls):
    """Return how many commands write a library."""
    return sum("-o" in command for command, *_ in calls)


@pytest.mark.slow
def test_another_processor_has_a_library_of_its_own(tmp_path, monkeypatch):
    run = subprocess.run

    def elsewhere(command, **options):
        done = run(command, **options)
        if "-dM" in command:
            done.stdout += "#define __OTHER_INSTRUCTIONS__ 1\n"
        return done

    compiled_wrench(SMOOTH, tmp_path)
    monkeypatch.setattr(subprocess, "run", elsewhere)
    compiled_wrench(SMOOTH, tmp_path)
    compiled_wrench(SMOOTH, tmp_path)
    assert len(list(tmp_path.glob("*.so"))) == 2


@pytest.mark.slow
def test_a_library_is_compiled_once_and_never_overwritten(tmp_path, monkeypatch):
    first = compiled_wrench(SMOOTH, tmp_path)
    calls = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: calls.append(a) or run(*a, **k))
    compiled_wrench(SMOOTH, tmp_path)
    assert outputs(calls) == 0
    other = KNEES["smooth_direct_polynomial_poly_fourier"]
    second = compiled_wrench(other, tmp_path)
    assert outputs(calls) == 1
    assert len(list(tmp_path.glob("*.so"))) == 2
    for knee, function in ((SMOOTH, first), (other, second)):
        assert_wrench(function, knee)


@pytest.mark.parametrize("prefix", ["9x", "", "a" * 101, None])
def test_prefixes_that_are_no_name_are_refused(tmp_path, prefix):
    with pytest.raises(InputError, match=r"prefix: expected letters.*at most 100"):
        compiled_wrench(SMOOTH, tmp_path, prefix)


def test_without_a_compiler_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(c_export.shutil, "which", lambda name: None)
    assert not has_compiler()
    with pytest.raises(InputError, match=r"cc, gcc, clang on the path, found none.*knee\.casadi"):
        compiled_wrench(SMOOTH, tmp_path)


def test_a_compiler_that_fails_is_an_input_error(tmp_path, monkeypatch):
    program = tmp_path / "cc"
    program.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(c_export.shutil, "which", lambda name: str(program))
    with pytest.raises(InputError, match=r"could not compile.*no such option"):
        compiled_wrench(SMOOTH, tmp_path / "out")
    assert list((tmp_path / "out").glob("*.so")) == []
