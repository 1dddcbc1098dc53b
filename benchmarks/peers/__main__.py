"""Measure all engines and write a page and its picture: `python -m benchmarks.peers`.

With `--docs` it replaces docs/peers.md and docs/peers.png.
"""

from __future__ import annotations

import argparse

from benchmarks.frame import add_target, write
from benchmarks.peers import layers_study, report, study
from benchmarks.peers.entries import ENTRIES


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    add_target(parser, "peers.md")
    parser.add_argument(
        "--coarse", action="store_true", help="only the three coarsest meshes, for a quick look"
    )
    arguments = parser.parse_args()
    print("built-in implant")
    implant, apart = study.implant_study(
        ENTRIES, study.EDGES[:3] if arguments.coarse else study.EDGES
    )
    print("sphere on a plane")
    sphere = study.sphere_on_plane(ENTRIES)
    print("Grand Challenge implant")
    real = study.real_study(ENTRIES)
    layers = layers_study.section(print)
    page = (implant, apart, sphere, real, layers)
    write(arguments.out, lambda path: report.write_page(path, *page))


if __name__ == "__main__":
    main()
