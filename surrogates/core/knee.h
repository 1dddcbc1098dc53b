/* Contact loads of a knee, which is data: regressors, and the compartments that they make up.

   Nothing is allocated and there is no state: callers own the structs, the arrays and the scratch
   memory. Functions neither check nor raise; sums have a fixed order. Coordinates of a pose: flexion,
   adduction, internal rotation [rad]; anterior, superior, lateral [m]. */
#ifndef KNEE_INCLUDED
#define KNEE_INCLUDED

#include <stddef.h>

#ifndef KNEE_API
#define KNEE_API
#endif

#define LOADS 12       /* force (3), moment (3), area, peak and mean pressure, centre of pressure (3) */
#define WRENCH 6       /* the first of the loads */
#define VARIABLES 7    /* scaled variables of the box, and the extrapolation */
#define MOST_INPUTS 15
#define REACH 1.2      /* largest size of the scaled height where the height is an input */
#define FOLLOWED 2.5   /* largest size of the scaled flexion up to which the path is followed */
#define FARTHEST 0.05  /* from the path of the box [m]; a femur in contact is much nearer */
#define MOST_LOAD 100.0 /* beyond the samples, over the largest load */
#define LEAST_SLOPE -1e-12 /* of the height by s, where the learnt height does not fall [m] */
#define LEAST_FALL 1e-9 /* of a smoothed height beyond the samples [m] */
#define TOLERANCE 1e-9 /* beyond 1, with which a variable still counts as inside */

/* k outputs of d inputs: sums of features of z = (x - x_offset) / x_scale times weights, scaled by
   y_scale, plus y_offset. Lists of features are filled up to whole eights: w(n) numbers for n. */
typedef struct {
    int inputs;
    int outputs;
    const double *x_offset;      /* d */
    const double *x_scale;       /* d */
    const double *y_offset;      /* k */
    const double *y_scale;       /* k */
    /* Products of Legendre polynomials, or of a Fourier series in the first input if wave > 0. With
       splines: cubic B-splines of the sheared first input times the products. */
    int terms;
    int degrees;                 /* highest degree plus one */
    double wave;
    const int *factors;          /* terms x 3: an earlier term, times which input's which degree */
    const double *term_weights;  /* k x (pieces + 3, or 1) x w(terms) */
    int pieces;                  /* between the knots; 0 without splines */
    const double *knots;         /* pieces + 1 */
    const double *splines;       /* pieces x 4 powers, rising, x 4 splines that are not zero there */
    /* d: what each input adds to the first, in splines and correlations */
    const double *shear;
    /* Correlations with points */
    int points;
    const double *places;        /* d x w(points), sheared, times rates */
    const double *rates;         /* d */
    const int *kinds;            /* d: of correlations.c */
    const double *point_weights; /* k x w(points) */
    /* Outer units of networks tanh(hidden' tanh(inner' z + inner_bias) + hidden_bias) */
    int nets;
    int units;
    const double *inner;         /* nets x d x w(units) */
    const double *inner_bias;    /* nets x w(units) */
    const double *hidden;        /* nets x units x w(units) */
    const double *hidden_bias;   /* nets x w(units) */
    const double *unit_weights;  /* k x nets x w(units) */
} regressor;

/* Adduction, rotation, anterior, superior and lateral position as piecewise cubics of the flexion. */
typedef struct {
    int count;
    const double *flexion;       /* count + 1: where the pieces end */
    const double *pieces;        /* 4 powers, falling, x count x 5 */
    const regressor *of_design;  /* count: the 4 powers x 5 over the parameters, or 0 */
} path;

/* Regressors have 6 + P inputs: five variables of the condyle, P scaled parameters of a design, and
   the root of the load, s = 2 root - 1, or the scaled height. */
typedef struct {
    int parameters;              /* P */
    int direct;                  /* 1: loads over the height, 0: height and ratios over the root */
    path box;                    /* that the box of the samples is about */
    double box_middle[6];        /* flexion, four offsets from the path, root of the load */
    double box_half[6];
    path condyle;                /* that the point of the condyle is about */
    double centre[3];            /* the point in the femoral frame [m] */
    const regressor *centre_of_design; /* over the parameters, or 0 */
    double middle[5];            /* of the regressors' first inputs */
    double half[5];
    double lever;                /* 1: moments and centres of pressure are about the point */
    double largest;              /* load [N] */
    double degree;               /* power of the indentation with which the load grows */
    double depth_middle;         /* of the height, where it is an input [m] */
    double depth_half;
    double smoothing;            /* width */
    double fall;                 /* of the smoothed height with s beyond the samples [m] */
    double limits[4];            /* of F_x / F_y, F_z / F_y, peak pressure; gap of a lifted condyle */
    int count;                   /* of the parts */
    const regressor *parts[3];   /* share the outputs */
    const regressor *domain;     /* or 0 */
} compartment;

/* Numbers of scratch memory of a regressor and of a compartment up to an order of derivatives, 0 to 2. */
KNEE_API ptrdiff_t regressor_scratch(const regressor *r, int order);
KNEE_API ptrdiff_t compartment_scratch(const compartment *c, int order);

/* Fill the outputs (rows x k) at inputs (rows x d); with order 1 the derivatives (rows x k x d) too,
   with order 2 the second derivatives (rows x k x d x d) too. */
KNEE_API void fill_regressor(const regressor *r, ptrdiff_t rows, const double *inputs, int order,
                                 double *values, double *slopes, double *bends, double *scratch);

/* Fill loads (count x 12) and variables (count x 7) of `count` compartments at each input of 6 + P
   numbers: a pose and scaled parameters. Order 1 fills the derivatives of the first six loads, or of
   all if there are parameters, (count x 6 or 12 x (6 + P)); order 2 their second derivatives (... x
   (6 + P) x (6 + P)), too. Order 0 with few != 0 fills the wrench and no extrapolation. Returns for how
   many inputs a variable is beyond 1 in size: outside the trained domain. */
KNEE_API ptrdiff_t fill_knee(const compartment *const *parts, int count, ptrdiff_t rows, const double *inputs,
                         int order, int few, double *loads, double *slopes, double *bends,
                         double *variables, double *scratch);

/* Fill, for one pose, the loads (count x 12), the derivatives of the total wrench (6 x 6), the variables
   (count x 7), and the derivatives of the wrench of each compartment (count x 6 x 6), one after the
   other; returns whether the pose is outside. */
KNEE_API int fill_one(const compartment *const *parts, int count, const double *pose, double *found,
                      double *scratch);

#endif
