"""The elastic foundation: spring laws, the bed of springs, contact loads, worn surfaces."""
