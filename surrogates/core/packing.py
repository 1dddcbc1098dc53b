"""Regressors and compartments as structs of the library."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import addressof
from itertools import pairwise
from typing import Any

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.core.library import CORE, SCRATCH, Struct, address, aligned
from surrogates.core.correlations import RATES
from surrogates.core.regressor_data import SPLINE_ORDER, RegressorData

_LANES = 8
_LOADS, _WRENCH, _VARIABLES = 12, 6, 7
_packed_pose = struct.Struct("6d").pack
#: Poses that are worth a thread, which takes about as long to start as ten poses.
_LEAST_ROWS = 256


class PackedRegressor(Struct):
    """A regressor for the library."""

    def __init__(self, data: RegressorData) -> None:
        super().__init__("regressor", _regressor_fields(data))
        self.data = data
        self.scratch = int(CORE.regressor_scratch(self.address, 2))

    def evaluate(self, x: FloatArray, order: int = 0) -> list[FloatArray]:
        """Return outputs (N, k) at inputs (N, d) [any unit], and derivatives up to `order`."""
        d, k = self.value.inputs, self.value.outputs
        found = [np.empty((len(x), k, *[d] * each)) for each in range(order + 1)]
        filled = [*map(address, found), 0, 0]
        CORE.fill_regressor(
            self.address, len(x), address(x), order, *filled[:3], SCRATCH.of(self.scratch)
        )
        return found

    def errors(self, x: FloatArray, posterior: Struct) -> FloatArray:
        """Return standard errors (N, k) at C-contiguous inputs (N, d) [any unit]."""
        found = np.empty((len(x), self.value.outputs))
        CORE.regressor_errors(
            self.address, posterior.address, len(x), address(x), address(found),
            SCRATCH.of(self.scratch),
        )  # fmt: skip
        return found


class PackedCompartment(Struct):
    """The struct `compartment`; its parts are `PackedRegressor` with outputs, at most three."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__("compartment", {**fields, "count": len(fields["parts"])})
        self.scratch = int(CORE.compartment_scratch(self.address, 2))


class PackedContact:
    """The compartments of a contact for the library, of equal numbers of parameters."""

    def __init__(self, parts: Sequence[PackedCompartment]) -> None:
        self.parts = tuple(parts)
        self.scratch = max(part.scratch for part in parts)
        self._pointers = np.array([part.address for part in parts], dtype=np.uintp)
        self.address = address(self._pointers)
        parameters = parts[0].value.parameters
        self._inputs, self._steep = 6 + parameters, _LOADS if parameters else _WRENCH
        self._count, self._fill_one = len(parts), CORE.fill_one
        self._row = ctypes.c_double * (self._count * (_LOADS + _VARIABLES + 36) + 36)
        ends = np.cumsum([0, self._count * _LOADS, 36, self._count * _VARIABLES, self._count * 36])
        self._slices = [slice(*pair) for pair in pairwise(ends.tolist())]

    def work(self) -> FloatArray:
        """Return new scratch memory (W,) [1], for compiled loops that call the library."""
        return aligned(self.scratch)

    def one(self, pose: Pose, slopes: bool) -> tuple[FloatArray, FloatArray | None, Any, Any]:
        """Return loads (C, 12), variables (C, 7) if outside, slopes (6, 6), (C, 6, 6) [SI]."""
        found: Any = self._row()
        given = _packed_pose(
            pose.flexion, pose.adduction, pose.rotation, pose.anterior, pose.superior, pose.lateral
        )
        outside = self._fill_one(
            self.address, self._count, given, addressof(found), SCRATCH.of(self.scratch)
        )
        numbers = np.frombuffer(found)
        numbers.flags.writeable = False
        loads, total, variables, parts = self._slices
        return (
            numbers[loads].reshape(-1, _LOADS),
            numbers[variables].reshape(-1, _VARIABLES) if outside else None,
            numbers[total].reshape(6, 6) if slopes else None,
            numbers[parts].reshape(-1, 6, 6) if slopes else None,
        )

    def loads(
        self, inputs: FloatArray, order: int = 1, most_threads: int | None = None
    ) -> tuple[int, list[FloatArray]]:
        """Return the number of inputs (N, 6 + P) outside, variables (N, C, 7), loads [SI]."""
        # As many derivatives as the `order`, 0 to 2, follow: of the first six loads, or of all with
        # parameters. The inputs, poses [rad, m] and scaled parameters [1], are C-contiguous.
        n, count, d = len(inputs), len(self.parts), self._inputs
        found = [np.empty((n, count, _VARIABLES)), np.empty((n, count, _LOADS))]
        found += [np.empty((n, count, self._steep, *[d] * each)) for each in range(1, order + 1)]

        def fill(first: int, end: int) -> int:
            variables, *filled = [*(address(each[first:end]) for each in found), 0, 0]
            outside: int = CORE.fill_knee(
                self.address, count, end - first, address(inputs[first:end]), order, 0,
                *filled[:3], variables, SCRATCH.of(self.scratch),
            )  # fmt: skip
            return outside

        return sum(in_threads(fill, n, most_threads)), found


def threads() -> int:
    """Return the number of threads that the process may use at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(fill: Callable[[int, int], int], count: int, most: int | None = None) -> list[int]:
    """Return fill(first, end) for ranges of about equal length that cover 0 to `count`."""
    few = count < 2 * _LEAST_ROWS
    parts = 1 if few else min(most or threads(), count // _LEAST_ROWS)
    if parts == 1:
        return [fill(0, count)]
    ends = [count * k // parts for k in range(parts + 1)]
    with ThreadPoolExecutor(parts) as pool:
        return [done.result() for done in [pool.submit(fill, *pair) for pair in pairwise(ends)]]


def packed_path(
    flexion: FloatArray, pieces: FloatArray | None, of_design: Sequence[Struct] | None = None
) -> Struct:
    """Return a path between flexions (K,) [rad] from pieces (4, K - 1, 5) or their regressors."""
    fields = {"flexion": flexion, "pieces": pieces, "of_design": of_design}
    return Struct("path", {"count": len(flexion) - 1, **fields})


def correlation_scales(regressor: RegressorData) -> FloatArray:
    """Return the factors (d,) [1] from distances to the argument of each correlation."""
    return np.asarray(RATES[regressor.kinds] / regressor.lengths)


def sheared(regressor: RegressorData, z: FloatArray) -> FloatArray:
    """Return points (n, d) sheared and in the units of the correlations [1]."""
    out = z.copy()
    out[:, 0] += z @ regressor.shear
    return out * correlation_scales(regressor)


def side_by_side(values: FloatArray) -> FloatArray:
    """Return (..., n) [any unit], the last axis filled up to whole eights with zeros."""
    more = -values.shape[-1] % _LANES
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, more)])


def _regressor_fields(r: RegressorData) -> dict[str, Any]:
    """Return the fields of the struct `regressor`."""
    t, n, k = len(r.exponents) * r.splines, len(r.points), r.outputs
    nets, _, h = r.inner.shape
    ends, powers = spline_pieces(r.knots)
    return {
        "inputs": r.inputs, "outputs": k, "x_offset": r.x_offset, "x_scale": r.x_scale,
        "y_offset": r.y_offset, "y_scale": r.y_scale,
        "terms": len(r.exponents), "degrees": int(r.exponents.max()) + 1, "wave": r.wave,
        "factors": r.terms,
        "term_weights": side_by_side(r.weights[:, :t].reshape(k, r.splines, len(r.exponents))),
        "pieces": r.pieces, "knots": ends, "splines": powers, "shear": r.shear,
        "points": n, "places": side_by_side(sheared(r, r.points).T),
        "rates": correlation_scales(r), "kinds": r.kinds,
        "point_weights": side_by_side(r.weights[:, t : t + n]),
        "nets": nets, "units": h, "inner": side_by_side(r.inner),
        "inner_bias": side_by_side(r.inner_bias), "hidden": side_by_side(r.hidden),
        "hidden_bias": side_by_side(r.hidden_bias),
        "unit_weights": side_by_side(r.weights[:, t + n :].reshape(k, nets, h)),
    }  # fmt: skip


def spline_pieces(knots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (P + 1,) [1] of the pieces between knots, and B-splines (P, 4, 4) [1]."""
    # For each piece and power of the distance from its beginning, the coefficients of the four
    # splines that are not zero there; the recursion of Cox and de Boor (de Boor 1972, J Approx
    # Theory 6:50-62).
    degree = SPLINE_ORDER - 1
    ends = knots[degree : len(knots) - degree]
    powers = np.zeros((max(len(ends) - 1, 0), SPLINE_ORDER, SPLINE_ORDER))
    for piece, splines in enumerate(powers):
        splines[0, degree] = 1.0
        for order in range(1, SPLINE_ORDER):
            lower = splines.copy()
            splines[:] = 0.0
            # A spline of a degree less adds to its left neighbour, falling, and to itself, rising.
            for s in range(SPLINE_ORDER - order, SPLINE_ORDER):
                first, last = knots[piece + s], knots[piece + s + order]
                share, slope = (ends[piece] - first) / (last - first), 1.0 / (last - first)
                splines[:, s] += share * lower[:, s]
                splines[1:, s] += slope * lower[:-1, s]
                splines[:, s - 1] += (1.0 - share) * lower[:, s]
                splines[1:, s - 1] -= slope * lower[:-1, s]
    return ends, powers


def packed_posterior(
    regressor: RegressorData, factors: tuple[FloatArray, FloatArray, FloatArray] | None
) -> Struct:
    """Return what standard errors need: factors L (n, n), Q (n, T) and Rq (T, T) [1] of Kriging."""
    fields: dict[str, Any] = dict.fromkeys(("factor", "diagonal", "orthogonal", "triangle"))
    if factors:
        factor, orthogonal, triangle = factors
        fields = {
            "factor": side_by_side(np.tril(factor, -1)), "diagonal": np.diag(factor).copy(),
            "orthogonal": side_by_side(orthogonal.T), "triangle": triangle,
        }  # fmt: skip
    fields |= {"variance": regressor.variance, "nugget": regressor.nugget}
    fields |= {"spread": regressor.spread.shape[1], "spreads": regressor.spread}
    return Struct("posterior", fields)
