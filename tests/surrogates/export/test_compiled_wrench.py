"""`compiled_wrench`: the exported C, compiled and loaded by the library itself."""

import subprocess

import numpy as np
import pytest
from c_library import needs_compiler
from lazily import casadi
from made_knees import KNEES, middle_of

from foundation.base.errors import InputError
from surrogates.export import c_export
from surrogates.export.c_export import compiled_wrench, has_compiler

pytestmark = pytest.mark.casadi


SMOOTH = KNEES["smooth_inverted_polynomial_poly_fourier"]


def assert_wrench(function, knee):
    """Compare a function of CasADi with the knee at a pose in contact."""
    pose = middle_of(knee)
    wanted = knee.loads(pose).values[0, :, :6]
    peak = np.abs(wanted).max()
    np.testing.assert_allclose(np.array(function(pose[0])).T, wanted, atol=1e-10 * peak)


@needs_compiler
def test_values_and_derivatives_are_those_of_python(tmp_path):
    assert has_compiler()
    function = compiled_wrench(SMOOTH, tmp_path / "new", "mine")
    assert function.name() == "mine_wrench"
    pose = middle_of(SMOOTH)
    jacobian = SMOOTH.loads(pose, 1).jacobian
    assert_wrench(function, SMOOTH)
    at = casadi.MX.sym("at", 6)
    slope = casadi.Function("slope", [at], [casadi.jacobian(function(at), at)])
    wanted = jacobian[0].reshape(12, 6)
    found = np.array(slope(pose[0]))
    np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max())


def outputs(calls):
    """Return how many commands write a library."""
    return sum("-o" in command for command, *_ in calls)


@pytest.mark.slow
@needs_compiler
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
@needs_compiler
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
