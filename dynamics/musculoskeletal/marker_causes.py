"""Causes of measured markers that do not fit a model: unit, axes, mirror image, exchanged names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from dynamics.musculoskeletal.leg_sides import counterpart
from dynamics.musculoskeletal.marker_fits import MarkerFit, total_rms
from dynamics.musculoskeletal.measured_markers import MeasuredMarkers, likely_unit
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Distance of a marker from its place on the model that no walk is found with [m].
FARTHEST = 0.2
#: Instants that are looked at, and fewest markers that tell size, vertical and mirror image.
_INSTANTS, _FEWEST = 20, 4
#: Range of the spread of the markers over that of the model [1].
_USUAL_SPREAD = (0.5, 2.0)
#: Least cosine of the angle between the vertical and the direction in which the markers of the
#: model are higher, and of that of the measured markers.
_STANDS, _UPRIGHT = 0.7, 0.5
#: A mirror image of the default pose fits a walk in its mirror image by this part of the distances
#: of the pose itself, or less: 0.75 to 0.80 in two walks, and the inverse in the walks themselves.
_MIRRORED = 0.9
#: Fewest markers that tell a mirror image, and least distance of a walk from the default pose [m].
_TELLING, _POSE = 8, 0.02
#: Exchanged names and a mirror image are told apart by this part of the distances, or less.
_APART = 0.97
#: Instants at which a change is tried, which is the cause if it leaves at most this part of the
#: root mean square distance.
_TRIED, _BETTER = 3, 0.6
_AXES, _TURN = "xyz", "turn the axes so that x is forward, y up and z right"
_LETTERS = str.maketrans("RLrl", "LRlr")


def check_placed(
    measured: MeasuredMarkers, places: Mapping[str, FloatArray], up: FloatArray
) -> None:
    """Refuse markers whose unit, axes or sides differ from places (3,) [m] in the default pose."""
    markers = measured.only(places.keys())
    other = tuple(_of_other_leg(name, markers.names) for name in markers.names)
    model, swapped = (
        np.array([places[name] for name in names]).reshape(-1, 3)
        for names in (markers.names, other)
    )
    spreads, rises, apart, turned = [], np.zeros((2, 3)), np.zeros(3), np.zeros((3, 3))
    for row in _instants(markers, _INSTANTS).positions:
        seen = np.isfinite(row).all(axis=1)
        if seen.sum() < _FEWEST:
            continue
        one, two, found = (each[seen] - each[seen].mean(axis=0) for each in (model, swapped, row))
        spreads.append(np.linalg.norm(found) / np.linalg.norm(one))
        rises += [(one @ up) @ one, (one @ up) @ found]
        apart += [_apart(one, found, 1.0), _apart(one, found, -1.0), _apart(two, found, 1.0)]
        turned += one.T @ found
    if spreads:
        _check_spread(measured, float(np.median(spreads)))
        as_is, mirrored, swapped = np.sqrt(apart / len(spreads)).tolist()
        image = mirrored < _MIRRORED * as_is
        _check_upright(measured, rises[0], rises[1], up, mirrored=image)
        _check_handed(measured, as_is, mirrored, swapped, turned)


def _instants(measured: MeasuredMarkers, count: int) -> MeasuredMarkers:
    """Return the markers at some instants from the first to the last."""
    rows = np.unique(np.linspace(0, len(measured.time) - 1, count).round().astype(int))
    return replace(
        measured,
        time=measured.time[rows],
        positions=measured.positions[rows],
        at_origin=measured.at_origin[rows],
    )


def _apart(model: FloatArray, found: FloatArray, sense: float) -> float:
    """Return the mean squared distance [m²] of points (M, 3) after the best turn (Kabsch 1976)."""
    left, sizes, right = np.linalg.svd(model.T @ found)
    if np.linalg.det(left @ right) * sense < 0.0:
        sizes[-1] *= -1.0
    squares = (model**2).sum() + (found**2).sum() - 2.0 * sizes.sum()
    return max(float(squares), 0.0) / len(model)


def _check_spread(measured: MeasuredMarkers, spread: float) -> None:
    if not _USUAL_SPREAD[0] <= spread <= _USUAL_SPREAD[1]:
        raise InputError(
            f"{measured.source}: expected markers as far apart as those of the model, found them "
            f"{spread:.3g} times as far apart; {likely_unit(spread, 1.3)}"
        )


def _check_upright(
    measured: MeasuredMarkers,
    standing: FloatArray,
    found: FloatArray,
    up: FloatArray,
    *,
    mirrored: bool,
) -> None:
    """Raise an `InputError` unless markers rise (3,) along the vertical as those of a model."""
    rise = found / max(float(np.linalg.norm(found)), 1e-12)
    if standing @ up < _STANDS * np.linalg.norm(standing) or rise @ up >= _UPRIGHT:
        return
    k, vertical = int(np.abs(rise).argmax()), _AXES[int(np.abs(up).argmax())]
    axis = f"{'-' if rise[k] < 0.0 else ''}{_AXES[k]}"
    sign = f"the sign of {vertical} looks reversed; " * (mirrored and axis == f"-{vertical}")
    raise InputError(
        f"{measured.source}: expected markers of a person who stands upright along {vertical} as "
        f"the model does, found {axis} upwards; {sign}{_TURN}"
    )


def _check_handed(
    measured: MeasuredMarkers, as_is: float, mirrored: float, swapped: float, turned: FloatArray
) -> None:
    """Refuse markers that fit the mirror image of a model, or exchanged sides [m, m²]."""
    few = len(measured.names) < _TELLING or as_is < _POSE
    if few or min(mirrored, swapped) > _MIRRORED * as_is:
        return
    # Signs of forward and lateral along the axes of the markers, after x or z has been reversed.
    (xx, xz), (zx, zz) = turned[np.ix_([0, 2], [0, 2])]
    heading = np.degrees(np.arctan2(xz + zx, xx - zz))
    image = "x and z look exchanged"
    if abs(heading) < 45.0 or abs(heading) > 135.0:
        image = f"the sign of {'z' if abs(heading) < 45.0 else 'x'} looks reversed"
    causes = []
    if swapped < mirrored / _APART:
        causes.append("left and right look exchanged in the names of the markers")
    if mirrored < swapped / _APART:
        causes.append(f"the positions look mirrored: {image}")
    raise InputError(
        f"{measured.source}: expected markers of the model, found their mirror image, "
        f"{1e3 * min(mirrored, swapped):.0f} mm RMS off the default pose, and {1e3 * as_is:.0f} mm "
        f"as they are; {', or '.join(causes)}; {_TURN}"
    )


def misfit(
    measured: MeasuredMarkers,
    fits: tuple[MarkerFit, ...],
    follow: Callable[[MeasuredMarkers], tuple[MarkerFit, ...]],
) -> InputError | None:
    """Return the error on markers that are too far off, with the likely cause, or None."""
    far = [fit for fit in fits if fit.largest > FARTHEST]
    if not far:
        return None
    names = ", ".join(f"{fit.name} {1e3 * fit.largest:.0f} mm at {fit.at:.4g} s" for fit in far[:4])
    more = f" and {len(far) - 4} others" if len(far) > 4 else ""
    return InputError(
        f"{measured.source}: expected markers within {1e3 * FARTHEST:.0f} mm of the model, found "
        f"{names}{more} ({1e3 * total_rms(fits):.0f} mm RMS over all); "
        f"{_cause(measured, far, follow)}"
    )


def _cause(
    measured: MeasuredMarkers,
    far: list[MarkerFit],
    follow: Callable[[MeasuredMarkers], tuple[MarkerFit, ...]],
) -> str:
    """Return the change that makes the markers fit, or what to check."""
    if all(map(_is_passing, far)):
        return (
            "these markers jump at few instants: delete their positions there, or choose the "
            "weight 0 (inverse_kinematics.weights)"
        )
    few = _instants(measured, _TRIED)
    tried = [(total_rms(follow(other)), text) for text, other in _changes(few, far)]
    least, text = min(tried, default=(np.inf, ""))
    if least <= _BETTER * total_rms(follow(few)):
        return f"{text}: the markers then fit within {1e3 * least:.0f} mm RMS"
    return (
        "check names and places of these markers and the size of the model; a marker that the "
        "model has in another place gets the weight 0 (inverse_kinematics.weights)"
    )


def _is_passing(fit: MarkerFit) -> bool:
    """Return whether a marker is far off at less than a tenth of its instants."""
    distances = np.array(fit.distances)
    return bool(10 * (distances > FARTHEST).sum() < np.isfinite(distances).sum())


def _changes(
    measured: MeasuredMarkers, far: list[MarkerFit]
) -> Iterator[tuple[str, MeasuredMarkers]]:
    """Yield markers with exchanged names put right, each with the mistake."""
    names, worst = measured.names, far[0].name
    for name in dict.fromkeys([_of_other_leg(worst, names), *(fit.name for fit in far[1:2])]):
        pair = {worst: name, name: worst}
        if name != worst:
            yield (
                f"the names of {worst} and {name} look exchanged",
                replace(measured, names=tuple(pair.get(each, each) for each in names)),
            )


def _of_other_leg(name: str, names: tuple[str, ...]) -> str:
    """Return the name of the same marker of the other side, or the name itself without one."""
    letter = re.sub("^[RLrl]", lambda found: found[0].translate(_LETTERS), name)
    return next((each for each in (counterpart(name), letter) if each in names), name)
