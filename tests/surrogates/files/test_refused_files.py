"""Files that are refused by name: a table of damaged and forged ones, and random damage."""

import io
import json
import tracemalloc
import zipfile

import manufactured
import numpy as np
import pytest
from damage import files, read_or_refuse, reading
from hypothesis import given
from hypothesis import strategies as st
from made_knees import knee_of
from surrogate_files import answers, members_of, npy, read, signed, written, zipped

from surrogates.files import persistence
from surrogates.files.persistence import SurrogateFileError, load, save


def refused(file, content, message=None):
    """Assert a SurrogateFileError that names the file."""
    file.write_bytes(content)
    with pytest.raises(SurrogateFileError, match=message) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: ")


@pytest.fixture
def file(tmp_path):
    return tmp_path / "knee.npz"


@pytest.fixture(scope="module")
def knee(tmp_path_factory):
    """The file of a knee whose parts are separate regressors."""
    file = tmp_path_factory.mktemp("knee") / "knee.npz"
    save(manufactured.knee(header={"name": "test"}), file)
    return read(file)


def reheaded(**change):
    return lambda arrays, header: signed(arrays, header | change)


def without_array(name):
    return lambda arrays, header: signed({k: a for k, a in arrays.items() if k != name}, header)


def altered(name):
    """One number moved by a rounding, the zip written anew."""

    def change(arrays, header):
        array = arrays[name].copy()
        array.flat[0] = np.nextafter(array.flat[0], np.inf)
        return written(arrays | {name: array}, header)

    return change


def altered_header(arrays, header):
    changed = json.loads(json.dumps(header))
    changed["space"]["medial"]["load_N"][1] = 2501.0
    return written(arrays, changed)


def raw_header(raw):
    return lambda arrays, _: written(arrays | {"header": np.frombuffer(raw, dtype=np.uint8)})


def ratios_for_heights(arrays, header):
    """Signed and consistent, but not what the kernels would read."""
    ratios = {k: a for k, a in arrays.items() if k.startswith("medial/second/")}
    return signed(arrays | {k.replace("/second/", "/first/"): a for k, a in ratios.items()}, header)


def long_axes(arrays, header):
    """What is built for evaluation from a network of no units is not empty."""
    n = 10**8
    shapes = {"inner": (0, 6, n), "inner_bias": (0, n), "hidden": (0, n, n), "hidden_bias": (0, n)}
    return signed(
        arrays | {f"medial/first/{k}": np.empty(shape) for k, shape in shapes.items()}, header
    )


def larger_than_the_file(arrays, header):
    """The size in the zip's directory is its own claim."""
    content = written(arrays, header)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo("header.npy").file_size.to_bytes(4, "little")
    start = content.index(b"PK\x01\x02")
    return content[:start] + content[start:].replace(size, (2**30).to_bytes(4, "little"))


def extra_member(name):
    """Odd names are names and nothing more."""
    return lambda a, h: zipped([*members_of(written(a, h)), (name, npy(np.zeros(3)))])


def only_members(*members):
    return lambda _, __: zipped(members)


def flipped_bit(arrays, header):
    """Found by the zip's own checksum."""
    content = bytearray(written(arrays, header))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        content[archive.getinfo("medial/first/weights.npy").header_offset + 400] ^= 1
    return bytes(content)


def content_of(content):
    return lambda _, __: content


def cut(share):
    def change(arrays, header):
        content = written(arrays, header)
        return content[: int(share * len(content))]

    return change


def forged(shape, descr="'<f8'", data=b"\0" * 8):
    """An .npy whose header claims `shape` over `data`."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


BYTES = npy(np.zeros(1, np.uint8))
VERSION, UNUSABLE, FOREIGN = "expected version 5, found", "not a usable", "foreign"
CHECKSUM, NO_FORMAT = "checksum does not match", "expected a header of format"
BOTH = {"medial": "inverted", "lateral": "inverted"}
REFUSED = [
    *[(f"version {v}", reheaded(version=v), VERSION) for v in (4, 6, None, True, 2.0, "2", [2], 0)],
    ("version", reheaded(version=6), "found 6; train the surrogate again or update"),
    ("no compartments", reheaded(compartments=None), UNUSABLE),
    ("another format", reheaded(format="another"), NO_FORMAT + " 'knee-contact surrogate'"),
    ("one compartment", reheaded(formulation={"medial": "inverted"}), f"{UNUSABLE}.*'lateral'"),
    ("odd", reheaded(formulation=dict.fromkeys(BOTH, "odd")), "formulation: expected one of"),
    ("formulation of a list", reheaded(formulation=BOTH | {"medial": ["inverted"]}), UNUSABLE),
    ("other formulation", reheaded(formulation=dict.fromkeys(BOTH, "energy")), UNUSABLE),
    *[(f"formulation {f}", reheaded(formulation=f), UNUSABLE) for f in ([], "inverted")],
    ("no space", reheaded(space=None), UNUSABLE),
    ("empty space", reheaded(space={"medial": {}, "lateral": {}}), "sample space: missing"),
    *[
        (f"header {raw[:9]}", raw_header(raw), NO_FORMAT)
        for raw in (b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 200_000)
    ],
    ("header alone", raw_header(b'{"format": "knee-contact surrogate"}'), VERSION),
    ("no header", lambda arrays, _: written(arrays), "found no header"),
    *[
        (f"without {name}", without_array(name), UNUSABLE)
        for name in (
            "medial/first/family", "medial/constants", "lateral/third/x_scale",
            "medial/coordinates/half",
        )
    ],
    *[
        (f"altered {name}", altered(name), CHECKSUM)
        for name in ("medial/first/weights", "lateral/second/y_scale", "medial/constants")
    ],
    ("altered header", altered_header, CHECKSUM),
    ("flipped bit", flipped_bit, FOREIGN),
    ("other regressor", ratios_for_heights, "expected 12 outputs, found 16"),
    ("long axes", long_axes, "expected an empty array, found the shape"),
    ("larger than the file", larger_than_the_file, "more bytes than the size of the file"),
    *[
        (f"member {name}", extra_member(name), CHECKSUM)
        for name in ("../../medial.npy", "/etc/x.npy", "medial//..npy", "medial.npy")
    ],
    ("same names", only_members(("header.npy", BYTES), ("header.npy", BYTES)), "distinct names"),
    ("not .npy", only_members(("header.npy", BYTES), ("header", BYTES)), "end in .npy"),
    *[(f"cut to {share}", cut(share), "truncated or foreign") for share in (0.0, 0.3, 0.99999)],
    *[
        (f"content {content[:9]}", content_of(content), FOREIGN)
        for content in (b"solid stl\n", b"PK" * 500)
    ],
    ("empty archive", content_of(b"PK\x05\x06" + 18 * b"\0"), NO_FORMAT),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_file_is_refused_with_the_reason(knee, file, change, message):
    refused(file, change(dict(knee.arrays), dict(knee.header)), message)
    assert list(file.parent.rglob("*")) == [file]


def test_an_oversized_file_is_refused_unread(knee, file, monkeypatch):
    size = len(knee.content)
    monkeypatch.setattr(persistence, "SIZE_LIMIT", size - 1)
    refused(file, knee.content, f"expected at most {size - 1} bytes, found {size}")
    monkeypatch.setattr(persistence, "SIZE_LIMIT", size)
    load(file)


class Bomb:
    """Says so when it is unpickled."""

    exploded = False

    def __reduce__(self):
        return setattr, (Bomb, "exploded", True)


def test_objects_are_refused_and_not_run(knee, file):
    objects = npy(np.array([Bomb()], dtype=object))
    header, *members = members_of(knee.content)
    for content in ([header, *members, ("medial/extra.npy", objects)], [("header.npy", objects)]):
        refused(file, zipped(content), "expected numbers or a text, found object")
    assert not Bomb.exploded


@pytest.mark.parametrize(
    "data",
    [
        *(forged(f"({n},)") for n in (10**13, 2 * 10**8, -1, 2)),
        *(forged(shape) for shape in ("(4611686018427387904, 4)", "(-1, -1)", "((((1,),),),)")),
        forged("(0, 100000000000)", data=b""),
        *(forged("(100000000000,)", kind, b"") for kind in ("'|V0'", "'<U0'")),
        forged("(1,)", "[('a', '|O')]"),
        forged("(1,)", "'<c16'", b"\0" * 16),
        forged("(1,)", "'nonsense'"),
        b"\x93NUMPY\x09\x00" + b"\0" * 100,
        b"\x93NUMPY\x01\x00\xff\xff",
        b"not an array",
        b"",
    ],
)
def test_a_forged_array_is_refused_without_its_memory(file, data):
    content = zipped([("header.npy", BYTES), ("medial/first/points.npy", data)])
    tracemalloc.start()
    refused(file, content, "truncated or foreign")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def of_two_formulations():
    names = ("inverted", "direct")
    trained = [manufactured.train(manufactured.truth(name), joint=True) for name in names]
    return knee_of(*(found.surrogate for found in trained))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    file = tmp_path_factory.mktemp("fuzz") / "knee.npz"
    save(of_two_formulations(), file)
    return read(file)


@given(data=st.data())
@reading
def test_damaged_bytes_are_refused_or_as_good_as_new(original, file, data):
    found = read_or_refuse(load, file, data.draw(files(original.content)), SurrogateFileError)
    assert found is None or answers(found) == original.answers


def test_missing_files_are_named(tmp_path):
    for path, message in ((tmp_path / "none.npz", "no such file"), (tmp_path, "found a folder")):
        with pytest.raises(SurrogateFileError, match=message) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_a_compressed_bomb_is_refused_unread(file):
    content = zipped([("header.npy", npy(np.zeros(3_000_000)))], zipfile.ZIP_DEFLATED)
    assert len(content) < 1e6
    tracemalloc.start()
    refused(file, content, "expected uncompressed members")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6
