"""Questions on the terminal, or their defaults."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import NamedTuple, TypeVar

from foundation.base.checks import check_in
from foundation.base.errors import InputError

_T = TypeVar("_T")


class Interview(NamedTuple):
    """Asks on the terminal, or takes the defaults."""

    interactive: bool

    def tell(self, text: str) -> None:
        """Write a line, if a person sits at the terminal."""
        if self.interactive:
            sys.stderr.write(f"{text}\n")

    def ask(
        self, question: str, option: str, default: str | None, reader: Callable[[str], _T]
    ) -> _T:
        """Return the answer as read; a refused answer is asked for again.

        Raises
        ------
        InputError
            If the input ends, or if there is nobody to ask and no default.
        """
        if not self.interactive:
            if default is None:
                raise InputError(f"{option} is required: {question}")
            return reader(default)
        while True:
            sys.stderr.write(f"{question}{f' [{default}]' if default else ''}: ")
            sys.stderr.flush()
            line = sys.stdin.readline()
            if not line:
                raise InputError(
                    "input ended before the last question, so that nothing was written; answer "
                    "all questions, or set the values by options"
                )
            try:
                return reader(line.strip() or default or "")
            except InputError as error:
                sys.stderr.write(f"{error}\n")

    def choose(
        self, question: str, option: str, default: str | None, choices: Collection[str]
    ) -> str:
        """Return one of several answers."""
        text = f"{question} ({', '.join(choices)})"
        return self.ask(text, option, default, lambda answer: check_in("answer", answer, choices))
