"""The command `ec3learn`: words become calls, and what goes wrong becomes one line and an exit code.

0: done; 1: our bug; 2: what was asked for, or a file, is wrong; 130: interrupted; 141: nobody reads on; 143: terminated.
"""

from __future__ import annotations

import dis
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from .._files import end_at_once
from .parsing import in_words

DONE, OUR_BUG, WRONG_INPUT, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
PACKAGE = str(Path(__file__).parents[1])


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : list of str
        What stands behind `ec3learn`; by default that of this process.

    Returns
    -------
    int
        The exit code.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]  # so that it may stand anywhere
    if arguments is None:
        # Experiments have processes of their own, which Python stops; elsewhere Ctrl-C would wait for a query to end.
        end_at_once(signal.SIGTERM, *([] if "paper" in words[:1] else [signal.SIGINT]))
    try:
        from .app import app
    except ModuleNotFoundError as lacking:
        return _said(f"The command ec3learn needs {lacking.name}: pip install 'ec3learn[cli]'.", WRONG_INPUT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)  # those meant for users
            warnings.showwarning = _warn
            outcome = app(words, prog_name="ec3learn", standalone_mode=False)
            sys.stdout.flush()
        return outcome if isinstance(outcome, int) else DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as ended:  # with 1 where nobody reads our output any more, which Typer notices
        return NO_READER if ended.code == 1 else int(ended.code or DONE)
    except Exception as error:
        if debug:
            raise
        return _told(error)


def _told(error: Exception) -> int:
    """Say in one line what is wrong, and whose fault it is."""
    if type(error).__name__ in {"Abort", "Exit"}:  # of Typer, which is not loaded if it was missing
        return int(getattr(error, "exit_code", INTERRUPTED))
    if hasattr(error, "format_message"):  # words that the command does not know
        return _said(f"{error.format_message()} See: ec3learn --help.", WRONG_INPUT)
    if isinstance(error, OSError) and error.strerror:
        return _said(f"{error.filename or 'The output'}: {error.strerror}.", WRONG_INPUT)
    if isinstance(error, MemoryError):
        return _said("There is not enough memory for this table. Lower --memory or --max-patterns.", WRONG_INPUT)
    if _raised_by_us(error):
        return _said(in_words(str(error)), WRONG_INPUT)
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return _said(f"This is a bug of ec3learn ({reason}). Please report what this shows: ec3learn --debug ...", OUR_BUG)


def _raised_by_us(error: Exception) -> bool:
    """Tell an error that the package raises, because of what it was given, from one that happens to it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or not place.tb_frame.f_code.co_filename.startswith(PACKAGE):
        return False
    return dis.opname[place.tb_frame.f_code.co_code[place.tb_lasti]] == "RAISE_VARARGS"


def _said(sentence: str, code: int) -> int:
    print("ec3learn: " + " ".join(sentence.split()), file=sys.stderr)
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print("ec3learn: warning: " + in_words(" ".join(str(message).split())), file=sys.stderr)
