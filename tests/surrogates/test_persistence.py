"""Surrogate files: bit-equal answers, no code, no damage unseen, no library for training needed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import manufactured
import numpy as np
import pytest

import surrogates
from foundation.pose import Pose
from surrogates import persistence
from surrogates.knee import KneeSurrogate
from surrogates.persistence import SurrogateFileError, load, save

ROOT = Path(__file__).resolve().parents[2]
#: Training libraries that a saved surrogate must do without.
BLOCKED = ("smt", "sklearn")


def poses(knee, count=8):
    found = [manufactured.samples(knee.medial.space, count, 6)[0]]
    found += [found[0] + [0, 0, 0, 0, 0.05, 0], found[0] - [0, 0, 0, 0, 1e-3, 0]]
    return [Pose.from_array(p) for p in np.concatenate(found)]


def answers(knee):
    both = [knee.loads_and_jacobian(p) for p in poses(knee)]
    loads = [np.stack([r.medial.array, r.lateral.array, r.total.array]) for r, _ in both]
    return np.array(loads), np.array([j for _, j in both])


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
    return manufactured.knee("response_surface", {"name": "test", "errors": {"q2": 0.99}})


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


@pytest.mark.parametrize("family", manufactured.FITS)
def test_a_loaded_knee_answers_bit_for_bit(family, tmp_path):
    knee = manufactured.knee(family)
    save(knee, tmp_path / "knee.npz")
    again = surrogates.load(tmp_path / "knee.npz")
    for ours, theirs in zip(answers(knee), answers(again), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_direct_knee_answers_bit_for_bit(tmp_path):
    knee = KneeSurrogate(manufactured.direct(), manufactured.inverted())
    save(knee, tmp_path / "knee.npz")
    again = load(str(tmp_path / "knee.npz"))
    for ours, theirs in zip(answers(knee), answers(again), strict=True):
        np.testing.assert_array_equal(ours, theirs)


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
    assert (header["format"], header["version"]) == ("knee-contact surrogate", 1)
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


PROGRAM = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Block())
for name in {blocked!r}:
    try:
        __import__(name)
    except ImportError:
        continue
    sys.exit(name + " was not blocked")
import numpy as np
import surrogates
from foundation.pose import Pose
knee = surrogates.load(sys.argv[1])
given = np.load(sys.argv[2])
for pose, loads, jacobian in zip(given["poses"], given["loads"], given["jacobians"], strict=True):
    found, slope = knee.loads_and_jacobian(Pose.from_array(pose))
    parts = np.stack([found.medial.array, found.lateral.array, found.total.array])
    assert np.array_equal(parts, loads, equal_nan=True)
    assert np.array_equal(slope, jacobian)
assert np.isfinite(knee.medial.height.standard_error(np.zeros((1, 6)))).all()
assert not set({blocked!r}) & set(sys.modules)
print(len(given["poses"]), "equal")
"""


@pytest.mark.parametrize("family", ["response_surface", "linear_kriging"])
def test_a_saved_knee_answers_where_smt_and_scikit_learn_are_not_installed(family, tmp_path):
    knee = manufactured.knee(family)
    save(knee, tmp_path / "knee.npz")
    loads, jacobians = answers(knee)
    np.savez(
        tmp_path / "given.npz",
        poses=[p.array for p in poses(knee)],
        loads=loads,
        jacobians=jacobians,
    )
    program = PROGRAM.format(blocked=BLOCKED)
    command = [sys.executable, "-c", program, "knee.npz", "given.npz"]
    # What chooses the BLAS kernels may stand in the environment: the same sums, bit for bit.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "24 equal"


def test_what_is_missing_is_named(tmp_path):
    refused(tmp_path / "none.npz", "no such file")
    refused(tmp_path, "no such file")


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
        member = archive.getinfo("medial/height/coefficients.npy")
    content[member.header_offset + 400] ^= 1
    file.write_bytes(content)
    refused(file)


@pytest.mark.parametrize("name", ["medial/height/coefficients", "lateral/ratios/y_scale"])
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
        ({"version": 2}, "expected version 1, found 2; train the surrogate again or update"),
        ({"version": None}, "expected version 1, found None"),
        ({"format": "another"}, "expected a header of format 'knee-contact surrogate'"),
        ({"formulation": {"medial": "inverted"}}, "not a usable surrogate: 'lateral'"),
        ({"formulation": {"medial": "odd", "lateral": "odd"}}, "formulation: expected one of"),
        ({"formulation": {"medial": ["inverted"], "lateral": 3}}, "not a usable surrogate"),
        ({"formulation": {"medial": "direct", "lateral": "direct"}}, "not a usable surrogate"),
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
    "name", ["medial/height/family", "medial/height/coefficients", "lateral/quantities/x_scale"]
)
def test_a_missing_array_is_refused(file, name):
    arrays, header = parts(file)
    del arrays[name]
    rewrite(file, arrays, header)
    refused(file, "not a usable surrogate")


def test_a_regressor_of_another_size_is_refused(file):
    """Signed and consistent, but not what the kernels would read."""
    arrays, header = parts(file)
    ratios = {k: a for k, a in arrays.items() if k.startswith("medial/ratios/")}
    arrays |= {k.replace("/ratios/", "/height/"): a for k, a in ratios.items()}
    rewrite(file, arrays, header)
    refused(file, "height: expected a regressor of 6 inputs and 1 outputs, found 6 and 5")


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
    zip_of(file, [("header.npy", npy(np.zeros(1, np.uint8))), ("medial/height/points.npy", data)])
    tracemalloc.start()
    started = time.perf_counter()
    refused(file, "truncated or foreign")
    seconds, (_, peak) = time.perf_counter() - started, tracemalloc.get_traced_memory()
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
