"""An answer, and how it follows from the groups of an object."""
