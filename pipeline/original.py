"""The original model of a study, and its evaluation over tables of samples."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from foundation.checks import FloatArray
from foundation.compartments import find_compartments
from foundation.elastic_foundation import ElasticFoundation
from foundation.implant import CondylarImplant
from foundation.laws import LinearLaw, LogarithmicLaw, ModifiedLaw, SeriesLaw, SpringLaw
from foundation.loads import LOAD_COLUMNS
from foundation.mesh import TriangleMesh, load_mesh
from foundation.mesh_checks import check_orientation
from foundation.pose import Pose
from foundation.statics import StaticsError, pose_at_load
from pipeline.config import data_path
from pipeline.samples import FAILED, OK, poses_of
from pipeline.schema import Config, ContactConfig, LayerConfig, MeshConfig


@dataclass(frozen=True, eq=False)
class Knee:
    """A knee ready for contact: the original model and where it comes from.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    start : Pose
        An unturned pose near contact, where settling the reference path begins.
    digest : str
        SHA-256 over the surfaces and the spring law.
    """

    model: ElasticFoundation
    start: Pose
    digest: str


def build_knee(config: Config) -> Knee:
    """Load or build the surfaces of a study and put the original model on them.

    Raises
    ------
    ValueError
        If a mesh or a parameter cannot be used; the message names it.
    """
    knee = config.knee
    contact = config.contact
    if knee.source == "builtin":
        implant = CondylarImplant()
        femur, _, _ = implant.tessellate(1e-3 * knee.implant.femur_edge_mm)
        _, tibia, labels = implant.tessellate(1e-3 * knee.implant.edge_mm)
        measured: FloatArray | None = implant.thickness(tibia.centroids, tibia.normals)
    else:
        femur, tibia = (_load(mesh, knee.side, body) for mesh, body in _bodies(config))
        split = knee.split_lateral_mm
        labels = find_compartments(tibia, None if split is None else 1e-3 * split)
        measured = None
    law = build_law(contact, measured)
    model = ElasticFoundation(
        femur,
        tibia,
        law,
        surface=contact.surface,
        compartments=labels,
        search_depth=1e-3 * contact.search_depth_mm,
    )
    return Knee(model, _start(model), _digest(model))


def _bodies(config: Config) -> list[tuple[MeshConfig, str]]:
    knee = config.knee
    if knee.femur is None or knee.tibia is None:
        raise ValueError("[knee.femur] and [knee.tibia] are needed")
    return [(knee.femur, "femur"), (knee.tibia, "tibia")]


def _load(mesh: MeshConfig, side: str, body: str) -> TriangleMesh:
    path = data_path(mesh.file, Path())
    try:
        loaded = load_mesh(path, unit=mesh.unit, axes=mesh.axes, side=side)
        check_orientation(loaded, body)
    except ValueError as error:
        raise ValueError(f"[knee.{body}] {error}") from error
    return loaded


def build_law(contact: ContactConfig, measured: FloatArray | None) -> SpringLaw:
    """Return the spring law of a configuration.

    Parameters
    ----------
    contact : ContactConfig
        The law and its parameters.
    measured : (F,) float64, optional
        Thickness under each tibial triangle [m], for `thickness_mm = "underside"`.
    """
    tibial = _layer(contact, measured)
    if contact.femur_layer is None:
        return tibial
    return SeriesLaw(tibial, _layer(contact.femur_layer, None))


def _layer(layer: LayerConfig, measured: FloatArray | None) -> SpringLaw:
    if layer.thickness_mm == "underside":
        if measured is None:
            raise ValueError('thickness_mm = "underside": only the built-in insert has one')
        thickness: float | FloatArray = measured
    else:
        thickness = 1e-3 * layer.thickness_mm
    modulus = 1e6 * layer.youngs_modulus_MPa
    if layer.law == "linear":
        return LinearLaw(modulus, layer.poissons_ratio, thickness)
    if layer.law == "logarithmic":
        return LogarithmicLaw(modulus, layer.poissons_ratio, thickness)
    return ModifiedLaw(
        modulus,
        layer.poissons_ratio,
        thickness,
        f=layer.f,
        m=layer.m,
        reference_indentation=1e-3 * layer.reference_indentation_mm,
    )


def _start(model: ElasticFoundation) -> Pose:
    """Return the zero pose with the femur's lowest point at the plateau's median height.

    Sideways and along, the middles of both boxes are laid over each other; settling does the rest.
    """
    femur, tibia = model.femur.vertices, model.tibia.vertices
    middle = 0.5 * (tibia.min(axis=0) + tibia.max(axis=0) - femur.min(axis=0) - femur.max(axis=0))
    superior = np.median(tibia[:, 1]) - femur[:, 1].min()
    return Pose(anterior=float(middle[0]), superior=float(superior), lateral=float(middle[2]))


def _digest(model: ElasticFoundation) -> str:
    content = hashlib.sha256()
    for mesh in (model.femur, model.tibia):
        content.update(mesh.vertices.tobytes())
        content.update(mesh.faces.tobytes())
    content.update(model.compartments.tobytes())
    for array in model.law.layers(len(model.tibia.faces)).arguments:
        content.update(array.tobytes())
    return content.hexdigest()


def evaluate_rows(model: ElasticFoundation, table: pd.DataFrame) -> pd.DataFrame:
    """Evaluate the original model at each row: the height that carries the row's load.

    Returns the table with the height found and `pipeline.samples.RESULT_COLUMNS` added. A row that
    has no answer keeps the status "failed", the reason, and NaN loads; no row is lost.
    """
    rows = []
    for coordinates, compartment, load in zip(
        poses_of(table), table["compartment"], table["load_N"], strict=True
    ):
        try:
            found = pose_at_load(model, Pose.from_array(coordinates), compartment, load)
        except StaticsError as error:
            rows.append((coordinates[4], FAILED, str(error), 0, *np.full(12, np.nan)))
        else:
            rows.append((found.pose.superior, OK, "", found.evaluations, *found.loads))
    columns = ("superior_m", "status", "reason", "evaluations", *LOAD_COLUMNS)
    results = pd.DataFrame(rows, columns=pd.Index(columns), index=table.index)
    kept = table.drop(columns=[c for c in columns if c in table.columns and c != "superior_m"])
    return kept.assign(**{name: results[name] for name in columns})


def parallel_evaluation(
    model: ElasticFoundation, workers: int
) -> Callable[[list[pd.DataFrame]], Iterator[tuple[int, pd.DataFrame]]]:
    """Return a function that evaluates chunks of rows in processes (joblib).

    Each row is computed by itself, so the numbers do not depend on the number of workers.
    """

    def compute(chunks: list[pd.DataFrame]) -> Iterator[tuple[int, pd.DataFrame]]:
        # Compile before the workers start, so that they find the kernels in the cache.
        model.compartment_loads(Pose(), "medial")
        jobs = (delayed(_numbered)(model, k, rows, os.getpid()) for k, rows in enumerate(chunks))
        # Memory maps would reach the kernels as another array type and be compiled for again.
        pool = Parallel(n_jobs=workers, return_as="generator_unordered", max_nbytes=None)
        yield from pool(jobs)

    return compute


def _numbered(
    model: ElasticFoundation, position: int, rows: pd.DataFrame, owner: int
) -> tuple[int, pd.DataFrame]:
    if os.getpid() != owner:
        _end_with(owner)
    return position, evaluate_rows(model, rows)


@cache
def _end_with(owner: int) -> None:
    """Let this worker process end when its owner does, even if that was killed."""

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
