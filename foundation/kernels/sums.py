"""Places in the sums of one compartment, see `foundation.kernels.loads.integrate_contact`."""

#: After the wrench (6) [N, N m]: area [m²], peak pressure [Pa], sum of pA [N] and sum of pA times
#: position (3) [N m].
AREA, PEAK, CARRIED, PLACE = 6, 7, 8, 9
#: Largest indentation [m], largest strain [1], stored energy [J] and offset of the patch [m].
DEPTH, STRAIN, ENERGY, OFFSET = range(12, 16)
#: Number of sums.
SUMS = 16
