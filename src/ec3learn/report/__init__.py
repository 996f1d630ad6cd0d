"""The report: facts about a consensus, arranged in a dict and shown as a single HTML file. Plots with matplotlib too."""

from .page import write_report

__all__ = ["write_report"]
