"""Measure all engines and write docs/peers.md and docs/peers.png: `python -m benchmarks.peers`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.peers import report, study

_DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--out", type=Path, default=_DOCS / "peers.md", help="page to write")
    parser.add_argument(
        "--coarse", action="store_true", help="only the three coarsest meshes, for a quick look"
    )
    arguments = parser.parse_args()
    print("built-in implant")
    implant, apart = study.implant_study(study.EDGES[:3] if arguments.coarse else study.EDGES)
    print("sphere on a plane")
    sphere = study.sphere_on_plane()
    print("Grand Challenge implant")
    real = study.real_study()
    report.write_page(arguments.out, implant, apart, sphere, real)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
