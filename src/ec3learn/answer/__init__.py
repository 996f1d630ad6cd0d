"""What a method found, and how it follows from the groups of an object."""

from .extension import ExtendWarning
from .notes import Note
from .solution import Solution

__all__ = ["ExtendWarning", "Note", "Solution"]
