"""EC3 and iEC3."""

from .ec3 import EC3

__all__ = ["EC3"]
