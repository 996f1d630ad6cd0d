"""The paper's experiments: run into rows; tables, figures and a report made from rows alone."""

from importlib.util import find_spec

from .._checks import MissingExtraError

if find_spec("pandas") is None or find_spec("pyarrow") is None:
    raise MissingExtraError.of("Loading data sets", "pandas and pyarrow", "paper")
