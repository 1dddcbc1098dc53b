"""Dynamics of the knee: whoever needs contact loads, through the small `ContactModel` protocol."""

from dynamics.equations import SimulationError
from dynamics.equilibrium import EquilibriumError, height_at_load, settle
from dynamics.integrator import simulate
from dynamics.protocol import ContactModel
from dynamics.result import Flag, SimulationResult, Statistics
from dynamics.simulator import AppliedLoads, KneeSimulator
from dynamics.waveforms import GaitCycle, load_gait_cycle

__all__ = [
    "AppliedLoads",
    "ContactModel",
    "EquilibriumError",
    "Flag",
    "GaitCycle",
    "KneeSimulator",
    "SimulationError",
    "SimulationResult",
    "Statistics",
    "height_at_load",
    "load_gait_cycle",
    "settle",
    "simulate",
]
