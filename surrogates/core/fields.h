/* Standard errors of regressors, and pressure fields. */
#ifndef FIELDS_INCLUDED
#define FIELDS_INCLUDED

#include "contact.h"
#include "knee.h"

#define GROUP_PLACES 8 /* of a bed, in a group and in a block */
#define BLOCK_PLACES 64
#define STRETCH 2.0    /* bound of dt over the distance near the surface of a condyle */
#define MEASURES 15    /* of a patch: logarithms of both widths and of the volume, 4 third and 5 fourth
                          moments, middle (2), shear */
#define PATCH_DEGREE 4 /* of the polynomial of the pressure of a layer */
#define PATCH_TERMS 16 /* its terms, and the logarithm of the load over frame[5] */
#define PATCH_WIDTH 2.5 /* of the patch in the coordinates a and b, in standard deviations */
#define PATCH_REACH 1.7 /* distance from the middle up to which there may be contact */
#define PATCH_SPAN 1.2 /* of the polynomials */

/* What the standard error of a regressor needs: that of Kriging if there are points and no spread. */
typedef struct {
    const double *factor;        /* points x w(points): of the correlations, below the diagonal */
    const double *diagonal;      /* points: of the factor */
    const double *orthogonal;    /* terms x w(points) */
    const double *triangle;      /* terms x terms */
    const double *variance;      /* k: of the process */
    double nugget;
    int spread;                  /* products of total degree 2; or 0 */
    const double *spreads;       /* k x spread: their weights in the logarithm of the error */
} posterior;

/* The femur rho(theta, z) in cylindrical coordinates about an axis along z, a bicubic B-spline over
   t = 2 R tan(theta / 2) and z. */
typedef struct {
    double frame[10];            /* centre (3) in the femoral frame, direction of theta = 0 (2), R,
                                    first t and z of the grid, its spacing, and one over that */
    int rows;                    /* cells */
    int columns;
    const double *spline;        /* (rows + 3) x (columns + 3): of rho - R [m] */
    const unsigned char *known;  /* rows x columns: cells in which the surface is known */
} surface;

/* A bed of places, in groups and blocks that follow each other, and the condyle that touches them. */
typedef struct {
    surface condyle;
    surface outline;             /* a coarse one */
    const double *limits;        /* cells of the outline x 4: its errors in groups and blocks */
    int places;
    const double *bed;           /* places x 7: point [m], unit normal, projected area [m2] */
    const double *groups;        /* x 8: centre, radius, mean normal, distance from the plane [m] */
    const double *blocks;        /* x 8: the same */
} skin;

/* Pressure max(s, 0)^m of a continuous layer, s a polynomial over a patch, whose terms and load are
   learnt over measures of the overlap. */
typedef struct {
    double exponent;             /* m */
    const double *scaling;       /* 2 x MEASURES: middle and half range of the measures */
    int samples;
    const double *points;        /* MEASURES x samples: scaled measures over the lengths */
    const double *lengths;       /* MEASURES: correlation lengths over sqrt(5) */
    const double *weights;       /* (1 + MEASURES + samples) x PATCH_TERMS */
} layer;

/* Fill the standard errors (rows x k) of the outputs at inputs (rows x d); NaN without a model. The
   scratch memory is that of the regressor. */
KNEE_API void regressor_errors(const regressor *r, const posterior *p, ptrdiff_t rows,
                               const double *inputs, double *errors, double *scratch);

/* Fill the indentation of each place of the bed [m], 0 or less out of contact; return the largest. The
   rotation (3 x 3) and translation (3) [m] are those of the femur in the tibial frame. */
KNEE_API double skin_indentations(const skin *k, const double *rotation, const double *translation,
                                  double *depth);

/* Fill the pressures of springs of indentations [m], with the largest one, the constants (kind, exponent,
   share of the largest indentation that bears no load), and a law (count x 2: coefficient, thickness). */
KNEE_API void spring_pressures(int count, const double *depth, double largest,
                               const double *constants, const double *law, double *pressure);

/* Fill the frame (6) of an overlap and its measures (MEASURES); returns whether its size is finite. The
   frame: middle x, z [m]; standard deviations along x and z [m]; the part of x that follows z; the
   largest overlap times the geometric mean of the deviations [m2]. */
KNEE_API int measure_overlap(int count, const double *depth, const double *bed, double *frame,
                             double *measures);

/* Fill the correlations (rows x columns) between places (inputs x rows) and (inputs x columns), points
   times rates, of kinds (inputs) as those of a regressor; of `lower` only those below the diagonal. */
KNEE_API void fill_correlation_matrix(int inputs, const int *kinds, ptrdiff_t rows,
                                      const double *first, ptrdiff_t columns, const double *second,
                                      int lower, double *matrix);

/* Fill the derivative (inputs x points) of the sum of weights times correlations (points x points) by
   the places (inputs x points); of the symmetric matrices the lower triangles are read. */
KNEE_API void fill_point_gradient(int inputs, const int *kinds, ptrdiff_t points,
                                  const double *places, const double *correlation,
                                  const double *weights, double *gradient);

/* Fill the pressures [Pa] of a layer of overlaps `depth` and a bed (count x 7). */
KNEE_API void layer_pressures(const layer *l, int count, const double *depth, const double *bed,
                              double *pressure);

#endif
