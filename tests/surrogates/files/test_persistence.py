"""Surrogate files: bit-equal answers, headers, atomic writing; those over designs."""

import designed_condyles as made
import manufactured
import numpy as np
import pytest
from made_knees import compartment, knee_of, poses_about
from surrogate_arrays import arrays
from surrogate_files import parts, signed

import surrogates
from foundation.base.pose import Pose
from surrogates.files.persistence import load, save


def poses(formulation="inverted", count=8):
    """In contact, apart, pressed deep, and outside the box."""
    true = manufactured.truth(formulation)
    x = manufactured.draw(count, 6)
    found = true.poses(x[:, :5], true.over(x))
    up = np.eye(6)[4]
    return np.concatenate([found, found + 0.05 * up, found - 1e-3 * up, found + 0.1 * np.eye(6)[1]])


def answers(knee, formulation="inverted"):
    """Loads, jacobians and variables of both compartments, and their standard errors."""
    where = poses(formulation)
    errors = [knee.standard_error(Pose.from_array(pose)) for pose in where]
    return *arrays(knee, where), np.array(errors)


def same_bits(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.fixture(scope="module")
def knee():
    return manufactured.knee(header={"name": "test", "errors": {"q2": 0.99}})


@pytest.fixture(scope="module")
def original(knee, tmp_path_factory):
    file = tmp_path_factory.mktemp("knee") / "knee.npz"
    save(knee, file)
    return file


@pytest.fixture
def file(original, tmp_path):
    """A copy that a test may spoil."""
    copy = tmp_path / "knee.npz"
    copy.write_bytes(original.read_bytes())
    return copy


@pytest.mark.parametrize("family", manufactured.FAMILIES)
@pytest.mark.parametrize("formulation", manufactured.ALL)
def test_a_loaded_knee_answers_bit_for_bit(formulation, family, tmp_path):
    knee = manufactured.knee(formulation, family)
    save(knee, tmp_path / "knee.npz")
    again = surrogates.load(tmp_path / "knee.npz")
    same_bits(answers(knee, formulation), answers(again, formulation))
    assert again.compartment("medial").formulation == formulation
    assert [r.family for r in again.compartment("medial").regressors] == [
        r.family for r in knee.compartment("medial").regressors
    ]


def test_a_knee_of_two_formulations_and_a_joint_fit_answers_bit_for_bit(tmp_path):
    joint = manufactured.train(manufactured.truth(), joint=True).surrogate
    knee = knee_of(manufactured.compartment("direct", "kriging"), joint)
    save(knee, tmp_path / "knee.npz")
    again = load(str(tmp_path / "knee.npz"))
    same_bits(answers(knee), answers(again))


def test_networks_and_fourier_series_answer_bit_for_bit(tmp_path):
    knee = knee_of(compartment("inverted", "poly_fourier"), compartment("inverted", "network"))
    save(knee, tmp_path / "knee.npz")
    where = poses_about(knee.parts[0], 60)
    same_bits(arrays(knee, where), arrays(load(tmp_path / "knee.npz"), where))
    assert (knee.loads(where).values[..., 1] > 0.0).any(axis=0).all()


def test_the_header_is_json_that_tells_what_the_file_is(file, knee):
    header = parts(file)[1]
    assert (header["format"], header["version"]) == ("knee-contact surrogate", 5)
    assert header["formulation"] == {"medial": "inverted", "lateral": "inverted"}
    assert header["conventions"]["units"].startswith("SI")
    assert header["space"]["lateral"]["load_N"] == [25.0, 1600.0]
    assert header["errors"] == {"q2": 0.99}
    assert dict(load(file).header) == header


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(file, monkeypatch):
    content = file.read_bytes()

    def fail(stream, **arrays):
        stream.write(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        save(manufactured.knee(), file)
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


DESIGN = np.array([17.0, 5e-3, 9.5])


@pytest.fixture
def designs(tmp_path):
    surrogates.save(made.knee(), tmp_path / "knee.npz")
    return tmp_path / "knee.npz"


def altered(file, change):
    """Change the arrays of a file, and sign it anew."""
    arrays, header = parts(file)
    change(header, arrays)
    file.write_bytes(signed(arrays, header))


def test_a_file_gives_the_surrogate_back(designs):
    found = surrogates.load(designs)
    poses = made.space_of(DESIGN).draw(np.random.default_rng(0).random((20, 6)))[0]
    np.testing.assert_array_equal(
        found.at(DESIGN).loads(poses).values, made.knee().at(DESIGN).loads(poses).values
    )
    assert found.parameters.names == made.PARAMETERS.names
    assert found.header["parameters"][2] == {"name": "thickness_mm", "low": 6.0, "high": 12.0}


def test_a_single_design_is_saved_as_any_knee(designs, tmp_path):
    single = surrogates.load(designs).at(DESIGN)
    surrogates.save(single, tmp_path / "single.npz")
    found = surrogates.load(tmp_path / "single.npz")
    poses = made.space_of(DESIGN).draw(np.random.default_rng(0).random((5, 6)))[0]
    np.testing.assert_array_equal(found.loads(poses).values, single.loads(poses).values)
    assert len(single.parameters) == len(found.parameters) == 0
    assert "parameters" not in found.header


def without(name):
    return lambda header, arrays: arrays.pop(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *((without(name), "not a usable surrogate") for name in (
            "medial/constants", "medial/designs/box/exponents", "lateral/domain/limits",
            "lateral/coordinates/middle", "medial/designs/centre/exponents",
            "medial/first/weights",
        )),
        (lambda header, _: header["parameters"].pop(), "expected 2 parameters, found 3"),
        (lambda header, _: header.update(version=9), "expected version 5, found 9"),
    ],
)  # fmt: skip
def test_a_changed_file_of_designs_is_refused(designs, change, message):
    altered(designs, change)
    with pytest.raises(surrogates.SurrogateFileError, match=message):
        surrogates.load(designs)
