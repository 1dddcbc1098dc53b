"""Damaged and forged files: each is refused, or answers as the original does to the last bit.

A file that is altered and signed anew is another file: it is refused, or usable without a fault.
"""

from __future__ import annotations

import io
import json
import struct
import time
import zipfile
from typing import NamedTuple

import manufactured
import numpy as np
import pytest

from foundation.pose import Pose
from surrogates.files import persistence
from surrogates.files.persistence import SurrogateFileError, load, save
from surrogates.formulations.knee import KneeSurrogate
from surrogates.formulations.whole_knee_fit import fit_whole_knee

SEED = 20_240
#: Most seconds for one file, on a busy machine.
PATIENCE = 5.0
ODD_NUMBERS = (0.0, -1.0, 1e-320, 1e300, -1e300, 3.0, np.nan, np.inf)
ODD_VALUES = (
    None, True, 0, -1, 3, 2**70, 1e308, float("nan"), float("inf"), "", "text", "\ud800", [], [[]],
    [1.0], {}, {"medial": 1}, {"medial": {}, "lateral": {}}, ["inverted"], [1e400] * 2, [0.0, 1.0],
)  # fmt: skip


class Original(NamedTuple):
    content: bytes
    arrays: dict
    header: dict
    answers: bytes


def poses():
    true = manufactured.truth()
    x = manufactured.draw(3, 6)
    found = true.poses(x[:, :5], true.over(x))
    found[0, 4] += 0.05
    found[1, 1] += 0.1
    return found


POSES = poses()


def answers(knee):
    return b"".join(part.tobytes() for part in knee.evaluate_batch(POSES))


def compartments():
    """A knee of two formulations, of which one has a reference height."""
    names = ("inverted", "touch_stiffness")
    trained = [manufactured.train(manufactured.truth(name), joint=True) for name in names]
    return KneeSurrogate(*(found.surrogate for found in trained))


def whole():
    true = manufactured.truth()
    samples = true.samples(manufactured.design())
    # Loads of the other compartment are those of poses adducted the other way.
    mirrored = true.samples(manufactured.design() * [1, -1, 1, 1, 1, -1])
    loads = np.stack([samples.loads, mirrored.loads], axis=1)
    fitter = manufactured.fitter(joint=True)
    return fit_whole_knee(
        "knee_inverted_two", true.space, samples.poses, loads, fitter
    ).surrogate  # fmt: skip


@pytest.fixture(scope="module", params=[compartments, whole], ids=lambda make: make.__name__)
def original(request, tmp_path_factory):
    file = tmp_path_factory.mktemp("fuzz") / "knee.npz"
    save(request.param(), file)
    with np.load(file, allow_pickle=False) as data:
        arrays = dict(data)
    header = json.loads(arrays.pop("header").tobytes())
    return Original(file.read_bytes(), arrays, header, answers(load(file)))


def somewhere(content, rng, most=400):
    start = int(rng.integers(len(content)))
    return start, start + int(rng.integers(1, most))


# ---- damage: bytes of a file ---------------------------------------------------------------------


def flip_bits(original, rng):
    content = bytearray(original.content)
    for _ in range(int(rng.integers(1, 9))):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def overwrite(original, rng):
    content = bytearray(original.content)
    start, end = somewhere(content, rng)
    size = len(content[start:end])
    filler = [rng.bytes(size), bytes(size), b"\xff" * size, b"9" * size]
    content[start:end] = filler[rng.integers(4)]
    return bytes(content)


def truncate(original, rng):
    return original.content[: int(rng.integers(len(original.content)))]


def delete(original, rng):
    start, end = somewhere(original.content, rng)
    return original.content[:start] + original.content[end:]


def insert(original, rng):
    start, end = somewhere(original.content, rng)
    new = [rng.bytes(end - start), original.content[start:end]][rng.integers(2)]
    return original.content[:start] + new + original.content[start:]


def append(original, rng):
    tail = [rng.bytes(100), original.content[-500:], original.content][rng.integers(3)]
    return original.content + tail


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
    members = list(members_of(original.content))
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


def swap_members(original, rng):
    members = list(members_of(original.content))
    i, j = rng.choice(len(members), 2, replace=False)
    if rng.integers(2):  # their contents, not only their order
        members[i], members[j] = (members[i][0], members[j][1]), (members[j][0], members[i][1])
    else:
        members[i], members[j] = members[j], members[i]
    return zipped(members)


def drop_or_repeat_member(original, rng):
    members = list(members_of(original.content))
    k = int(rng.integers(len(members)))
    if rng.integers(2):
        del members[k]
    else:
        data = members[k][1]
        new = ["medial/more.npy", "../up.npy", "/abs.npy", "other.txt", "medial/.npy", ".npy"]
        members.append((new[rng.integers(6)], data))
    return zipped(members)


def compress(original, rng):
    methods = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]
    return zipped(list(members_of(original.content)), methods[rng.integers(2)])


def unsigned_edit(original, rng):
    """As below, with the old checksum."""
    arrays, header = edited(original, rng)
    return written(arrays, header)


DAMAGE = (
    flip_bits, overwrite, truncate, delete, insert, append, edit_directory, edit_array_header,
    swap_members, drop_or_repeat_member, compress, unsigned_edit,
)  # fmt: skip


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            yield member.filename, archive.read(member)


def zipped(members, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


# ---- forgery: files of another content, signed anew ----------------------------------------------


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


def scale_numbers(array, rng):
    return array * rng.choice([-1, 0, 2, 1000]) if array.dtype.kind in "fi" else array


def drop_row(array, _):
    return array[1:] if array.ndim else array.reshape(1)


def repeat(array, _):
    return np.concatenate([array, array]) if array.ndim else np.array([array, array])


def flatten(array, _):
    return array.ravel()


def transpose(array, _):
    return array.T if array.ndim > 1 else array[..., None]


def cast(array, rng):
    kinds = ["f2", "f4", ">f8", "i1", "u8", "U3"]
    with np.errstate(all="ignore"):
        return array.astype(kinds[rng.integers(6)]) if array.dtype.kind in "fi" else array


def to_text(array, rng):
    return np.array(["", "kriging", "network", "x" * 1000][rng.integers(4)])


def remove(array, rng):
    del array, rng


ARRAY_EDITS = (
    set_number, set_number, scale_numbers, drop_row, repeat, flatten, transpose, cast, to_text,
    remove,
)  # fmt: skip


def written(arrays, header):
    stream = io.BytesIO()
    raw = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(stream, header=raw, **arrays)
    return stream.getvalue()


def signed(original, rng):
    arrays, header = edited(original, rng)
    return written(arrays, header | {"sha256": persistence._digest(header, arrays)})


# ---- what becomes of them ------------------------------------------------------------------------


def loaded(file, content):
    """The surrogate of a file with that content, or None where it is refused."""
    file.write_bytes(content)
    started = time.process_time()
    knee, message = None, ""
    try:
        knee = load(file)
    except SurrogateFileError as error:
        message = str(error)
    assert time.process_time() - started < PATIENCE
    assert knee is not None or message.startswith(f"{file}: ")
    return knee


def check_damaged(original, file, rng):
    """Return whether a damaged file was refused; else it is as good as the original."""
    mutate = DAMAGE[rng.integers(len(DAMAGE))]
    knee = loaded(file, mutate(original, rng))
    if knee is not None:
        assert answers(knee) == original.answers, mutate.__name__
    return knee is None


def check_signed(original, file, rng):
    """Return whether a forged file was refused; else it can be used."""
    knee = loaded(file, signed(original, rng))
    if knee is None:
        return True
    with np.errstate(all="ignore"):
        loads, jacobians, variables = knee.evaluate_batch(POSES)
        assert loads.shape == (3, 2, 12)
        assert jacobians.shape == (3, 2, 6, 6)
        assert variables.shape == (3, 2, 7)
        knee.loads_and_jacobian(Pose.from_array(POSES[2]))
        assert knee.standard_error(Pose.from_array(POSES[2])).shape == (2, 12)
    return False


def fuzz(original, folder, check, part, count):
    refused = 0
    for k in range(count):
        rng = np.random.default_rng([SEED, part, k])
        try:
            refused += check(original, folder / "knee.npz", rng)
        except BaseException as error:
            error.add_note(f"file {k} of part {part}")
            raise
    return refused / count


@pytest.mark.parametrize("part", range(4))
def test_damaged_files_are_refused_or_as_good_as_new(original, tmp_path, part):
    refused = fuzz(original, tmp_path, check_damaged, part, 200)
    # Some damage does none: dates, attributes and the order of members, or bytes at the end.
    assert 0.6 < refused < 1.0
    assert [file.name for file in tmp_path.iterdir()] == ["knee.npz"]


@pytest.mark.parametrize("part", range(100, 102))
def test_forged_files_are_refused_or_usable(original, tmp_path, part):
    refused = fuzz(original, tmp_path, check_signed, part, 100)
    assert 0.2 < refused < 0.95
    assert [file.name for file in tmp_path.iterdir()] == ["knee.npz"]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1000, 1015))
def test_many_damaged_files(original, tmp_path, part):
    assert fuzz(original, tmp_path, check_damaged, part, 500) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2000, 2005))
def test_many_forged_files(original, tmp_path, part):
    assert fuzz(original, tmp_path, check_signed, part, 500) > 0.2


@pytest.mark.parametrize("mutate", DAMAGE, ids=lambda f: f.__name__)
def test_every_kind_of_damage_is_refused_some_time(original, tmp_path, mutate):
    """A fuzzer that damages nothing would find nothing."""
    rng = np.random.default_rng(SEED)
    found = [loaded(tmp_path / "knee.npz", mutate(original, rng)) for _ in range(40)]
    assert any(knee is None for knee in found)


def test_the_original_itself_is_read(original, tmp_path):
    knee = loaded(tmp_path / "knee.npz", original.content)
    assert answers(knee) == original.answers
    again = loaded(tmp_path / "knee.npz", zipped(list(members_of(original.content))))
    assert answers(again) == original.answers
    once_more = loaded(tmp_path / "knee.npz", written(original.arrays, original.header))
    assert answers(once_more) == original.answers
