"""Errors in user input, and poses without an answer."""

from __future__ import annotations


class InputError(ValueError):
    """An argument, a file or a key of a configuration cannot be used.

    Every class and function raises this error for an argument of another type, shape or range than
    its docstring states. The message names the argument (`{name}` in `text` stands for it), the
    expected and the found value, and a remedy. The command line shows the message alone and ends
    with status 2; any other exception is a bug and keeps its traceback.
    """

    def __init__(self, text: str, name: str = "") -> None:
        super().__init__(*((text, name) if name else (text,)))
        self.text, self.name = text, name

    def __str__(self) -> str:
        """Return the message."""
        return self.text.replace("{name}", self.name) if self.name else self.text

    def under(self, name: str) -> InputError:
        """Return the same error about an argument of another name."""
        return type(self)(self.text, name)


class BoundsError(InputError):
    """A number is not finite or outside its `bounds`, relations such as ">=" and their limits."""

    def __init__(
        self, name: str, bounds: tuple[tuple[str, float], ...], found: float, unit: str = ""
    ) -> None:
        super().__init__(f"{{name}}: expected {_relations(bounds, unit)}, found {found!r}", name)
        self.bounds, self.found, self.unit = bounds, found, unit
        self.args = name, bounds, found, unit

    def under(self, name: str) -> InputError:
        """Return the same error about an argument of another name; one ending with `_mm` in mm."""
        if not (self.unit == "m" and name.endswith("_mm")):
            return type(self)(name, self.bounds, self.found, self.unit)
        expected = _relations(tuple((sign, 1e3 * bound) for sign, bound in self.bounds), "mm")
        return InputError(f"{{name}}: expected {expected}, found {1e3 * self.found:.6g} mm", name)


def _relations(bounds: tuple[tuple[str, float], ...], unit: str) -> str:
    """Return bounds in words, such as "> 0 m and <= 0.1 m"."""
    wanted = [f"{sign} {bound:g}{' ' + unit if unit else ''}" for sign, bound in bounds]
    return " and ".join(wanted) or "a finite number"


class PoseError(RuntimeError):
    """A contact model has no answer at a pose; the message gives the reason."""
