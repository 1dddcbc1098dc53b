/* Contact of the femur with a bed of springs, or with the nodes of an elastic layer.

   Nothing is allocated and there is no state: callers own the structs, the arrays and the scratch
   memory. Functions neither check nor raise; sums have a fixed order. Units are those of the SI;
   rotation (3 x 3) and translation (3) are those of the femur in the tibial frame. Forces and moments
   about the tibial origin act on the femur, and a twist is the velocity of the femoral point at this
   origin and the angular velocity. */
#ifndef CONTACT_INCLUDED
#define CONTACT_INCLUDED

#include <stddef.h>

#ifndef KNEE_API
#define KNEE_API
#endif

#define LANES 16           /* elements or lines that are handled side by side; the most of a group */
#define PARTS 4            /* in each direction of the grid's cells near the surface */
#define POWER 0            /* kinds of layers: p = c d^m */
#define LOGARITHMIC 1      /* p = -c ln(1 - d / h) */
#define STRAIN_LIMIT 0.99  /* beyond which a logarithmic layer goes on along its tangent */
#define MOST_LAYERS 2      /* of a spring, in series */
#define CONTACT_SUMS 16    /* numbers of a struct `sums` */
#define BULGE 0.01         /* by which a quadratic field may rise over its nodes, over the element's size */
#define EDGE_END 4.0       /* where the table of smoothed powers ends */

typedef struct {
    double x;
    double y;
    double z;
} vector3;

/* The femoral surface, in its own frame. A facet's patch is A0 + A1 u + A2 v + A3 u^2 + A4 u v + A5 v^2;
   on plane facets only the first three count. The tree of boxes is stored in depth-first order: after a
   missed box, the search goes on at `next`. */
typedef struct {
    int curved;                  /* 0: plane facets */
    int facets;
    const vector3 *patch;           /* facets x 6 */
    const int *neighbour;        /* facets x 3: across each edge, -1 at a boundary */
    int boxes;
    const vector3 *low;             /* boxes */
    const vector3 *high;            /* boxes */
    const int *next;             /* boxes */
    const int *first;            /* boxes: facets of the leaf */
    const int *count;            /* boxes: their number, 0 of an inner node */
    const double *planes;        /* x 7: point, normal and largest height of the femur over it */
    double plane_reach;          /* radius within which these planes are valid */
    double grid_low[3];
    double grid_cell;            /* width */
    int cells[3];                /* of the grid */
    const int *grid_facet;       /* cells: a facet near */
    const double *grid_distance; /* cells: a lower bound of the distance from the surface */
    const int *grid_plane;       /* cells: plane of the facet */
    const int *grid_brick;       /* cells: brick of a cell near the surface, or -1 */
    const int *bricks;           /* x PARTS^3: a facet near each part of such a cell */
    const vector3 *normals;         /* facets x 3: at the corners, of unit length; for nodes of layers */
    double fade;                 /* width of a strip along the rim in which the overlap of nodes fades */
    const int *rim_first;        /* facets + 1: edges of the rim within reach of each facet */
    const vector3 *rim;             /* x 2: their ends */
} femur;

/* A bed of springs on the tibial surface, in its frame. Elements have one node (plane) or six (corners
   and middles); nodes of their centroids follow each other. Groups of up to LANES elements follow each
   other, too; a group lies within a disc. */
typedef struct {
    int count_nodes;
    int count_elements;
    int nodes;                   /* of an element */
    int centroid_first;          /* node of the first element's centroid */
    const vector3 *points;          /* of the nodes */
    const vector3 *normals;         /* of the nodes, of unit length */
    const int *elements;         /* elements x nodes */
    const double *sizes;         /* elements: longest edge */
    const vector3 *area_vectors;    /* elements x nodes: dx/du x dx/dv */
    const double *metric;        /* elements x 9: of slopes from the values at the corners */
    int whole_points;            /* of the rule for elements wholly in contact */
    const double *whole_shape;   /* 6 x points: shape functions */
    const double *whole_weight;  /* points */
    int cut_points;              /* of the rule for elements that the edge of the patch cuts */
    const double *cut_shape;     /* 6 x points */
    const double *cut_weight;    /* points */
    const double *cut_radius;    /* points: reach of the smoothing at the edge, over the size */
    int count_compartments;
    const int *compartments;     /* + 1: their first groups */
    const double *centre;        /* 3 x groups */
    const double *direction;     /* 3 x groups: normal of the disc */
    const double *radius;        /* groups */
    const double *thickness;     /* groups: half of it */
    const double *bulge;         /* groups: largest indentation of an element beyond its nodes */
    const int *first;            /* groups: elements */
    const int *count;            /* groups */
    const double *corners;       /* groups x (1 or 3) x 3 x LANES: of the elements, side by side */
} bed;

/* Layers of the springs. A layer bears beyond its offset times the largest indentation of the patch. */
typedef struct {
    int layers;
    int springs;
    int kinds[2];
    double exponents[2];         /* m */
    double offsets[2];
    const double *coefficients;  /* layers x springs: c */
    const double *thicknesses;   /* layers x springs: h */
    const double *lead;          /* springs: c of the leading term c d^m at a light indentation */
    double exponent;             /* m of this term */
    int pieces;
    const double *edge;          /* pieces x 6: the smoothed power m over -1 to EDGE_END */
    const double *corners;       /* facets x 3: by how much the last layer is thicker at the corners of
                                    the femoral facets, or 0 */
    const double *moduli;        /* springs: of the last layer; with corners */
} law;

/* Damping and friction of springs at a twist of the femur (docs/theory.md). */
typedef struct {
    int moving;                  /* whether there is any */
    double twist[6];
    double damping;              /* [s/m] */
    double friction;             /* coefficient */
    double transition_speed;
} dissipation;

typedef struct {
    double wrench[6];
    double area;
    double peak;                 /* pressure */
    double carried;              /* sum of pressure times area */
    double place[3];             /* the same, times the position */
    double depth;                /* largest indentation */
    double strain;               /* largest */
    double energy;
    double offset;               /* of the patch */
} sums;

/* Numbers of scratch memory for the contact of a bed. */
KNEE_API ptrdiff_t contact_scratch(const bed *b);

/* Fill the sums (compartments) and their Jacobians (x 6 x 6) by the femoral twist, or 0, of the chosen
   compartments (a byte each). Unless `field` is 0, fill indentation and pressure at the middle of each
   element (2 x elements), zero before. `energy`: whether it is asked for. */
KNEE_API void spring_contact(const femur *f, const bed *b, const law *l, const dissipation *m,
                             const double *rotation, const double *translation,
                             const unsigned char *chosen, double reach, int conservative, int energy,
                             sums *found, double *jacobian, double *field, double *scratch);

/* Fill pressures of a law's springs (count) at indentations of one patch, of which that of the spring
   `deepest` is the largest, and unless `energy` is 0 the energies per area. */
KNEE_API void law_pressures(const law *l, int count, const double *indentation, int deepest,
                            double largest, double *pressure, double *energy);

/* Find the nodes of a bed of single nodes that overlap the femur by more than `lowest`, below 0: their
   numbers, overlaps with derivatives by the twist (x 6), wrenches on the femur over minus their forces
   (directions, x 6), weights of the overlaps with derivatives (slopes, x 6), and facets and places (x 2)
   on the femur. Returns how many. */
KNEE_API int find_overlaps(const femur *f, const bed *b, const double *rotation,
                           const double *translation, double reach, double lowest, int *nodes,
                           double *overlaps, double *gradients, double *directions, double *weights,
                           double *slopes, int *facets, double *places, double *scratch);

/* Fill derivatives (count x 6 x 6) by the twist of the directions that find_overlaps found; or with
   forces, add minus their sum, times the forces, to one (6 x 6). */
KNEE_API void direction_slopes(const femur *f, const bed *b, const double *rotation, int count,
                               const int *nodes, const double *overlaps, const double *gradients,
                               const int *facets, const double *places, const double *forces,
                               double *found);

/* Fill the overlaps (count) that a bilinear surface needs at the nodes of find_overlaps, with their
   weights, derivatives and directions (x 6), and the positions (x 2 x 2) of the neighbours that enter, -1
   for none, with their parts (x 2). `neighbours` (x 2 x 2) are those of each candidate, along and against
   both grid lines; `place` of each is -1 before and after the call. */
KNEE_API void raise_overlaps(const int *neighbours, int count, const int *nodes, double lowest,
                             const double *overlaps, const double *gradients, const double *directions,
                             const double *weights, const double *slopes, int *place, int *pairs,
                             double *parts, double *raised, double *raised_slopes,
                             double *raised_directions);

/* Fill contact area, length of the edge, peak pressure and its sharpness (docs/finite_element.md).
   `neighbours` (x 2 x 2) and the quadrilaterals around each node `quads_at` (x 4) are -1 for none;
   `squares` are the squared pressures of the `active` nodes. `level` and `weight` of each node are 0
   before and after the call; `ring` has 4 places a node. */
KNEE_API void measure_patch(const int *neighbours, const int *quads, const int *quads_at,
                            const vector3 *points, int count, const int *active, const double *squares,
                            double *level, double *weight, int *ring, double *found);

/* Add the block of rows and columns of a square matrix to `part`, or its part up to the diagonal if
   `lower`. */
KNEE_API void add_block(const double *matrix, ptrdiff_t stride, int count_rows, const int *rows,
                        int count_columns, const int *columns, int lower, double *part);

/* What takes the place of 1/r at a node of lattices of the metrics g11, g12, g22 (count x 3). */
KNEE_API void lattice_own_parts(int count, const double *metrics, double *own);

/* Fill 1 - phi at wave numbers times the thickness (count). */
KNEE_API void deficit_transform(int count, const double *s, double ratio, double *found);

/* The femoral layer between points of contact: a flat layer, in which `own` takes the place of 1/r at a
   point itself, and what is interpolated between the nodes of a `regular` compliance (side x side). */
typedef struct {
    int pieces;
    const double *table;
    double per_step;
    double strength;
    int count;
    const vector3 *points;
    const double *thickness;
    const double *own;
    const double *factors;
    const int *cells;            /* x 4 */
    const double *weights;       /* x 4 */
    int count_used;
    const int *used;             /* these nodes, once each */
    int side;
    const double *regular;
} between;

/* Subtract the compliance of the flat layer alone from a matrix (count x count). */
KNEE_API void subtract_flat(const between *l, double *matrix);

/* Fill rows of the compliance (count x count) but those `filled` already, a byte each, which are copied
   to the others. `scratch` has a place per node of the layer. */
KNEE_API void femoral_rows(const between *l, int count_rows, const int *rows, unsigned char *filled,
                        double *matrix, double *scratch);

/* Fill derivatives (count x count) of the flat layer's part: by the distance, over the distance, and
   half of that by the thickness. */
KNEE_API void femoral_slopes(const between *l, double *by_distance, double *by_thickness);

/* Fill the largest height (count) of the femur over planes within `reach` of their points, at least 0;
   `control` (facets x 6) are points of each facet with the patch in their hull. */
KNEE_API void largest_protrusions(const femur *f, const vector3 *control, int count, const vector3 *points,
                                  const vector3 *normals, double reach, double *heights);

/* Fill a facet near the middle of each part of the grid's cells near the surface. */
KNEE_API void fill_bricks(const femur *f, int *bricks);

/* Fill the first exits of lines (count) from a surface: distance, facet, -1 without one within `reach`,
   and (u, v). */
KNEE_API void line_exits(const femur *f, double reach, int count, const vector3 *starts,
                         const vector3 *directions, double *distance, int *facet, double *place);

/* Add to the normal equations (vertices x 6 x 7: matrix and right side) of the quadratic height over each
   vertex what the pairs of a vertex and a point near it (count each) say. Shares of the area are weights,
   which fade towards the radius; a point whose normal turns off the vertex's is left out. */
KNEE_API void local_fit_sums(int count, const int *vertex, const int *near, const vector3 *points,
                             const vector3 *normals, const vector3 *first, const vector3 *second,
                             const double *shares, double radius, double least_cosine, double *sums);

#endif
