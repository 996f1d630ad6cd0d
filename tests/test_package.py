"""What users import by name."""

import subprocess
import sys

import pytest

import ec3learn


@pytest.mark.parametrize("name", ec3learn.__all__)
def test_every_public_name_is_there(name):
    assert getattr(ec3learn, name) is not None


def test_every_public_name_is_listed():
    assert set(ec3learn.__all__) <= set(dir(ec3learn))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'ec3learn' has no attribute 'EC4'"):
        _ = ec3learn.EC4


def test_the_import_alone_loads_nothing_heavy():
    program = "import sys, ec3learn; print(sorted({'numpy', 'scipy', 'sklearn', 'narwhals', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
