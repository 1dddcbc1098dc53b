"""Files of one small surface in variants of STL, PLY and OBJ, written by hand."""

import io
import re
import struct

import numpy as np

from foundation.surfaces.mesh import read_surface

#: Five points of a surface 50 mm wide [m], exact in single precision; two triangles and one that
#: stands on them.
POINTS = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0], [0.5, 1, 0.5]]) * 0.0625
FACES = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 2]])
#: The same surface with its first two triangles as a quad.
POLYGONS = [[0, 1, 2, 3], [1, 4, 2]]
P, T = len(POINTS), len(FACES)
CORNERS = POINTS[FACES]


def as_set(corners):
    """Return triangles (F, 3, 3) in an order of their own; the winding stays."""
    found = []
    for triangle in (np.asarray(corners) + 0.0).round(9).tolist():
        first = triangle.index(min(triangle))
        found.append(tuple(map(tuple, triangle[first:] + triangle[:first])))
    return sorted(found)


def triangles(path):
    """Return the triangles of a file by `as_set`."""
    found = read_surface(path)
    return as_set(found.points[found.faces])


def text_stl(name="surface", end="endsolid surface", solids=1, corners=CORNERS):
    parts = []
    for own in np.array_split(corners, solids):
        facets = "".join(
            "  facet normal 0 0 0\n    outer loop\n"
            + "".join(f"      vertex {x!r} {y!r} {z!r}\n" for x, y, z in corner.tolist())
            + "    endloop\n  endfacet\n"
            for corner in own
        )
        parts.append(f"solid {name}\n{facets}{end}\n")
    return "".join(parts).encode()


def binary_stl(header=b"", count=T, corners=CORNERS):
    triangles = np.zeros(len(corners), [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("e", "<u2")])
    triangles["v"] = corners
    return header.ljust(80, b"\0")[:80] + struct.pack("<I", count) + triangles.tobytes()


STL = text_stl()
STL_FILES = {
    "text.stl": STL,
    "mark.stl": b"\xef\xbb\xbf" + STL,
    "utf16.stl": STL.decode().encode("utf-16"),
    "utf16-be-without-mark.stl": STL.decode().encode("utf-16-be"),
    "blanks.stl": b"  \t\n \n  " + STL,
    "name of keywords.stl": text_stl(name="facet normal solid vertex 1 2 3"),
    "windows.stl": STL.replace(b"\n", b"\r\n"),
    "old mac.stl": STL.replace(b"\n", b"\r"),
    "two solids.stl": text_stl(solids=2),
    "one line.stl": re.sub(rb"\n\s*", b" ", STL).replace(b"surface facet", b"surface\nfacet")
    .replace(b"endfacet endsolid", b"endfacet\nendsolid"),
    "binary.stl": binary_stl(),
    "binary solid.stl": binary_stl(b"solid from a program"),
    "binary solid facet.stl": binary_stl(b"solid facet normal outer loop vertex"),
    "binary padded.stl": binary_stl() + b"\0" * 37,
}  # fmt: skip
BAD_STL = {
    "cut.stl": (binary_stl()[:-7], "227 bytes, expected 234 for the 3 triangles"),
    "cut solid facet.stl": (binary_stl(b"solid facet")[:-7], "227 bytes, expected 234"),
    "more.stl": (binary_stl(count=2), "234 bytes, expected 184 for the 2 triangles"),
    "text cut.stl": (STL[:-40], "1 times 'solid' and 0 times the closing 'endsolid'"),
    "facet cut.stl": (STL.replace(b"endloop", b"", 1), "too few or too many words"),
    "facet not written.stl": (STL.replace(b"vertex", b"vertices", 1), "1 facet is not written"),
    "word.stl": (STL.replace(b"0.0625", b"o.0625", 1), "could not convert .*o.0625"),
    "ply.stl": (b"ply\nformat ascii 1.0\n", "another format .*ply.*rename"),
    "zip.stl": (b"PK\x03\x04" + bytes(300), "another format .*zip"),
    "prose.stl": (b"Dear reader, " * 30, "390 bytes that neither begin with 'solid'"),
}


def ply(order="<", polygons=POLYGONS, extra=False, name="vertex_indices", edges=0, more=b""):
    """Return a PLY file, text with order ""; with an element and properties of other programs."""
    coding = {"": "ascii", "<": "binary_little_endian", ">": "binary_big_endian"}[order]
    head = [
        *("ply", f"format {coding} 1.0", "comment TextureFile missing.png"),
        *("obj_info made by hand", f"element vertex {P}"),
        *["property uchar quality"] * extra,
        *("property float x", "property float y", "property double z"),
        *["property list uchar short neighbours"] * extra,
        *(["element material 2", "property int shine", "property list int float rgb"] * extra),
        f"element face {len(polygons)}",
        *["property float area"] * extra,
        f"property list uchar int {name}",
        *["property uchar red"] * extra,
        *([f"element edge {edges}", "property int vertex1", "property int vertex2"] * bool(edges)),
        "end_header",
    ]
    out = io.BytesIO()

    def put(kinds, *values):
        if order:
            out.write(struct.pack(order + kinds, *values))
        else:
            out.write(" ".join(str(value) for value in values).encode() + b" ")

    def line():
        out.write(b"" if order else b"\n")

    for number, (x, y, z) in enumerate(POINTS.tolist()):
        put(*("B", 7) if extra else ("",))
        put("ffd", x, y, z)
        if extra:
            put(f"B{number}h", number, *range(number))
        line()
    for shine in (1, 2) if extra else ():
        put("ii3f", shine, 3, 0.5, 0.25, 0.125)
        line()
    for polygon in polygons:
        put(*("f", 1.5) if extra else ("",))
        put(f"B{len(polygon)}i", len(polygon), *polygon)
        put(*("B", 255) if extra else ("",))
        line()
    for edge in range(edges):
        put("ii", edge, edge + 1)
        line()
    return "\n".join(head).encode() + b"\n" + out.getvalue() + more


TRIANGLES = FACES.tolist()
HEAD = ply("<").split(b"end_header\n", 1)[0]
PLY_FILES = {
    "little.ply": ply("<", TRIANGLES),
    "big.ply": ply(">", TRIANGLES),
    "text.ply": ply("", TRIANGLES),
    "little mixed.ply": ply("<"),
    "little extra.ply": ply("<", extra=True),
    "big extra.ply": ply(">", extra=True),
    "text extra.ply": ply("", extra=True),
    "vertex_index.ply": ply(">", name="vertex_index"),
    "trailing words.ply": ply(">", more=b"written by a program, see https://example.org\n"),
    "edges.ply": ply("<", edges=3),
    "edges of faces.ply": ply("", [*TRIANGLES, [0, 1]]),
    "windows.ply": ply("").replace(b"\n", b"\r\n"),
    "windows header.ply": b"end_header\r\n".join(
        [HEAD.replace(b"\n", b"\r\n"), ply("<").removeprefix(HEAD + b"end_header\n")]
    ),
}  # fmt: skip
BAD_PLY = {
    "cut.ply": (
        ply("<", TRIANGLES)[:-1],
        "bytes, too few for the 3 of element face",
    ),
    "cut mixed.ply": (ply(">")[:-1], "bytes, too few for the 2 of element face"),
    "cut vertices.ply": (ply("<")[:-70], "too few for the 5 of element vertex"),
    "cut text.ply": (ply("")[:-6], "element face: a line has too few values"),
    "line.ply": (ply("").rsplit(b"\n", 2)[0], "1 of 2 lines of element face"),
    "corner.ply": (ply("", [[0, 1, 5]]), "vertex 6 of 5"),
    "negative.ply": (ply("<", [[0, 1, -2]]), "vertex -1 of 5"),
    "format.ply": (ply("").replace(b"ascii", b"binary"), "expected one of the formats ascii, "),
    "header.ply": (ply("").replace(b"end_header", b"end"), "no end_header"),
    "type.ply": (ply("").replace(b"double", b"triple"), "unknown type .*triple z"),
    "more text.ply": (ply("", more=b"3 0 1 2\n"), "lines of elements, expected 7"),
    "no vertices.ply": (
        ply("").replace(b"element vertex", b"element corner"),
        "expected an element vertex with",
    ),
    "no format.ply": (ply("").replace(b"format", b"comment"), "the header states no format"),
    "points.ply": (ply("", []), "no triangles"),
}


def obj(polygons=POLYGONS, corner="{0}", head=""):
    lines = [f"{head}# by hand\n", *(f"v {x!r} {y!r} {z!r}\n" for x, y, z in POINTS.tolist())]
    lines += [f"vt {k} 0.5\nvn 0 1 0\n" for k in range(P)]
    lines += [
        "f " + " ".join(corner.format(k + 1, k - P) for k in polygon) + "\n" for polygon in polygons
    ]
    return "".join(lines).encode()


OBJ_FILES = {
    "plain.obj": obj(TRIANGLES),
    "quads.obj": obj(),
    "v-vt.obj": obj(corner="{0}/{0}"),
    "v-vt-vn.obj": obj(corner="{0}/{0}/{0}"),
    "v--vn.obj": obj(corner="{0}//{0}"),
    "negative.obj": obj(corner="{1}"),
    "continued.obj": obj().replace(b"f 1 2 3 4", b"f 1 2 \\\n3 \\ \n 4"),
    "continued vertex.obj": obj().replace(b"v 0.0 0.0 0.0625", b"v 0.0 \\\r\n0.0 0.0625"),
    "comment with backslash.obj": obj(head="# from C:\\scans\\\nmtllib C:\\materials\\\n"),
    "materials.obj": obj(head="mtllib missing.mtl\nusemtl skin\nmap_Kd missing.png\no a 1 2 3\n"),
    "colours.obj": re.sub(rb"(v [^\n]*)", rb"\1 0.1 0.2 0.3", obj()),
    "lines and points.obj": obj() + b"l 1 2 3\nl 2 3\np 1\n",
    "slashes.obj": obj(corner="{0}/"),
    "names of numbers.obj": obj(head="g 1 2 3\nusemtl 1 2 3\n"),
    "dos.obj": obj() + b"\x1a",
}
BAD_OBJ = {
    "cut.obj": (obj(TRIANGLES)[:-9], "the last line has no end, and 1 of 5 vertices"),
    "two.obj": (obj() + b"f 1 2\n", "line 19: expected a face of 3 or more corners, found 2"),
    "far.obj": (obj() + b"f 1 2 6\n", "vertex 6 of 5"),
    "zero.obj": (obj() + b"f 0 1 2\n", "vertex numbers from 1"),
    "slash.obj": (obj() + b"f 1/1 2/2 3/", "found"),
    "keyword.obj": (obj().replace(b"# by hand\n", b"\xe2\x80\x8b"), "unknown keyword"),
    "back.obj": (obj() + b"f -1 -2 -6\n", "vertex 0 of 5"),
    "word.obj": (obj().replace(b"0.0625", b"zero", 1), "line 3: could not convert"),
    "utf16 cut.obj": (obj().decode().encode("utf-16")[:-1], "UTF-16-LE is cut off or damaged"),
}


GOOD = {**STL_FILES, **PLY_FILES, **OBJ_FILES}
BAD_STEP = {"cut.step": (b"ISO-10303-21;\nHEADER;\nENDSEC;\n", "END-ISO-10303-21 is missing")}
BAD = {**BAD_STL, **BAD_PLY, **BAD_OBJ, **BAD_STEP}
