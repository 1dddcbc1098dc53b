"""Write docs/pressure.png from a run directory: `python docs/picture.py runs/lenhart`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

#: Instants of the cycle [%].
INSTANTS = (13.0, 25.0, 45.0, 70.0)


def draw(folder: Path, target: Path) -> None:
    """Draw the original model's pressure on the plateau at the four instants of a run."""
    with np.load(folder / "frames.npz", allow_pickle=False) as frames:
        vertices, faces = 1e3 * frames["tibia_vertices"], frames["tibia_faces"]
        at, values = frames["gait_percent"], 1e-6 * frames["pressure_Pa"]
    chosen = [int(np.abs(at - instant).argmin()) for instant in INSTANTS]
    percent, pressure = at[chosen], values[chosen]
    figure = Figure(figsize=(10.0, 2.6), layout="constrained", dpi=110)
    panels = figure.subplots(1, len(percent), sharex=True, sharey=True)
    mesh = Triangulation(vertices[:, 2], vertices[:, 0], faces)
    for axes, instant, values in zip(panels, percent, pressure, strict=True):
        axes.tripcolor(mesh, np.zeros(len(faces)), cmap="Greys", vmin=-0.1, vmax=1.0)
        shown = mesh.get_masked_triangles()[values > 0.0]
        patch = Triangulation(mesh.x, mesh.y, shown)
        shade = axes.tripcolor(patch, values[values > 0.0], vmin=0.0, vmax=pressure.max())
        axes.set(aspect="equal", title=f"{instant:.0f} % of the cycle", xlabel="lateral [mm]")
    panels[0].set_ylabel("anterior [mm]")
    figure.colorbar(shade, ax=list(panels), label="pressure [MPa]", shrink=0.9)
    figure.savefig(target)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(__file__).with_name("pressure.png"))
