"""Arrays whose addresses the library gets live as long as its call."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("foundation", "surrogates", "dynamics", "pipeline", "tests")
#: What returns the address of an argument, and of what it keeps itself.
ADDRESSES, KEPT = {"address", "addresses"}, {"self._held(value)"}


def addressed(call):
    """Return the arrays of a call of `address`, `addresses` or `map(address, arrays)`."""
    if not isinstance(call.func, ast.Name):
        return []
    if call.func.id == "map" and ast.unparse(call.args[0]) in ADDRESSES:
        return getattr(call.args[1], "elts", [])
    return call.args if call.func.id in ADDRESSES else []


def test_no_address_of_an_array_that_nothing_keeps():
    lost = [
        f"{path.relative_to(ROOT)}:{array.lineno}: {ast.unparse(array)}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for array in addressed(call)
        if isinstance(array, ast.Call | ast.BinOp) and ast.unparse(array) not in KEPT
    ]
    assert not lost
