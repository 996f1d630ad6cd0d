"""The report: facts about a consensus into a dict, the dict into one HTML file that needs nothing else."""

from .page import write_report

__all__ = ["write_report"]
