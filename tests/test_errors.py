"""Errors of what users give are `InputError`; what else is raised keeps its traceback."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(
    str(path.relative_to(ROOT))
    for package in ("foundation", "surrogates", "dynamics", "pipeline")
    for path in (ROOT / package).rglob("*.py")
)
#: What a slip in our own code raises.
FAULTS = {
    *("ValueError", "KeyError", "TypeError", "AttributeError", "IndexError", "LookupError"),
    *("Exception", "BaseException"),
}
#: Statements that a clause for these may guard: a call of a parser, and little around it.
MOST = 4
#: Handlers of more, with the reason.
ALLOWED = {
    ("pipeline/cli/main.py", "main"): "tells every fault with its traceback",
}


@cache
def tree_of(file):
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node else set()


def wide_handlers(tree):
    """Yield function, line and statements of clauses that catch what a slip raises."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Try):
                guarded = sum(
                    isinstance(part, ast.stmt) for body in node.body for part in ast.walk(body)
                )
                for handler in node.handlers:
                    if handler.type is None or names_in(handler.type) & FAULTS:
                        yield function.name, handler.lineno, guarded


@pytest.mark.slow
def test_no_plain_value_error_is_raised():
    raised = [
        f"{file}:{node.lineno}"
        for file in FILES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Raise) and node.exc and "ValueError" in names_in(node.exc)
    ]
    assert not raised, f"raise InputError in {raised}"


@pytest.mark.slow
def test_own_slips_are_not_caught():
    wide = [
        f"{file}:{line} ({name})"
        for file in FILES
        for name, line, guarded in wide_handlers(tree_of(file))
        if guarded > MOST and (file, name) not in ALLOWED
    ]
    assert not wide, f"catch InputError, or guard the call of the parser alone: {wide}"
