"""Which examples in docstrings are run: those whose extra is installed."""

from importlib.util import find_spec

collect_ignore = (
    []
    if find_spec("torch") and find_spec("skorch")
    else ["src/ec3learn/estimator/models/convolution.py"]
)
