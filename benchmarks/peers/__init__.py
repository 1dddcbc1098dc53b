"""Time and error of contact engines on the same meshes and poses (`make bench-peers`).

Ours beside OpenSim's ElasticFoundationForce (Simbody) and Drake's hydroelastic contact,
and the finite-element model beside CalculiX.
"""
