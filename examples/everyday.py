"""Fifteen everyday tasks with a finished run: `python examples/everyday.py runs/implant`."""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

import pipeline
import surrogates
from dynamics import KneeSimulator, gait, height_at_load, settle
from foundation import ContactLoads, Pose


def main(folder: Path) -> dict[str, float]:
    """Carry out each task on a run and print what it finds."""
    # 1. Open a run: report, figures as a table, surrogate, contact model.
    run = pipeline.open_run(folder)
    knee, springs = run.surrogate, run.reference_model
    print(knee, run.report["verdict"]["level"], len(run.figures))

    # 2. Which height carries 1500 N at 20 degrees of flexion, all else as on the reference path?
    pose = knee.reference_pose(flexion_deg=20.0)
    height = height_at_load(knee, pose, 1500.0)
    pose = replace(pose, superior=height)
    print(f"1500 N are carried with the femur {1e3 * height:.3f} mm above the tibia's origin")

    # 3. Loads at a pose, with derivatives of the whole knee and of a compartment.
    loads = knee.loads(pose, order=1)
    print(f"force on the femur, anterior, superior, lateral: {loads.force.round(1)} N")
    print(f"peak pressure: {1e-6 * loads.medial.peak_pressure:.1f} MPa")
    print(f"axial stiffness: {-1e-6 * loads.total_jacobian[1, 4]:.1f} N/um", loads.jacobian.shape)

    # 4. How sure is the surrogate there?
    error = knee.standard_error(pose)[0, 1]
    print(f"medial: {loads.medial.force[1]:.1f} N, standard error {error:.2g} N")

    # 5. Loads at many poses, as a table.
    poses = knee.path(np.radians([15.0, 20.0, 25.0]))
    print(knee.loads(poses).to_frame()[["medial_force_y_N", "lateral_peak_pressure_Pa"]])

    # 6. How far is the surrogate from its contact model?
    off = np.abs(knee.loads(poses).force - springs.loads(poses).force).max()
    print(f"forces of the contact model differ by {off:.1f} N at most")

    # 7. Fail where loads cannot be trusted.
    try:
        knee.on_leaving("error").loads(Pose(flexion=3.0, superior=height))
    except surrogates.OutsideDomainError as reason:
        print(reason)

    # 8. Simulate gait, with the surrogate or with the contact model.
    cycle = gait(knee)
    cycle.plot("medial_force", over="flexion", axes=Figure().subplots())
    print(f"anterior travel {1e3 * np.ptp(cycle.poses[:, 3]):.2f} mm", cycle.to_frame().shape)

    # 9. Where does the knee rest under loads that leave all but flexion free?
    simulator = KneeSimulator(neutral=pose)
    rest = settle(
        knee, simulator, flexion=pose.flexion, axial_force=1500.0, ap_force=-100.0,
        internal_torque=2.0, start=pose,
    )  # fmt: skip
    forward = 1e3 * (rest.anterior - pose.anterior)
    turned = np.degrees(rest.rotation - pose.rotation)
    print(f"100 N backwards on the tibia move the femur {forward:.2f} mm forwards")
    print(f"2 N m of internal torque turn the tibia by {turned:.2f} degrees")

    # 10. Another material.
    softer = springs.with_material(youngs_modulus=0.5 * springs.law.youngs_modulus)
    share = softer.loads(pose).force[1] / springs.loads(pose).force[1]
    print(f"half the modulus carries {share:.3f} of the force at the same pose")

    # 11. A contact model of one's own: force and moment at a pose.
    class Spring:
        def loads(self, pose: Pose, order: int = 0) -> ContactLoads:
            jacobian = np.zeros((6, 6))
            jacobian[1, 4] = -1e6  # N/m, along the height
            depth = max(0.0, height - pose.superior)
            return ContactLoads.from_wrench([0, 1e6 * depth, 0, 0, 0, 0], jacobian)

    low = height_at_load(Spring(), Pose(superior=height - 1e-3), 500.0)
    print(f"500 N press a spring of 1000 N/mm by {1e3 * (height - low):.2f} mm")

    # 12. Train a surrogate on samples of a contact model, and judge it on others.
    space = knee.compartment("medial").space
    trained = surrogates.fit(pipeline.sample(springs, space, 200), space=space)
    errors = trained.errors(pipeline.sample(springs, space, 20, seed=1))
    print(errors.loc[("medial", "force_y_N"), ["rmse", "nrmse", "q2"]])

    # 13. Save, load and export to C.
    with TemporaryDirectory() as place:
        surrogates.save(trained, Path(place) / "trained.npz")
        again = surrogates.load(Path(place) / "trained.npz")
        print(again, [file.name for file in surrogates.export_c(again, place)])

    # 14. Pictures: a column of the cycle, held-out samples, the pressure on the plateau.
    axes = Figure(layout="constrained").subplots(1, 3)
    run.plot("medial_force", over="flexion", axes=axes[0])
    run.plot_held_out("peak_pressure_Pa", axes=axes[1])
    pressure = run.pressure_map(pose)
    pressure.plot(axes[2])

    # 15. Compare two runs.
    print(run.compare(run).difference.abs().max())
    found = {"height": height, "axial_force": loads.force[1], "off": float(off), "share": share}
    found |= {"forward": forward, "turned": turned, "pressed": height - low}
    found |= {"q2": errors.q2[("medial", "force_y_N")], "peak": pressure.pressure.max()}
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
