"""Surrogate files: bit-equal answers, no code, no damage unseen, no library for training needed."""

from __future__ import annotations

import io
import json
import sys
import time
import tracemalloc
import zipfile
from contextlib import suppress

import manufactured
import numpy as np
import pytest

import surrogates
from foundation.pose import Pose
from surrogates.families.network import NetworkSettings
from surrogates.families.polynomial import PolyFourierSettings
from surrogates.families.registry import fit_family
from surrogates.files import persistence
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.compartment_fit import Fitter, fit_compartment
from surrogates.formulations.knee import KneeSurrogate

SOME_ARRAYS = {
    "medial/constants", "medial/coordinates/centre", "medial/coordinates/half",
    "medial/coordinates/path_flexion", "medial/coordinates/path_pieces", "medial/first/exponents",
    "medial/first/kinds", "medial/first/lengths", "medial/first/points", "medial/first/weights",
    "medial/second/inner", "medial/second/hidden", "medial/second/y_offset", "medial/third/spread",
    "medial/third/variance", "medial/third/wave",
}  # fmt: skip


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
    return *knee.evaluate_batch(where), np.array(errors)


def same_bits(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.tobytes() == other.tobytes()


def parts(file):
    """Arrays of a file by name, and its header."""
    with np.load(file, allow_pickle=False) as data:
        arrays = dict(data)
    return arrays, json.loads(arrays.pop("header").tobytes())


def rewrite(file, arrays, header, *, signed=True):
    """Write a file of the same form; `signed` with a checksum that fits."""
    if signed:
        header = header | {"sha256": persistence._digest(header, arrays)}
    raw = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(file, header=raw, **arrays)


def zip_of(file, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)


def npy(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def refused(file, message=None):
    """Assert a SurrogateFileError that names the file."""
    with pytest.raises(SurrogateFileError, match=message) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: ")


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
    assert again.medial.formulation == formulation
    assert [r.family for r in again.medial.regressors] == [r.family for r in knee.medial.regressors]


def test_a_knee_of_two_formulations_and_a_joint_fit_answers_bit_for_bit(tmp_path):
    joint = manufactured.train(manufactured.truth(), joint=True).surrogate
    knee = KneeSurrogate(manufactured.compartment("direct", "kriging"), joint)
    save(knee, tmp_path / "knee.npz")
    again = load(str(tmp_path / "knee.npz"))
    same_bits(answers(knee), answers(again))


def test_networks_and_fourier_series_answer_bit_for_bit(tmp_path):
    true = manufactured.truth()
    samples = true.samples(manufactured.design())
    parts = []
    for family, own in (
        ("poly_fourier", PolyFourierSettings(basis="total_degree", degree=(2,))),
        ("network", NetworkSettings(hidden=8, steps=200, batch=64, base_degree=2)),
    ):
        fit = Fitter(lambda x, y, w, f=family, o=own: fit_family(f, x, y, o), joint=True)
        parts.append(fit_compartment("inverted", true.space, samples, fit).surrogate)
    knee = KneeSurrogate(*parts)
    save(knee, tmp_path / "knee.npz")
    same_bits(answers(knee), answers(load(tmp_path / "knee.npz")))
    assert np.isfinite(answers(knee)[0][:8]).all()


def test_saving_a_loaded_knee_gives_the_same_arrays_and_header(file, tmp_path):
    save(load(file), tmp_path / "again.npz")
    (arrays, header), (arrays_2, header_2) = parts(file), parts(tmp_path / "again.npz")
    assert header == header_2
    assert set(arrays) == set(arrays_2)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, arrays_2[name])


def test_the_header_is_json_that_tells_what_the_file_is(file, knee):
    with np.load(file, allow_pickle=False) as data:
        header = json.loads(data["header"].tobytes().decode("utf-8"))
    assert (header["format"], header["version"]) == ("knee-contact surrogate", 3)
    assert header["formulation"] == {"medial": "inverted", "lateral": "inverted"}
    assert header["conventions"]["units"].startswith("SI")
    assert header["space"]["lateral"]["load_N"] == [25.0, 1600.0]
    assert header["errors"] == {"q2": 0.99}
    assert dict(load(file).header) == header


def test_a_header_that_json_changes_can_be_read_again(tmp_path):
    """Tuples become lists and numbers as keys become text, in another order."""
    knee = manufactured.knee(header={"range": (0, 1), "steps": {10: "a", 9: "b"}})
    save(knee, tmp_path / "knee.npz")
    assert load(tmp_path / "knee.npz").header["steps"] == {"10": "a", "9": "b"}


def test_what_is_missing_is_named(tmp_path):
    refused(tmp_path / "none.npz", "no such file")
    refused(tmp_path, "found a folder")


@pytest.mark.parametrize("share", [0.0, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 0.99999])
def test_a_truncated_file_is_refused(file, share):
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    refused(file, "truncated or foreign")


@pytest.mark.parametrize("content", [b"", b"solid stl\n", b"PK\x05\x06" + 18 * b"\0", b"PK" * 500])
def test_a_foreign_file_is_refused(file, content):
    file.write_bytes(content)
    refused(file)


def test_one_flipped_byte_is_refused(file):
    """Anywhere in the arrays' bytes: by the zip's own checksum."""
    content = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        member = archive.getinfo("medial/first/weights.npy")
    content[member.header_offset + 400] ^= 1
    file.write_bytes(content)
    refused(file)


@pytest.mark.parametrize(
    "name", ["medial/first/weights", "lateral/second/y_scale", "medial/constants"]
)
def test_one_altered_number_is_refused(file, name):
    """Where the zip was written anew, by the checksum over the arrays."""
    arrays, header = parts(file)
    changed = arrays[name].copy()
    changed.flat[0] = np.nextafter(changed.flat[0], np.inf)
    rewrite(file, arrays | {name: changed}, header, signed=False)
    refused(file, "checksum does not fit")
    rewrite(file, arrays, header, signed=False)
    load(file)


def test_an_altered_header_is_refused(file):
    arrays, header = parts(file)
    header["space"]["medial"]["load_N"][1] = 2501.0
    rewrite(file, arrays, header, signed=False)
    refused(file, "checksum does not fit")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"version": 4},
            "expected version 1 or 2 or 3, found 4; train the surrogate again or update",
        ),
        ({"version": None}, "expected version 1 or 2 or 3, found None"),
        ({"version": True}, "expected version 1 or 2 or 3, found True"),
        ({"version": 2.0}, "expected version 1 or 2 or 3, found 2.0"),
        ({"version": "2"}, "expected version 1 or 2 or 3, found '2'"),
        ({"version": [2]}, "expected version 1 or 2 or 3, found"),
        ({"version": 1}, "not a usable surrogate"),
        ({"format": "another"}, "expected a header of format 'knee-contact surrogate'"),
        ({"formulation": {"medial": "inverted"}}, "not a usable surrogate: 'lateral'"),
        ({"formulation": {"medial": "odd", "lateral": "odd"}}, "formulation: expected one of"),
        ({"formulation": {"medial": ["inverted"], "lateral": 3}}, "not a usable surrogate"),
        ({"formulation": {"medial": "energy", "lateral": "energy"}}, "not a usable surrogate"),
        ({"formulation": {"medial": "touch_stiffness", "lateral": "inverted"}}, "not a usable"),
        ({"formulation": []}, "not a usable surrogate"),
        ({"formulation": "inverted"}, "not a usable surrogate"),
        ({"space": None}, "not a usable surrogate"),
        ({"space": {"medial": {}, "lateral": {}}}, "sample space: missing"),
    ],
)
def test_a_header_of_another_kind_is_refused(file, change, message):
    arrays, header = parts(file)
    rewrite(file, arrays, header | change)
    refused(file, message)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 200_000, b'{"format": "knee-contact surrogate"}'],
)
def test_a_header_that_is_no_json_object_is_refused(file, raw):
    arrays, _ = parts(file)
    np.savez(file, header=np.frombuffer(raw, dtype=np.uint8), **arrays)
    refused(file)


def test_a_missing_header_is_refused(file):
    arrays, _ = parts(file)
    np.savez(file, **arrays)
    refused(file, "found no header")


@pytest.mark.parametrize(
    "name",
    ["medial/first/family", "medial/constants", "lateral/third/x_scale", "medial/coordinates/half"],
)
def test_a_missing_array_is_refused(file, name):
    arrays, header = parts(file)
    del arrays[name]
    rewrite(file, arrays, header)
    refused(file, "not a usable surrogate")


@pytest.mark.parametrize("name", sorted(SOME_ARRAYS))
@pytest.mark.parametrize(
    "value",
    [
        np.empty((0, 0)), np.zeros((3, 3)), np.full((6,), np.nan), np.array("text"),
        np.array(7), np.zeros((2, 2, 2, 2)), np.array(["a", "b"]), np.array(-1e300),
    ],
    ids=["empty", "square", "nan", "text", "seven", "four-dimensional", "words", "huge"],
)  # fmt: skip
def test_an_array_of_another_shape_or_kind_is_refused(file, name, value):
    arrays, header = parts(file)
    if name.endswith("wave") and str(value) == "7":
        return  # a period that there may be
    rewrite(file, arrays | {name: value}, header)
    refused(file)


def test_a_regressor_of_another_size_is_refused(file):
    """Signed and consistent, but not what the kernels would read."""
    arrays, header = parts(file)
    ratios = {k: a for k, a in arrays.items() if k.startswith("medial/second/")}
    arrays |= {k.replace("/second/", "/first/"): a for k, a in ratios.items()}
    rewrite(file, arrays, header)
    refused(file, r"expected \(0, 12\) outputs for 'inverted', found \(0, 16\)")


def test_numbers_of_another_precision_are_read(file):
    """As they are, since the checksum is of what stands in the file."""
    arrays, header = parts(file)
    for name in ("medial/first/weights", "lateral/coordinates/half"):
        arrays[name] = arrays[name].astype(">f8")
    rewrite(file, arrays, header)
    same_bits(answers(load(file)), answers(manufactured.knee()))


def test_an_oversized_file_is_refused_unread(file, monkeypatch):
    size = file.stat().st_size
    monkeypatch.setattr(persistence, "SIZE_LIMIT", size - 1)
    refused(file, f"expected at most {size - 1} bytes, found {size}")
    monkeypatch.setattr(persistence, "SIZE_LIMIT", size)
    load(file)


class Bomb:
    """Says so when it is unpickled."""

    exploded = False

    def __reduce__(self):
        return setattr, (Bomb, "exploded", True)


def test_a_nested_header_is_refused_however_near_to_the_interpreters_limit(file):
    """What can just be read may be too deep to be spoken of in a message."""
    _, header = parts(file)
    for spare in (*range(150), -1000):
        deep = "[" * (sys.getrecursionlimit() - spare) + "]" * (sys.getrecursionlimit() - spare)
        told = json.dumps(header | {"sha256": ""})
        told = told.replace(json.dumps(header["space"]["medial"]["load_N"]), deep, 1)
        with suppress(RecursionError):  # then it cannot be read either
            read = json.loads(told)
            told = json.dumps(read | {"sha256": persistence._digest(read, {})})
        np.savez(file, header=np.frombuffer(told.encode(), dtype=np.uint8))
        refused(file)


def test_empty_arrays_that_claim_long_axes_are_refused(file):
    """What is built for evaluation from a network of no units is not empty."""
    arrays, header = parts(file)
    long = {
        "medial/first/inner": np.empty((0, 6, 10**8)),
        "medial/first/inner_bias": np.empty((0, 10**8)),
        "medial/first/hidden": np.empty((0, 10**8, 10**8)),
        "medial/first/hidden_bias": np.empty((0, 10**8)),
    }
    rewrite(file, arrays | long, header)
    refused(file, "expected an empty array, found the shape")


def test_objects_are_refused_and_not_run(file):
    arrays, header = parts(file)
    objects = np.array([Bomb()], dtype=object)
    members = [(f"{n}.npy", npy(a)) for n, a in arrays.items()]
    raw = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    zip_of(file, [("header.npy", npy(raw)), *members, ("medial/extra.npy", npy(objects))])
    refused(file, "expected numbers or a name, found object")
    zip_of(file, [("header.npy", npy(objects)), *members])
    refused(file, "expected numbers or a name, found object")
    assert not Bomb.exploded


def forged(shape, descr="'<f8'", data=b"\0" * 8):
    """An .npy whose header claims `shape` over `data`."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


def test_the_forged_header_itself_is_well_formed(file):
    zip_of(file, [("header.npy", forged("(1,)"))])
    refused(file, "expected a header")
    assert np.load(io.BytesIO(forged("(1,)"))).tolist() == [0.0]


@pytest.mark.parametrize(
    "data",
    [
        forged("(10000000000000,)"),
        forged("(200000000,)"),
        forged("(4611686018427387904, 4)"),
        forged("(-1,)"),
        forged("(-1, -1)"),
        forged("(2,)"),
        forged("(0, 100000000000)", data=b""),
        forged("(100000000000,)", "'|V0'", b""),
        forged("(100000000000,)", "'<U0'", b""),
        forged("(1,)", "[('a', '|O')]"),
        forged("(1,)", "'<c16'", b"\0" * 16),
        forged("(1,)", "'nonsense'"),
        forged("((((((1,),),),),),)"),
        b"\x93NUMPY\x09\x00" + b"\0" * 100,
        b"\x93NUMPY\x01\x00\xff\xff",
        b"not an array",
        b"",
    ],
)
def test_a_forged_array_is_refused_without_its_memory(file, data):
    zip_of(file, [("header.npy", npy(np.zeros(1, np.uint8))), ("medial/first/points.npy", data)])
    tracemalloc.start()
    started = time.process_time()
    refused(file, "truncated or foreign")
    seconds, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6
    assert seconds < 2.0


def test_a_compressed_bomb_is_refused_unread(file):
    zip_of(file, [("header.npy", npy(np.zeros(30_000_000)))], zipfile.ZIP_DEFLATED)
    assert file.stat().st_size < 1e6
    tracemalloc.start()
    refused(file, "expected uncompressed members")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_members_that_claim_more_than_the_file_are_refused(file):
    """The size in the zip's directory is its own claim."""
    with zipfile.ZipFile(file) as archive:
        size = archive.getinfo("header.npy").file_size.to_bytes(4, "little")
    content = file.read_bytes()
    directory = content.index(b"PK\x01\x02")
    huge = content[directory:].replace(size, (2**30).to_bytes(4, "little"))
    file.write_bytes(content[:directory] + huge)
    refused(file, "claim to be larger than the file")


@pytest.mark.parametrize("name", ["../../medial.npy", "/etc/x.npy", "medial//..npy", "medial.npy"])
def test_odd_names_are_names_and_nothing_more(file, name):
    arrays, header = parts(file)
    before = set(file.parent.rglob("*"))
    members = [(f"{n}.npy", npy(a)) for n, a in arrays.items()]
    raw = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    zip_of(file, [("header.npy", npy(raw)), *members, (name, npy(np.zeros(3)))])
    refused(file, "checksum does not fit")
    assert set(file.parent.rglob("*")) == before


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_one_name_are_refused(file):
    data = npy(np.zeros(1, np.uint8))
    zip_of(file, [("header.npy", data), ("header.npy", data)])
    refused(file, "distinct names")
    zip_of(file, [("header.npy", data), ("header", data)])
    refused(file, "end in .npy")


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


def test_a_save_replaces_the_file_and_leaves_nothing_else(file):
    save(manufactured.knee(header={"name": "newer"}), file)
    assert load(file).header["name"] == "newer"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("header", [{"q2": np.nan}, {"q2": np.inf}, {"array": np.zeros(3)}])
def test_a_header_that_is_no_json_is_refused_before_anything_is_written(tmp_path, header):
    with pytest.raises((ValueError, TypeError), match="JSON"):
        save(manufactured.knee(header=header), tmp_path / "knee.npz")
    assert list(tmp_path.iterdir()) == []
