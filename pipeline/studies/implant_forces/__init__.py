"""Forces that an instrumented implant measured, beside the forces of a simulated walk."""
