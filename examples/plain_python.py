"""Loads at a pose, and the pose under loads: `python examples/plain_python.py runs/implant`."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pipeline
from dynamics import KneeSimulator, height_at_load, settle
from foundation.base.pose import Pose


def main(folder: Path) -> dict[str, float]:
    """Ask a finished run six questions and print the answers."""
    run = pipeline.open_run(folder)
    knee = run.surrogate.on_leaving("error")
    print(knee, run.report["verdict"]["level"], len(run.figures))

    # Which height carries 1500 N at 20 degrees of flexion, all else as on the reference path?
    pose = knee.reference_pose(20.0)
    height = height_at_load(knee, pose, 1500.0)
    pose = Pose.from_array([*pose.array[:4], height, pose.lateral])
    print(f"1500 N are carried with the femur {1e3 * height:.3f} mm above the tibia's origin")

    # What are the loads there, and how sure is the surrogate?
    loads = knee.loads(pose, order=1)
    error = knee.standard_error(pose)[0, 1]
    print(f"force on the femur, anterior, superior, lateral: {loads.force.round(1)} N")
    print(f"medial: {loads.medial.force[1]:.1f} N, standard error {error:.2g} N")
    print(f"peak pressure: {1e-6 * loads.peak_pressure:.1f} MPa")
    print(f"axial stiffness: {-1e-6 * loads.total_jacobian[1, 4]:.1f} N/um")

    # How do the loads change along flexion, and how far is the surrogate from its contact model?
    poses = knee.path(np.radians([15.0, 20.0, 25.0]))
    print(knee.loads(poses).to_frame()[["medial_force_y_N", "lateral_peak_pressure_Pa"]])
    off = np.abs(knee.loads(poses).force - run.reference_model.loads(poses).force).max()
    print(f"forces of the contact model differ by {off:.1f} N at most")

    # How does the medial force of the gait cycle follow flexion?
    run.plot("medial_force_y_N", over="flexion_rad", axes=Figure().subplots())

    # Where does the knee rest under loads that leave all but flexion free?
    simulator = KneeSimulator(neutral=pose)
    rest = settle(
        knee, simulator, flexion=pose.flexion, axial_force=1500.0, ap_force=-100.0,
        internal_torque=2.0, start=pose,
    )  # fmt: skip
    forward = 1e3 * (rest.anterior - pose.anterior)
    turned = np.degrees(rest.rotation - pose.rotation)
    print(f"100 N backwards on the tibia move the femur {forward:.2f} mm forwards")
    print(f"2 N m of internal torque turn the tibia by {turned:.2f} degrees")
    found = {"height": height, "axial_force": loads.force[1], "off": float(off)}
    return found | {"forward": forward, "turned": turned}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
