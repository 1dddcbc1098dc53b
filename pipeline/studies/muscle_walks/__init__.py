"""Walks of OpenSim models: muscles, ligaments and joint contact by COMAK."""
