"""The compiled core: contact loads of a knee, which is data, in C (`knee.h`)."""
