"""The report: facts about a consensus as one HTML file; and plots with matplotlib."""

from .page import require_jinja2, write_report

__all__ = ["require_jinja2", "write_report"]
