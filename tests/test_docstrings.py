"""Docstrings state the shape and the unit of arrays and list the parameters of their function."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Functions with more parameters list each of them, if they have a section of parameters.
FEW_PARAMETERS = 2
ARRAY = re.compile(r"\b(?:\w*Array|NDArray|ArrayLike)\b")
#: Arrays without a unit: indices, labels, truth values.
LABELS = re.compile(r"\b(?:IntArray|BoolArray|NDArray\[np\.(?:u?int\d*_?|bool_|object_)\])")
LENGTH = r"(?:\.\.\.|[A-Za-z]\w{0,4}|\d{1,3})(?: ?[-+*] ?\w{1,3})*(?: or more)?"
SHAPE = re.compile(rf"(?<!\w)\({LENGTH}(?:,|(?:, {LENGTH})+)\)|\bany shape\b")
BRACKETS = re.compile(r"(?<![\w\])])\[([^\[\]]+)\]")
UNIT = re.compile(
    r"(?:1|%|°|SI|(?:[kMG]?Pa|[kmcµu]?m|k?N|rad|deg|m?s|min|h|J|W|Hz|kg|K)(?:\^?-?\d|[²³⁴⁻¹]+)?"
    r"|cycles?|million|any|unit|body|weights?)"
)
NO_UNIT = re.compile(r"[,;/·()]|\b(?:or|per|of|the|sqrt)\b|\s|\.\.\.")
SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n((?:(?!\w+\n-+\n).*\n?)*)", re.M)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$", re.M)


def is_unit(text):
    """Return whether a text between brackets is a list of units such as "rad, m" or "N/m"."""
    words = [word for word in NO_UNIT.split(text) if word]
    return bool(words) and all(map(UNIT.fullmatch, words))


def annotations_of(node):
    """Return the annotations of parameters and result, or of the fields of a class."""
    if isinstance(node, ast.ClassDef):
        begin = [p for p in node.body if isinstance(p, ast.FunctionDef) and p.name == "__init__"]
        fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
        if not begin:
            found = {ast.unparse(part.target): ast.unparse(part.annotation) for part in fields}
            return {name: text for name, text in found.items() if not text.startswith("ClassVar")}
        node = begin[0]
    rules = node.args
    arguments = [*rules.posonlyargs, *rules.args, *rules.kwonlyargs, rules.vararg, rules.kwarg]
    named = {a.arg: ast.unparse(a.annotation) if a.annotation else "" for a in arguments if a}
    return named | ({"return": ast.unparse(node.returns)} if node.returns else {})


def omissions(node, comments=""):
    """Return what the docstring and the `#:` comments of a function or class leave out."""
    text = f"{ast.get_docstring(node) or ''}\n{comments}"
    annotations = annotations_of(node)
    arrays = [a for name, a in annotations.items() if ARRAY.search(a) and name[0] != "_"]
    left_out = []
    if arrays and not SHAPE.search(text):
        left_out.append("a shape such as (N, 6)")
    physical = any(ARRAY.search(LABELS.sub("", a)) for a in arrays)
    if physical and not any(map(is_unit, BRACKETS.findall(text))):
        left_out.append("a unit such as [rad, m]")
    names = [n for n in annotations if n not in ("self", "cls", "return") and n[0] != "_"]
    sections = "".join(SECTION.findall(text))
    listed = {name.strip("* ") for entry in ENTRY.findall(sections) for name in entry.split(",")}
    if listed and len(names) > FEW_PARAMETERS:
        left_out += [f"parameter {name}" for name in names if name not in listed]
    return left_out


def public_nodes(body, prefix=""):
    """Yield name and node of the public classes, functions and methods."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if "overload" not in map(ast.unparse, node.decorator_list):
                yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public_nodes(node.body, f"{node.name}.")


def test_docstrings_state_shapes_units_and_parameters():
    wrong = []
    for package in ("foundation", "surrogates", "dynamics", "pipeline"):
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text("utf-8")
            lines = source.splitlines()
            for name, node in public_nodes(ast.parse(source).body):
                own = lines[node.lineno : node.end_lineno] if isinstance(node, ast.ClassDef) else []
                comments = "\n".join(line for line in own if line.strip().startswith("#:"))
                if left_out := ", ".join(omissions(node, comments)):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}: {left_out}")
    assert not wrong, "\n".join(wrong)
