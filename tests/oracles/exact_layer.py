"""Exact contact of a linear-elastic layer on a rigid base with a rigid body, without friction.

    layer = Layer(463e6, 0.46, 8e-3)
    contact = exact_contact(layer, paraboloid(78e-3, 183e-3), load=1000.0)
    contact.approach, contact.peak_pressure, contact.area, contact.stiffness

The pressure on a grid of squares of uniform pressure follows from the conjugate gradients of
Polonsky and Keer (1999, Wear 231:206-219), at a given load or approach. The convolution over the
window is not periodic: it is padded to twice the window, and its kernel is the compliance of the
infinite layer.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2
from scipy.interpolate import RectBivariateSpline

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError
from tests.oracles.exact_layer_compliance import Layer, check_demand, square_compliance

_SPREAD = 0.1  # of the logarithm of load or approach, for the stiffness
_FIGURES = ("load", "approach", "peak_pressure", "area")


_ITERATIONS = 2000
_TOLERANCE = 1e-10  # of the load, redistributed by one iteration
_FIRST_HALF = 1e-3  # m, of the first window; any does, for windows are doubled and cut
_COARSE = 33  # cells across the windows that are tried
_TRIALS = 60
_RAYS = 128
_CORNERS = 2.0  # cells
_FROM_EDGE = np.linspace(2.0, 6.0, 12)  # cells; nearer ones suffer from the steps of the edge


@dataclass(frozen=True)
class Case:
    """An elliptic paraboloid of two radii [m] on a layer under a load [N]."""

    name: str
    radii: tuple[float, float]
    layer: Layer
    load: float


POLYETHYLENE = Layer(463e6, 0.46, 8e-3)
CARTILAGE = Layer(10e6, 0.45, 6e-3)
CASES = (
    Case("implant", (78e-3, 183e-3), POLYETHYLENE, 1000.0),
    Case("implant", (78e-3, 183e-3), POLYETHYLENE, 2000.0),
    Case("conforming implant", (150e-3, 600e-3), POLYETHYLENE, 2000.0),
    Case("cartilage", (30e-3, 25e-3), CARTILAGE, 500.0),
    Case("implant, ν 0.49", (78e-3, 183e-3), Layer(463e6, 0.49, 8e-3), 1000.0),
)


@dataclass(frozen=True, eq=False)
class Window:
    """A rectangle that holds the contact patch, `centre` and `half` extents (2,) [m]."""

    centre: FloatArray
    half: FloatArray

    def axes(self, spacing):
        """Return x (N,) and y (M,) of the middles of the cells [m], N and M odd."""
        counts = np.ceil(self.half / spacing - 0.5).astype(int)
        x, y = (
            c + spacing * np.arange(-n, n + 1) for c, n in zip(self.centre, counts, strict=True)
        )
        return x, y


@dataclass(frozen=True)
class Demand:
    """What is prescribed: "load" [N] or "approach" [m]."""

    name: str
    value: float

    def scaled(self, factor):
        """Return the demand with its value times a factor."""
        return replace(self, value=factor * self.value)


@dataclass(frozen=True, eq=False)
class PressureField:
    """Pressures of the cells of a grid, (N, M) [Pa], at x (N,) and y (M,) [m].

    `approach` is that of the rigid body to the base since first touch at gap zero [m].
    """

    x: FloatArray
    y: FloatArray
    pressure: FloatArray
    approach: float

    @property
    def spacing(self):
        """Return the side of a cell [m]."""
        return float(self.x[1] - self.x[0])

    @property
    def load(self):
        """Return the normal load [N]."""
        return float(self.pressure.sum()) * self.spacing**2

    @property
    def peak_pressure(self):
        """Return the largest pressure [Pa], of the parabolas through the largest cell."""
        i, j = np.unravel_index(np.argmax(self.pressure), self.pressure.shape)
        peak = float(self.pressure[i, j])
        for line in (self.pressure[i - 1 : i + 2, j], self.pressure[i, j - 1 : j + 2]):
            slope, bend = 0.5 * (line[2] - line[0]), line[2] - 2.0 * line[1] + line[0]
            peak -= 0.5 * slope**2 / bend
        return peak

    @property
    def area(self):
        """Return the contact area [m²] within the edge of the patch."""
        return float(0.5 * (self.edge() ** 2).sum() * 2.0 * np.pi / _RAYS)

    def edge(self):
        """Return distances of the edge from the centre of pressure along 128 equal turns [m].

        The square of the pressure is linear in the distance from the edge: along each ray, a line
        through the pressures 2 to 6 cells inside is continued to zero.
        """
        share = self.pressure / self.pressure.sum()
        centre = np.array([share.sum(axis=1) @ self.x, share.sum(axis=0) @ self.y])
        turns = 2.0 * np.pi * np.arange(_RAYS) / _RAYS
        rays = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        last = self._last_cells(centre, rays)
        radii = last[:, None] - self.spacing * _FROM_EDGE
        at = centre + radii[:, :, None] * rays[:, None, :]
        square = RectBivariateSpline(self.x, self.y, (self.pressure / self.pressure.max()) ** 2)
        values = square(at[..., 0], at[..., 1], grid=False)
        middle, mean = radii.mean(axis=1), values.mean(axis=1)
        spread = values - mean[:, None]
        slope = (spread * radii).sum(axis=1) / (spread**2).sum(axis=1)
        return middle - slope * mean

    def _last_cells(self, centre, rays):
        """Return how far each ray runs within cells in contact, (N,) [m]."""
        step = 0.25 * self.spacing
        reach = np.hypot(np.ptp(self.x), np.ptp(self.y))
        along = np.arange(0.0, reach, step)
        at = centre + along[None, :, None] * rays[:, None, :]
        i, j = (
            np.rint((at[..., axis] - line[0]) / self.spacing).astype(int)
            for axis, line in enumerate((self.x, self.y))
        )
        inside = (i >= 0) & (i < len(self.x)) & (j >= 0) & (j < len(self.y))
        touching = inside & (self.pressure[np.where(inside, i, 0), np.where(inside, j, 0)] > 0.0)
        last = touching.shape[1] - 1 - np.argmax(touching[:, ::-1], axis=1)
        # A ray along the steps of the edge may cross a corner of a cell that is not in contact.
        missed = (last + 1 - touching.sum(axis=1)) * step
        if missed.max() > _CORNERS * self.spacing:
            raise InputError(
                "contact area: expected one patch that every ray from its centre leaves once, "
                "found another; take the area from the pressures"
            )
        return step * last


def solve_on_grid(layer, gap, window, spacing, demand):
    """Return the pressures of a layer on cells of a side [m] within a window, by a gap [m]."""
    x, y = window.axes(spacing)
    shape = (len(x), len(y))
    padded = [next_fast_len(2 * n - 1, real=True) for n in shape]
    across, along = (spacing * np.arange(-n + 1.0, n) for n in shape)
    kernel = np.zeros(padded)
    kernel[: 2 * shape[0] - 1, : 2 * shape[1] - 1] = square_compliance(layer, across, along)
    spectrum = rfft2(np.roll(kernel, (1 - shape[0], 1 - shape[1]), axis=(0, 1)))

    def displacement(pressure):
        moved = irfft2(spectrum * rfft2(pressure, s=padded), s=padded)
        return moved[: shape[0], : shape[1]]

    between = np.broadcast_to(gap(x[:, None], y[None, :]), shape).astype(float)
    if demand.name == "load":
        demand = demand.scaled(spacing**-2)  # the sum of the pressures
    pressure, approach = _conjugate_gradients(displacement, between, demand)
    return PressureField(x, y, pressure, approach)


def _conjugate_gradients(displacement, gap, demand):
    """Return pressures [Pa] and approach [m]; a load is the sum of the pressures [Pa]."""
    at_load, value = demand.name == "load", demand.value
    pressure = _first_pressures(displacement, gap, demand)
    direction, before, conjugate = np.zeros_like(gap), 1.0, False
    for _ in range(_ITERATIONS):
        touching = pressure > 0.0
        residual = displacement(pressure) + gap
        level = float(residual[touching].mean()) if at_load else value
        residual -= level
        square = float((residual[touching] ** 2).sum())
        if square == 0.0:
            return pressure, level
        turn = square / before if conjugate else 0.0
        direction = np.where(touching, residual + turn * direction, 0.0)
        change = displacement(direction)[touching]
        if at_load:
            change -= change.mean()
        step = float(residual[touching] @ direction[touching]) / float(change @ direction[touching])
        moved = np.maximum(pressure - step * direction, 0.0)
        entering = (moved == 0.0) & (residual < 0.0)
        moved[entering] = -step * residual[entering]
        if at_load:
            moved *= value / moved.sum()
        before, conjugate = square, not entering.any()
        shift = np.abs(moved - pressure).sum() / moved.sum()
        pressure = moved
        if conjugate and shift < _TOLERANCE:
            return pressure, level
    raise RuntimeError(f"conjugate gradients: not converged in {_ITERATIONS} iterations")


def _first_pressures(displacement, gap, demand):
    """Return uniform pressures [Pa] to start from."""
    if demand.name == "load":
        return np.full_like(gap, demand.value / gap.size)
    touching = gap < demand.value
    if not touching.any():
        raise InputError(
            f"approach: expected more than the smallest gap, {gap.min():g} m, "
            f"found {demand.value:g} m"
        )
    unit = touching.astype(float)
    overlap = float((demand.value - gap[touching]).mean())
    return unit * overlap / float(displacement(unit)[touching].mean())


def patch_window(layer, gap, demand):
    """Return a window around the contact patch, and the patch's shorter extent [m].

    Windows of 33 cells across are doubled where the patch reaches their border and cut where they
    are too large; the patch must overlap the first one, 2 mm wide at the origin.
    """
    window = Window(np.zeros(2), np.full(2, _FIRST_HALF))
    for _ in range(_TRIALS):
        spacing = 2.0 * float(window.half.min()) / _COARSE
        field = solve_on_grid(layer, gap, window, spacing, demand)
        touching = field.pressure > 0.0
        lines = [np.flatnonzero(touching.any(axis=1 - axis)) for axis in (0, 1)]
        border = np.array(
            [
                line[0] == 0 or line[-1] == n - 1
                for line, n in zip(lines, touching.shape, strict=True)
            ]
        )
        if border.any():
            window = Window(window.centre, np.where(border, 2.0, 1.0) * window.half)
            continue
        ends = np.array(
            [a[line[[0, -1]]] for a, line in zip((field.x, field.y), lines, strict=True)]
        )
        extent = np.ptp(ends, axis=1) + spacing
        half = 0.55 * extent + 1.5 * spacing
        if (half > 0.8 * window.half).all():
            return Window(ends.mean(axis=1), half), float(extent.min())
        window = Window(ends.mean(axis=1), np.minimum(half, window.half))
    raise InputError(f"gap: expected one bounded contact patch, found none in {_TRIALS} windows")


@dataclass(frozen=True)
class ExactContact:
    """Figures extrapolated to cells of no size."""

    load: float  # Normal load [N].
    approach: float  # Approach since first touch [m].
    peak_pressure: float  # Largest pressure [Pa].
    area: float  # Contact area [m²].
    stiffness: float  # Slope of the load over the approach [N/m].
    correction: float  # Largest relative change of load, approach or peak by the extrapolation [1].
    field: PressureField  # Pressures on the finer grid, not extrapolated.


def paraboloid(first, second, turn=0.0):
    """Return the gap u²/(2 R₁) + v²/(2 R₂) [m] of radii [m], u being x turned by an angle [rad]."""
    cosine, sine = np.cos(turn), np.sin(turn)

    def gap(x, y):
        u, v = cosine * x + sine * y, cosine * y - sine * x
        return u**2 / (2.0 * first) + v**2 / (2.0 * second)

    return gap


def exact_contact(layer, gap, *, load=None, approach=None, cells=192):
    """Return the contact of a layer with a rigid body at a load or at an approach.

    The load [N] or the approach [m] beyond gap zero is given. The window is fitted to the patch;
    two grids, one twice as fine, are extrapolated as if their errors were of second order. Against
    the integral equation, for balls with patches of radius 0.1 h to 4 h, approach and peak come out
    within 1e-5, the stiffness within 1e-4 and the area within 5e-4 up to 2 h; 96 cells, five to
    ten times faster, come within 3e-5, 6e-4 and 4e-3.
    """
    check_number("cells", cells, at_least=48)
    demand = Demand(*check_demand(load, approach))
    window, extent = patch_window(layer, gap, demand.scaled(np.exp(_SPREAD)))

    def pair(factor):
        coarse, fine = (
            solve_on_grid(layer, gap, window, extent / count, demand.scaled(factor))
            for count in (cells // 2, cells)
        )
        return coarse, fine

    coarse, fine = pair(1.0)
    ends = [pair(np.exp(sign * _SPREAD)) for sign in (-1.0, 1.0)]
    exact = {name: _extrapolated(coarse, fine, name) for name in _FIGURES}
    return ExactContact(
        **exact,
        stiffness=_slope(ends) * exact["load"] / exact["approach"],
        correction=max(abs(getattr(fine, n) / exact[n] - 1.0) for n in _FIGURES[:3]),
        field=fine,
    )


def _extrapolated(coarse, fine, name):
    """Return a figure at cells of no size, the error being of second order."""
    ratio = (coarse.spacing / fine.spacing) ** 2
    return (ratio * getattr(fine, name) - getattr(coarse, name)) / (ratio - 1.0)


def _slope(ends):
    """Return d ln F / d ln δ between two pairs of fields."""
    logarithms = [
        [np.log(_extrapolated(*pair, name)) for name in ("load", "approach")] for pair in ends
    ]
    rise = np.subtract(logarithms[1], logarithms[0])
    return float(rise[0] / rise[1])


def spring_bed(case):
    """Return figures of a linear foundation under the paraboloid of a case, in closed form [SI]."""
    spring, mean = 1.0 / case.layer.confined_compliance, float(np.sqrt(np.prod(case.radii)))
    # The pressure k (δ - z) over the paraboloid z sums up to F = π k sqrt(R1 R2) δ².
    approach = float(np.sqrt(case.load / (np.pi * spring * mean)))
    return {
        "peak_pressure": spring * approach,
        "area": 2.0 * np.pi * mean * approach,
        "stiffness": 2.0 * case.load / approach,
        "approach": approach,
    }
