"""Random damage and forgery: files are refused by name, or answer as the original to the last bit.

A file that is altered and signed anew is another file: it is refused, or usable without a fault.
"""

from __future__ import annotations

import json
import struct
import zipfile

import manufactured
import numpy as np
import pytest
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from made_knees import knee_of
from surrogate_files import POSES, answers, members_of, read, signed, written, zipped

from foundation.base.pose import Pose
from surrogates.files.persistence import SurrogateFileError, load, save

SEED = 20_240
ODD_NUMBERS = (0.0, -1.0, 1e-320, 1e300, -1e300, 3.0, np.nan, np.inf)
ODD_VALUES = (
    None, True, 0, -1, 3, 2**70, 1e308, float("nan"), float("inf"), "", "text", "\ud800", [], [[]],
    [1.0], {}, {"medial": 1}, {"medial": {}, "lateral": {}}, ["inverted"], [1e400] * 2, [0.0, 1.0],
)  # fmt: skip


def knee():
    """A knee of two formulations."""
    names = ("inverted", "direct")
    trained = [manufactured.train(manufactured.truth(name), joint=True) for name in names]
    return knee_of(*(found.surrogate for found in trained))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "knee.npz"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    file = tmp_path_factory.mktemp("fuzz") / "knee.npz"
    save(knee(), file)
    return read(file)


@given(data=st.data())
@reading
def test_damaged_bytes_are_refused_or_as_good_as_new(original, file, data):
    found = read_or_refuse(load, file, data.draw(files(original.content)), SurrogateFileError)
    assert found is None or answers(found) == original.answers


def edit_directory(original, rng):
    """Sizes, offsets, methods and names in the zip's own records become others."""
    content = bytearray(original.content)
    mark, fields = [
        (b"PK\x01\x02", (4, 6, 8, 10, 16, 20, 24, 28, 30, 32, 36, 38, 42)),
        (b"PK\x03\x04", (4, 6, 8, 14, 18, 22, 26, 28)),
        (b"PK\x05\x06", (4, 6, 8, 10, 12, 16, 20)),
    ][rng.integers(3)]
    places, start = [], content.find(mark)
    while start >= 0:
        places.append(start)
        start = content.find(mark, start + 4)
    at = int(rng.choice(places)) + int(rng.choice(fields))
    size = int(rng.choice([2, 4]))
    value = [0, 1, 2**16 - 1, 2**31, 2**32 - 1, int(rng.integers(2**32))][rng.integers(6)]
    content[at : at + size] = struct.pack("<I", value)[:size]
    return bytes(content)


def edit_array_header(original, rng):
    """Shapes and types that an .npy claims become others, the zip's checksums fitting."""
    members = members_of(original.content)
    k = int(rng.integers(len(members)))
    name, data = members[k]
    old, new = [
        (b"(", b"(99999999999, "), (b"'shape': (", b"'shape': (-1, "), (b"<f8", b"<c8"),
        (b"<f8", b"|O8"), (b"<f8", b"<f4"), (b"<f8", b"<i8"), (b"False", b"True "),
        (b"NUMPY\x01", b"NUMPY\x02"), (b"NUMPY\x01", b"NUMPY\x09"), (b"{", b"[" * 50),
        (b"}", b"}" + b"(" * 90), (b"'descr'", b"'desc_'"), (b"<f8", b"<U9"), (b"<f8", b">f8"),
    ][rng.integers(14)]  # fmt: skip
    members[k] = (name, data.replace(old, new, 1))
    return zipped(members)


def edit_members(original, rng):
    """Members are swapped, dropped, added under odd names, or compressed."""
    members = members_of(original.content)
    i, j = rng.choice(len(members), 2, replace=False)
    kind = rng.integers(4)
    if kind == 0:  # contents, not only the order
        members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    elif kind == 1:
        members[i], members[j] = members[j], members[i]
    elif kind == 2:
        del members[i]
    else:
        new = ["medial/more.npy", "../up.npy", "/abs.npy", "other.txt", "medial/.npy", ".npy"]
        members.append((new[rng.integers(6)], members[i][1]))
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]
    return zipped(members, methods[rng.integers(4)])


def unsigned_edit(original, rng):
    return written(*edited(original, rng))


DAMAGE = (edit_directory, edit_array_header, edit_members, unsigned_edit)


def edited(original, rng):
    """Arrays and header of which one thing is another."""
    arrays, header = dict(original.arrays), json.loads(json.dumps(original.header))
    if rng.integers(3) == 0:
        _edit_json(header, rng)
        return arrays, header
    name = sorted(arrays)[rng.integers(len(arrays))]
    edit = ARRAY_EDITS[rng.integers(len(ARRAY_EDITS))]
    changed = edit(arrays.pop(name), rng)
    if changed is not None:
        arrays[name] = changed
    return arrays, header


def _edit_json(header, rng):
    """Replace, nest or remove a value somewhere in the header."""
    parent, key = header, sorted(header)[rng.integers(len(header))]
    while rng.integers(4) and isinstance(parent[key], dict | list) and parent[key]:
        parent = parent[key]
        keys = sorted(parent) if isinstance(parent, dict) else range(len(parent))
        key = keys[rng.integers(len(keys))]
    kind = rng.integers(4)
    if kind == 0:
        del parent[key]
    elif kind == 1:
        deep = parent[key]
        for _ in range(int(rng.choice([1, 40, 300, 900]))):
            deep = [deep] if rng.integers(2) else {"a": deep}
        parent[key] = deep
    else:
        parent[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]


def set_number(array, rng):
    changed = array.copy()
    if changed.size and changed.dtype.kind in "fi":
        value = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
        if changed.dtype.kind == "i":
            value = int(np.nan_to_num(np.clip(value, -(2**62), 2**62)))
        changed.flat[rng.integers(changed.size)] = value
    return changed


def cast(array, rng):
    kinds = ["f2", "f4", ">f8", "i1", "u8", "U3"]
    with np.errstate(all="ignore"):
        return array.astype(kinds[rng.integers(6)]) if array.dtype.kind in "fi" else array


ARRAY_EDITS = (
    set_number,
    set_number,
    cast,
    lambda array, rng: array * rng.choice([-1, 0, 2, 1000]) if array.dtype.kind in "fi" else array,
    lambda array, _: array[1:] if array.ndim else array.reshape(1),
    lambda array, _: np.concatenate([array, array]) if array.ndim else np.array([array, array]),
    lambda array, _: array.ravel(),
    lambda array, _: array.T if array.ndim > 1 else array[..., None],
    lambda _, rng: np.array(["", "kriging", "network", "x" * 1000][rng.integers(4)]),
    lambda _, __: None,
)


def loaded(file, content):
    """The surrogate of a file with that content, or None where it is refused."""
    return read_or_refuse(load, file, content, SurrogateFileError)


def check_damaged(original, file, rng):
    """Return whether a damaged file was refused; else it is as good as the original."""
    mutate = DAMAGE[rng.integers(len(DAMAGE))]
    knee = loaded(file, mutate(original, rng))
    if knee is not None:
        assert answers(knee) == original.answers, mutate.__name__
    return knee is None


def check_signed(original, file, rng):
    """Return whether a forged file was refused; else it can be used."""
    knee = loaded(file, signed(*edited(original, rng)))
    if knee is None:
        return True
    with np.errstate(all="ignore"):
        loads, jacobians, variables = knee.evaluate_batch(POSES)
        count = len(knee.compartments)  # another list of names is another contact pair
        assert loads.shape == (3, count, 12)
        assert jacobians.shape == (3, count, 6, 6)
        assert variables.shape == (3, count, 7)
        knee.loads_and_jacobian(Pose.from_array(POSES[2]))
        assert knee.standard_error(Pose.from_array(POSES[2])).shape == (count, 12)
    return False


def parts(number, count, more):
    """Parts of `count` files each, and slow ones of 500."""
    slow = [pytest.param(10 * number + k, 500, marks=pytest.mark.slow) for k in range(more)]
    return [*((number + k, count) for k in range(2)), *slow]


@pytest.mark.parametrize(
    ("check", "bounds", "part", "count"),
    [
        # Some damage does none: dates, attributes and the order of members.
        pytest.param(check, bounds, *getattr(p, "values", p), marks=getattr(p, "marks", ()))
        for check, bounds, these in (
            (check_damaged, (0.6, 1.0), parts(100, 60, 15)),
            (check_signed, (0.2, 0.95), parts(200, 40, 5)),
        )
        for p in these
    ],
)
def test_damaged_or_forged_files_are_refused_or_usable(original, file, check, bounds, part, count):
    refusals = 0
    for k in range(count):
        rng = np.random.default_rng([SEED, part, k])
        try:
            refusals += check(original, file, rng)
        except BaseException as error:
            error.add_note(f"file {k} of part {part}")
            raise
    assert bounds[0] < refusals / count < bounds[1]
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mutate", DAMAGE, ids=lambda f: f.__name__)
def test_every_kind_of_damage_is_refused_some_time(original, file, mutate):
    """A fuzzer that damages nothing would find nothing."""
    rng = np.random.default_rng(SEED)
    assert any(loaded(file, mutate(original, rng)) is None for _ in range(40))


def test_the_original_itself_is_read(original, file):
    again = zipped(members_of(original.content)), written(original.arrays, original.header)
    for content in (original.content, *again):
        assert answers(loaded(file, content)) == original.answers
