"""Checks of single arguments: what they let pass, and what they say."""

import re

import numpy as np
import pytest

from ec3learn._checks import (
    InputError,
    SpelledWarning,
    require_bool,
    require_choice,
    require_integer,
    require_number,
    require_seed,
)
from ec3learn._text import arg, spell

PASS = [
    lambda: require_number("x", 0, least=0),
    lambda: require_number("x", np.float32(0.5), above=0),
    lambda: require_integer("x", np.int8(3), 3),
    lambda: require_choice("x", "b", ("a", "b")),
    lambda: require_bool("x", np.True_),
    *[lambda seed=seed: require_seed("x", seed) for seed in (None, 0, np.int64(5), np.random.default_rng(0))],
]
REFUSE = {
    "x must be a finite number >= 0, got -1.": lambda: require_number("x", -1, least=0),
    "x must be a finite number > 0, got 0.": lambda: require_number("x", 0, above=0),
    "x must be a finite number > 0, got inf.": lambda: require_number("x", np.inf, above=0),
    "x must be a finite number > 0, got True.": lambda: require_number("x", True, above=0),
    "x must be an integer >= 1, got 2.5.": lambda: require_integer("x", 2.5, 1),
    "x must be an integer >= 1, got True.": lambda: require_integer("x", True, 1),
    "x must be an integer >= 1, got '2'.": lambda: require_integer("x", "2", 1),
    "Unknown x 'c'. Choose from: a, b.": lambda: require_choice("x", "c", ("a", "b")),
    "Unknown x array(['a', 'b'], dtype='<U1'). Choose from: a, b.": lambda: require_choice("x", np.array(["a", "b"]), ("a", "b")),
    "x must be True or False, got 1.": lambda: require_bool("x", 1),
    "x must be an integer >= 0, a numpy Generator or None, got 'x'.": lambda: require_seed("x", "x"),
    "x must be an integer >= 0, a numpy Generator or None, got -1.": lambda: require_seed("x", -1),
}


@pytest.mark.parametrize("check", PASS)
def test_what_is_allowed_passes(check):
    check()


@pytest.mark.parametrize("message", REFUSE)
def test_what_is_not_allowed_is_refused(message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        REFUSE[message]()


# ---- arguments spelled for their reader --------------------------------------------------------------------------------


def as_option(name, value):
    return f"--{name}" if value is None else f"--{name} {value}"


@pytest.mark.parametrize(
    ("mention", "in_python", "in_the_command"),
    [
        (arg("known"), "known", "--known"),
        (arg("method", "it's"), 'method="it\'s"', "--method it's"),
        (arg("max_rows", 100), "max_rows=100", "--max_rows 100"),
        (arg("overwrite", True), "overwrite=True", "--overwrite True"),
        (arg("classes", ...), "classes=[...]", "--classes [...]"),
    ],
)
def test_an_argument_is_spelled_as_its_reader_writes_it(mention, in_python, in_the_command):
    assert spell(f"Pass {mention}.") == f"Pass {in_python}."
    assert spell(f"Pass {mention}.", as_option) == f"Pass {in_the_command}."


def test_an_error_and_a_warning_spell_their_arguments():
    error = InputError("known", "must be a column", got="x", remedy=f"Leave out {arg('method')}.")
    assert str(error) == "known must be a column, got 'x'. Leave out method."
    assert error.sentence(as_option) == "--known must be a column, got 'x'. Leave out --method."
    warning = SpelledWarning(f"Pass {arg('known')}.")
    assert (str(warning), warning.sentence(as_option)) == ("Pass known.", "Pass --known.")


def test_what_came_is_not_shown_at_any_length():
    assert len(str(InputError("x", "must be short", got="y" * 1_000_000))) < 400
