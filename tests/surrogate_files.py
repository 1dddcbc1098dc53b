"""Files of surrogates taken apart and put together again, for the tests of damaged files."""

import io
import json
import zipfile
from typing import NamedTuple

import manufactured
import numpy as np
from surrogate_arrays import arrays

from surrogates.files.persistence import digest, load


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
    return b"".join(part.tobytes() for part in arrays(knee, POSES))


def parts(file):
    """Arrays of a file by name, and its header."""
    with np.load(file, allow_pickle=False) as data:
        arrays = dict(data)
    return arrays, json.loads(arrays.pop("header").tobytes())


def read(file):
    """The content of a file, its arrays by name, its header and the answers of its knee."""
    return Original(file.read_bytes(), *parts(file), answers(load(file)))


def written(arrays, header=None):
    """The content of a file of the same form."""
    stream = io.BytesIO()
    if header is not None:
        arrays = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)} | arrays
    np.savez(stream, **arrays)
    return stream.getvalue()


def signed(arrays, header):
    """The same with a checksum that fits."""
    return written(arrays, header | {"sha256": digest(header, arrays)})


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(member.filename, archive.read(member)) for member in archive.infolist()]


def zipped(members, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()
