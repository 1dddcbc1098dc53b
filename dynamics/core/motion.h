/* Equations of motion of a knee in the simulator (docs/theory.md), and their integration.

   A state consists of the displacements of the free coordinates from a reference pose, then of the
   rates of these coordinates, n numbers in all. Nothing is allocated. */
#ifndef MOTION_INCLUDED
#define MOTION_INCLUDED

#include "knee.h"

#define PRESCRIBED 0   /* roles of a coordinate */
#define INERTIAL 1
#define INPUTS 10      /* over time: six prescribed coordinates, then the loads */
#define AXIAL 6        /* axial force, AP force, internal torque and adduction torque */
#define AP 7
#define TORQUE 8
#define ADDUCTION 9
#define LINEAR 0       /* laws of ligaments */
#define QUADRATIC 1
#define TOE 2
#define DONE 0         /* how an integration ends */
#define STEP_TOO_SMALL 1
#define TOO_MANY_STEPS 2
#define DISLOCATED 3
#define STOPPED 4
#define STEPS 0        /* counts of an integration: accepted and rejected steps, derivatives, Jacobians */
#define REJECTED 1
#define EVALUATIONS 2
#define JACOBIANS 3
#define MOST_STATES 10

/* Tension-only bundles on straight lines between the bones. */
typedef struct {
    int bundles;
    const double *femoral;     /* bundles x 3: attachments in the frames of the bones [m] */
    const double *tibial;
    const double *rest_length; /* [m] */
    const double *stiffness;   /* [N/m, N/m2 or N by law] */
    const double *transition;  /* strain at which the toe of the law ends */
    const int *kinds;          /* laws */
} ligaments;

/* A simulation without contact. */
typedef struct {
    int knots;
    const double *breaks;      /* knots of the inputs [s], from 0 to the period, after which they repeat */
    const double *pieces;      /* 4 powers, falling, x (knots - 1) x INPUTS [rad, m, N, N m] */
    int roles[6];
    double inertia[6];         /* [kg m2, kg] */
    double damping[6];         /* [N m s/rad, N s/m] */
    double stiffness[6];       /* of the restraint of each coordinate [N m/rad, N/m], and its gap */
    double gap[6];
    path neutral;              /* where the restraints are slack */
    double line[2];            /* medial and anterior offset of the axial force's line of action [m] */
    double reference[6];       /* pose from which displacements count */
    double offset[6];          /* of the pose of the contact */
    double factor;             /* on the contact loads */
    ligaments bundles;
} simulation;

/* Fills the wrench (6) of a contact at a pose and, if wanted, its derivatives (6 x 6). Returns 0 to stop. */
typedef int (*contact_function)(const void *of, double time, const double *pose, int wanted,
                                double *wrench, double *by_pose);

/* Fills f (n) of y' = f(t, y) and, if wanted, its derivatives (n x n) and (n). Returns 0 to stop. */
typedef int (*derivative)(const void *of, double time, const double *state, int wanted, double *f,
                          double *by_state, double *by_time);

/* Contact by the two compartments of a surrogate. */
typedef struct {
    const compartment *const *parts;
    int stops;                 /* whether a step stops outside the trained domain */
    const double *design;      /* scaled parameters of a surrogate over designs */
    double *scratch;
} trained;

/* What knee_derivative is of. */
typedef struct {
    const simulation *problem;
    contact_function contact;
    const void *of_contact;
} knee_motion;

typedef struct {
    double rtol;
    const double *atol;        /* n */
    int sizes;
    const double *size;        /* largest magnitudes of the first components */
    double max_step;           /* [s] */
    int max_steps;             /* that are tried */
} step_limits;

/* Add the generalised forces (6) of bundles at a pose and, if wanted, their derivatives (6 x 6). */
KNEE_API void add_ligaments(const ligaments *l, const double *pose, int wanted, double *force,
                            double *jacobian);

/* Fill lengths [m] and tensions [N] of bundles (rows x bundles). */
KNEE_API void measure_ligaments(const ligaments *l, ptrdiff_t rows, const double *poses, double *lengths,
                                double *tensions);

/* Fill values and rates (count x INPUTS) of the inputs. */
KNEE_API void inputs_over_time(const simulation *s, ptrdiff_t count, const double *times, double *values,
                               double *rates);

/* Fill the coordinates of the pose of a state. */
KNEE_API void pose_at(const simulation *s, double time, const double *state, double *pose);

/* Fill Q (6) and, if wanted, dQ/dq (6 x 6) of contact, the four loads and restraints. The wrench and its
   derivatives are those of the contact at the pose plus the offset. */
KNEE_API void forces_at(const simulation *s, const double *pose, const double *loads,
                        const double *wrench, const double *by_pose, int wanted, double *force,
                        double *jacobian);

/* Fill the derivatives of Q (6) by time at a constant state, from dQ/dq and the rates of the inputs. */
KNEE_API void forces_by_time(const simulation *s, const double *pose, const double *rates,
                             const double *jacobian, double *change);

/* A contact_function of trained, and a derivative of knee_motion. */
KNEE_API int trained_contact(const void *of, double time, const double *pose, int wanted, double *wrench,
                             double *by_pose);
KNEE_API int knee_derivative(const void *of, double time, const double *state, int wanted, double *f,
                             double *by_state, double *by_time);

/* Integrate y' = f(t, y) of size n from time 0 to the last of the increasing times; return how it ends.
   Filled are state (n), first with that at time 0, with the last one reached; counts (4); where with the
   last time reached and the last step tried; states (count x n). */
KNEE_API int integrate(derivative of_state, const void *of, const step_limits *limits, int n,
                       double *state, ptrdiff_t count, const double *times, int *counts, double *where,
                       double *states);

#endif
