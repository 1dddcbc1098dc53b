"""A layer bonded to a rigid base under a rigid frictionless sphere: axisymmetric finite elements.

Four-node elements with one volume strain each (mean dilatation: Nagtegaal, Parks & Rice 1974,
Comput Methods Appl Mech Eng 4:153-177; Simo, Taylor & Pister 1985, 51:177-208), which do not lock
near incompressibility. The solid is compressible neo-Hookean, of one of two energies in common use
(Bonet & Wood 2008, Nonlinear Continuum Mechanics for Finite Element Analysis, ch. 6),

    coupled    W = μ/2 (I - 3) - μ ln J + λ/2 (ln J)²,
    split      W = μ/2 (I J^(-2/3) - 3) + K/2 (J - 1)²,   I = tr FᵀF,  J = det F,

or the linear-elastic solid of the same μ and λ = K - 2 μ/3, the limit of both at small strain. The
neo-Hookean layer meets the sphere with its deformed surface, the linear layer with its undeformed
surface: heights are compared, and forces on the surface are vertical.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu
from skfem import (
    Basis,
    BilinearForm,
    ElementQuad0,
    ElementQuad1,
    ElementVector,
    LinearForm,
    MeshQuad,
    condense,
    solve,
)
from skfem.helpers import ddot, det, inv, mul, trace, transpose

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from tests.oracles.exact_layer_compliance import Layer

#: Stiffness of the contact in place of a rigid one, per modulus over thickness: the sphere sinks in
#: by about 1e-6 of the thickness.
_PENALTY = 1e5
_MOST_ITERATIONS = 30
#: Growth of the elements in depth and beyond the reach of the contact.
_GROWTH = 1.1


class ConvergenceError(RuntimeError):
    """A contact that Newton's method did not find; smaller steps of the approach may help."""


@dataclass(frozen=True)
class Case:
    """A layer and a sphere: modulus [Pa], Poisson's ratio [1], thickness and radius [m]."""

    youngs_modulus: float
    poissons_ratio: float
    thickness: float
    radius: float

    @property
    def layer(self) -> Layer:
        """The layer of the exact solutions."""
        return Layer(self.youngs_modulus, self.poissons_ratio, self.thickness)

    @property
    def lame(self) -> tuple[float, float]:
        """Lamé's λ and μ [Pa]."""
        shear = self.youngs_modulus / (2.0 * (1.0 + self.poissons_ratio))
        return 2.0 * shear * self.poissons_ratio / (1.0 - 2.0 * self.poissons_ratio), shear

    def height(self, radius: FloatArray) -> FloatArray:
        """Return the height of the sphere over its lowest point [m]."""
        return self.radius - np.sqrt(self.radius**2 - radius**2)


@dataclass(frozen=True, eq=False)
class Indentation:
    """Contact at an approach: per node of the surface radius [m], normal force [N], pressure [Pa].

    The pressure is Cauchy's: normal force over the node's share of the deformed surface. `state`
    holds all unknowns of the layer, `force` [N] is along the axis.
    """

    radius: FloatArray
    normal: FloatArray
    pressure: FloatArray
    force: float
    state: FloatArray


class AxisymmetricLayer:
    """The mesh of a layer, its forces and tangents.

    Parameters
    ----------
    case : Case
        Layer and sphere.
    spacing : float
        Size of the elements at the surface [m].
    reach : float
        Radius within which the surface has that spacing and may be in contact [m].
    energy : str
        Strain energy of the neo-Hookean layer, "coupled" or "split".

    Attributes
    ----------
    radius, shares : (N,) float64
        Radius [m] and share of the surface [m²] of the nodes that may be in contact.
    dofs : (2, N) int
        Indices of their radial and vertical displacement.
    """

    def __init__(self, case: Case, spacing: float, reach: float, energy: str = "coupled") -> None:
        self.case, self.energy = case, energy
        depth = _graded(0.0, spacing, case.thickness)
        count = int(np.ceil(reach / spacing))
        beyond = _graded(count * spacing, spacing, 5.0 * case.thickness)
        lines = np.append(np.arange(count) * spacing, beyond)
        self.mesh = MeshQuad.init_tensor(lines, case.thickness - depth[::-1])
        self.basis = Basis(self.mesh, ElementVector(ElementQuad1()) * ElementQuad0())
        r, z = self.mesh.p
        dofs = self.basis.nodal_dofs
        self.fixed = np.union1d(dofs[:, z == 0.0].ravel(), dofs[0, r == 0.0])
        top = np.flatnonzero((z == case.thickness) & (r < (count + 0.5) * spacing))
        top = top[np.argsort(r[top])]
        self.radius, self.dofs = r[top], dofs[:, top]
        self.shares = shares(self.radius, np.zeros(len(top)))

    @property
    def rest(self) -> FloatArray:
        """All unknowns at rest: displacements [m] and volume strains."""
        return np.zeros(self.basis.N)

    def equilibrium(self, state: FloatArray) -> tuple[csr_matrix, FloatArray]:
        """Return the tangent and the internal forces [N/m, N]; raise if an element is inverted."""
        fields = self._fields(state)
        return _tangent.assemble(self.basis, **fields), _forces.assemble(self.basis, **fields)

    def compliance(self) -> FloatArray:
        """Return displacement per force (2 N, 2 N) of the linear layer, radial first [m/N]."""
        stiffness, _ = self.equilibrium(self.rest)
        picked = self.dofs.ravel()
        loads = np.zeros((self.basis.N, len(picked)))
        loads[picked, np.arange(len(picked))] = 1.0
        inner = np.setdiff1d(np.arange(self.basis.N), self.fixed)
        answer = np.zeros_like(loads)
        answer[inner] = splu(stiffness[inner][:, inner].tocsc()).solve(loads[inner])
        return 0.5 * (answer[picked] + answer[picked].T)

    def _fields(self, state: FloatArray) -> dict[str, Any]:
        displacement, strain = self.basis.interpolate(state)
        radius = self.basis.global_coordinates()[0]
        gradient = _gradient(displacement, radius) + np.eye(3)[:, :, None, None]
        volume = det(gradient)
        if volume.min() <= 0.0:
            raise ConvergenceError("an element is inverted: take smaller steps of the approach")
        material = _coupled if self.energy == "coupled" else _split
        fields = material(gradient, volume, *self.case.lame)
        fields |= {"gradient": gradient, "inverse": transpose(inv(gradient))}
        return fields | {"strain": np.asarray(strain)}


def press_linear(model: AxisymmetricLayer, compliance: FloatArray, approach: float) -> Indentation:
    """Return the contact of the linear layer at an approach [m]."""
    n = len(model.radius)
    overlap = approach - model.case.height(model.radius)
    normal = contact_forces(compliance[n:, n:], overlap)
    return Indentation(
        model.radius, normal, normal / model.shares, float(normal.sum()), np.empty(0)
    )


def contact_forces(compliance: FloatArray, overlap: FloatArray) -> FloatArray:
    """Return the forces f ≥ 0 [N] with gap C f - overlap ≥ 0 and f · gap = 0.

    They minimise fᵀC f/2 - f · overlap: non-negative least squares with a factor of C.
    """
    factor = np.linalg.cholesky(compliance)
    forces = nnls(factor.T, np.linalg.solve(factor, overlap))[0]
    _check_reach(forces)
    return forces


def press(
    model: AxisymmetricLayer, approach: float, state: FloatArray, touching: FloatArray
) -> Indentation:
    """Return the contact of the neo-Hookean layer at an approach [m].

    Newton's method with an active set of nodes, started from a `state` of the layer and from the
    nodes that are expected to be `touching`. A node leaves the set by the sign of its predicted
    force, and not of its overlap, which the curvature of the sphere alone may change.
    """
    case, dofs = model.case, model.dofs
    stiffness = _PENALTY * case.youngs_modulus / case.thickness * model.shares
    settled = False
    for _ in range(_MOST_ITERATIONS):
        tangent, residual = model.equilibrium(state)
        overlap, direction = _overlap(model, state, approach)
        normal = stiffness * overlap * touching
        residual[dofs] -= normal * direction
        inner = np.delete(residual, model.fixed)
        if settled and np.linalg.norm(inner) < 1e-8 * normal.sum():
            return _indentation(model, state, normal, direction)
        springs = np.zeros((2, 2, len(overlap)))
        springs += stiffness * touching * direction[:, None] * direction[None, :]
        rows, columns = np.broadcast_arrays(dofs[:, None], dofs[None, :])
        contact = csr_matrix((springs.ravel(), (rows.ravel(), columns.ravel())), tangent.shape)
        step = solve(*condense(tangent + contact, -residual, D=model.fixed))
        state = state + step
        predicted = overlap - (direction * step[dofs]).sum(axis=0)
        found = np.where(touching, predicted, _overlap(model, state, approach)[0]) > 0.0
        settled, touching = bool((found == touching).all()), found
    raise ConvergenceError(f"no contact found at an approach of {approach:g} m")


def shares(radius: FloatArray, height: FloatArray) -> FloatArray:
    """Return each node's share of a surface of revolution, ∫ N 2πr ds [m²]."""
    length = np.hypot(np.diff(radius), np.diff(height))
    inner, outer = radius[:-1], radius[1:]
    total = np.zeros_like(radius)
    total[:-1] += np.pi * length * (2.0 * inner + outer) / 3.0
    total[1:] += np.pi * length * (inner + 2.0 * outer) / 3.0
    return total


def peak(contact: Indentation) -> float:
    """Return the pressure on the axis [Pa], by an even quartic through the contact's inner half."""
    inner = contact.radius < 0.5 * edge(contact)
    square = contact.radius[inner] ** 2
    return float(np.polyfit(square, contact.pressure[inner], 2)[-1])


def edge(contact: Indentation) -> float:
    """Return the contact radius [m].

    The square of the pressure vanishes at the edge, and near the edge is linear in the square of
    the radius (by Hertz: everywhere). The line goes through the six nodes before the last loaded
    node, whose share is cut by the edge.
    """
    last = int(np.flatnonzero(contact.normal > 0.0)[-1])
    near = slice(max(last - 6, 0), last)
    slope, constant = np.polyfit(contact.radius[near] ** 2, contact.pressure[near] ** 2, 1)
    return float(np.sqrt(-constant / slope))


def _overlap(
    model: AxisymmetricLayer, state: FloatArray, approach: float
) -> tuple[FloatArray, FloatArray]:
    """Return depth in the sphere (N,) and direction from its centre (2, N) of surface nodes."""
    radial, vertical = state[model.dofs]
    arms = np.array([model.radius + radial, vertical + approach - model.case.radius])
    distance = np.hypot(*arms)
    return model.case.radius - distance, arms / distance


def _indentation(
    model: AxisymmetricLayer, state: FloatArray, normal: FloatArray, direction: FloatArray
) -> Indentation:
    _check_reach(normal)
    radial, vertical = state[model.dofs]
    radius = model.radius + radial
    pressure = normal / shares(radius, vertical)
    return Indentation(radius, normal, pressure, float(-normal @ direction[1]), state)


def _check_reach(normal: FloatArray) -> None:
    """Raise an error if the last node that may be in contact is in contact."""
    if normal[-1] > 0.0:
        raise InputError(
            "reach: expected more than the contact radius, found a contact up to the last of "
            f"{len(normal)} nodes; increase the reach"
        )


def _graded(start: float, spacing: float, length: float) -> FloatArray:
    """Return lines from `start` over a length at least, the first spacing given, then growing."""
    count = int(np.ceil(np.log1p(length / spacing * (_GROWTH - 1.0)) / np.log(_GROWTH)))
    steps = np.cumsum(_GROWTH ** np.arange(count))
    return np.append(start, start + length * (steps / steps[-1]))


def _gradient(field: Any, radius: FloatArray) -> FloatArray:
    """Return the displacement gradient (3, 3, ...) with the hoop strain u/r."""
    full = np.zeros((3, 3, *radius.shape))
    full[:2, :2] = field.grad
    full[2, 2] = field[0] / radius
    return full


def _coupled(_: FloatArray, volume: FloatArray, lame: float, shear: float) -> dict[str, Any]:
    """Return the coefficients of the first energy: see the forms below."""
    one, zero = np.ones_like(volume), np.zeros_like(volume)
    shearing = {"a": shear * one, "b": shear * one, "c": zero, "d": zero}
    return shearing | {"bulk": lame, "measure": np.log(volume), "slope": one, "change": zero}


def _split(gradient: FloatArray, volume: FloatArray, lame: float, shear: float) -> dict[str, Any]:
    """Return the coefficients of the second energy: see the forms below."""
    a, square = shear * volume ** (-2.0 / 3.0), ddot(gradient, gradient)
    shearing = {"a": a, "b": a * square / 3.0, "c": a / 1.5, "d": a * square / 4.5}
    bulk = {"bulk": lame + shear / 1.5, "measure": volume - 1.0}
    return shearing | bulk | {"slope": volume, "change": volume}


# With T = F⁻ᵀ, strain θ in place of the measure G(J), slope J G' and change J (J G')', the stress
# is P = a F - b T + bulk θ slope T, and bulk (G - θ) vanishes in the mean of each element.
@LinearForm
def _forces(v: Any, q: Any, w: Any) -> FloatArray:
    virtual = _gradient(v, w.x[0])
    stress = w["a"] * w["gradient"] + (w["bulk"] * w["strain"] * w["slope"] - w["b"]) * w["inverse"]
    constraint = w["bulk"] * q * (w["measure"] - w["strain"])
    return 2.0 * np.pi * w.x[0] * (ddot(stress, virtual) + constraint)


# c and d are what a and b change by with F, per F:dF T:dF and (T:dF)².
@BilinearForm
def _tangent(u: Any, t: Any, v: Any, q: Any, w: Any) -> FloatArray:
    actual, virtual = _gradient(u, w.x[0]), _gradient(v, w.x[0])
    inverse = transpose(w["inverse"])
    left, right = mul(inverse, actual), mul(inverse, virtual)
    growth, virtual_growth = trace(left), trace(right)
    rotation = np.einsum("ij...,ji...->...", left, right)
    pressed = w["bulk"] * w["strain"]
    mixed = ddot(w["gradient"], actual) * virtual_growth + ddot(w["gradient"], virtual) * growth
    material = w["a"] * ddot(actual, virtual) - w["c"] * mixed
    material = material + (w["b"] - pressed * w["slope"]) * rotation
    material = material + (w["d"] + pressed * w["change"]) * growth * virtual_growth
    coupling = w["bulk"] * (w["slope"] * (t * virtual_growth + q * growth) - t * q)
    return 2.0 * np.pi * w.x[0] * (material + coupling)
