"""Print tables of speed and accuracy: `python -m benchmarks [NAME ...]`.

A name is that of a module (accuracy), or of one of its tables (accuracy.two_layers). By default:
accuracy, gait and expressions. `comak` needs OpenSim, which no process can hold beside CasADi, and
the data; `peers` needs OpenSim and Drake (`make bench-peers`).
"""

from __future__ import annotations

import argparse
from importlib import import_module

DEFAULT = ("accuracy", "gait", "expressions")


def main() -> None:
    """Print the tables one after the other, each as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=DEFAULT, metavar="NAME")
    for name in parser.parse_args().names:
        module, _, table = name.partition(".")
        found = import_module(f"benchmarks.{module}")
        for make in (getattr(found, table),) if table else found.TABLES:
            print(make(), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
