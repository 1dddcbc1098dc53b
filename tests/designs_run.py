"""A tiny run over designs of the built-in implant, made once for all tests of a process."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from pipeline.config.reading import checked_section
from pipeline.config.schema import Config
from pipeline.design_space.run import run_designs

#: Keys of the run: coarse surfaces, few designs, a small network.
KEYS = {
    "run": {"name": "tiny", "workers": 1},
    "knee": {"implant": {"edge_mm": 2.0, "femur_edge_mm": 3.0}},
    "space": {"flexion_deg": [-3.0, 63.0], "path": {"step_deg": 30.0}},
    "feasibility": {"peak_pressure_MPa": 200.0, "ap_ratio": 1.0, "ml_ratio": 1.0},
    "surrogate": {"network": {"hidden": 8, "networks": 1, "steps": 300}},
    "design_space": {
        "designs": 8,
        "poses": 40,
        "rounds": 2,
        "unseen": 3,
        "held_out": 2,
        "constraints": ["dish_sagittal_radius_mm > 2 * dish_coronal_radius_mm"],
        "parameter": [
            {"key": "knee.implant.dish_sagittal_radius_mm", "range": [45.0, 60.0]},
            {"key": "knee.implant.dish_coronal_radius_mm", "range": [22.0, 25.0]},
        ],
    },
}


def config_of(**sections):
    """Configuration of the tiny run with other keys of its sections."""
    tree = {name: KEYS.get(name, {}) | sections.get(name, {}) for name in {*KEYS, *sections}}
    return checked_section(tree, Config, "tiny")


@cache
def made():
    """Folder and document of the tiny run."""
    folder = Path(mkdtemp()) / "tiny"
    return folder, run_designs(config_of(), folder)
