"""The paper's experiments: run into rows; tables, figures and a report made from rows alone."""

from importlib.util import find_spec

from .._checks import MissingExtraError

if find_spec("pandas") is None or find_spec("pyarrow") is None:
    raise MissingExtraError(
        "pandas", phrase="Loading data sets needs pandas and pyarrow: pip install 'ec3learn[paper]'"
    )
