"""Dynamics of the knee: whoever needs contact loads, through the small `ContactModel` protocol."""

from dynamics.equations import SimulationError
from dynamics.equilibrium import EquilibriumError, height_at_load, settle
from dynamics.integrator import simulate
from dynamics.ligament_tables import load_ligaments
from dynamics.ligaments import Ligament
from dynamics.protocol import ContactModel
from dynamics.result import Flag, SimulationResult, Statistics
from dynamics.simulator import AppliedLoads, KneeSimulator
from dynamics.variation import VariedContact
from dynamics.waveform_tables import load_gait_cycle
from dynamics.waveforms import GaitCycle
from dynamics.wear import Wear, WearLaw, bed_wear, surrogate_wear

__all__ = [
    "AppliedLoads",
    "ContactModel",
    "EquilibriumError",
    "Flag",
    "GaitCycle",
    "KneeSimulator",
    "Ligament",
    "SimulationError",
    "SimulationResult",
    "Statistics",
    "VariedContact",
    "Wear",
    "WearLaw",
    "bed_wear",
    "height_at_load",
    "load_gait_cycle",
    "load_ligaments",
    "settle",
    "simulate",
    "surrogate_wear",
]
