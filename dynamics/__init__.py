"""Dynamics of the knee with contact loads of any model that implements `ContactModel`."""

from dynamics.ligaments.bundle_tables import load_ligaments
from dynamics.ligaments.bundles import Ligament
from dynamics.protocol import ContactModel
from dynamics.simulator.equations import SimulationError
from dynamics.simulator.equilibrium import EquilibriumError, height_at_load, settle
from dynamics.simulator.integrator import gait, simulate
from dynamics.simulator.knee_simulator import AppliedLoads, KneeSimulator
from dynamics.simulator.result import SimulationResult, Statistics
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from dynamics.simulator.waveforms import GaitCycle
from dynamics.wear.cycle_wear import Wear, WearLaw, bed_wear, surrogate_wear

__all__ = [
    "LEVEL_WALKING",
    "AppliedLoads",
    "ContactModel",
    "EquilibriumError",
    "GaitCycle",
    "KneeSimulator",
    "Ligament",
    "SimulationError",
    "SimulationResult",
    "Statistics",
    "Wear",
    "WearLaw",
    "bed_wear",
    "gait",
    "height_at_load",
    "load_gait_cycle",
    "load_ligaments",
    "settle",
    "simulate",
    "surrogate_wear",
]
