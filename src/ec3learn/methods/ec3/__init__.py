"""EC3 and iEC3."""

from .ec3 import EC3
from .parts import Parts

__all__ = ["EC3", "Parts"]
