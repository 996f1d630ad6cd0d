"""The report: facts about a consensus, arranged in a dict and shown as a single HTML file. Plots with matplotlib too."""

from .page import require_jinja2, write_report

__all__ = ["require_jinja2", "write_report"]
