"""The command `ec3learn`: options become calls of the library, and errors become one line and an exit code.

0: done; 1: internal error; 2: invalid arguments or input; 129: the terminal has gone; 130:
interrupted; 141: the reader of the output has gone; 143: terminated.
"""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any

from .._checks import InputError, SpelledWarning
from .._files import end_at_once
from .._text import printable

DONE, INTERNAL_ERROR, WRONG_INPUT, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(arguments: list[str] | None = None) -> int:
    """Run the command with the arguments after `ec3learn`, by default those of this process; return the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if any("\0" in word for word in words):
        return _complain("Arguments must not contain the character NUL.", WRONG_INPUT)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]  # so that it may be anywhere
    if arguments is None:
        ending = {signal.SIGTERM, signal.SIGINT}  # Ctrl-C would wait for a query to end
        if (
            hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
        ):  # which nohup ignores
            ending.add(signal.SIGHUP)
        end_at_once(*ending)
    try:
        from .app import app
    except ModuleNotFoundError as lacking:
        return _complain(_needs(lacking), WRONG_INPUT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)  # those meant for users
            warnings.showwarning = _show_warning
            outcome = app(words, prog_name="ec3learn", standalone_mode=False)
            sys.stdout.flush()
        return outcome if isinstance(outcome, int) else DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (
        SystemExit
    ) as ended:  # with 1 where nobody reads our output any more, which Typer notices
        return NO_READER if ended.code == 1 else int(ended.code or DONE)
    except Exception as error:
        if debug:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    """Say in one line what is wrong, and return the exit code."""
    if type(error).__name__ in {"Abort", "Exit"}:  # of Typer
        return int(getattr(error, "exit_code", INTERRUPTED))
    if type(error).__name__ == "NoArgsIsHelpError":  # the help is on the screen already
        return WRONG_INPUT
    if hasattr(error, "format_message"):  # options that the command does not have
        message, command = (
            error.format_message(),
            getattr(getattr(error, "ctx", None), "command_path", "ec3learn"),
        )
        return _complain(
            f"{message}{'' if message.endswith(('.', '?')) else '.'} See: {command} --help.",
            WRONG_INPUT,
        )
    if isinstance(error, InputError):
        from .app import spelled

        return _complain(error.sentence(spelled), WRONG_INPUT)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return _complain(_needs(error), WRONG_INPUT)
    if isinstance(error, OSError) and error.strerror:
        return _complain(
            f"{printable(str(error.filename or 'The output'))}: {error.strerror}.", WRONG_INPUT
        )
    if isinstance(error, MemoryError):
        return _complain(
            "Not enough memory for this table. Lower --memory or --max-rows.", WRONG_INPUT
        )
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return _complain(
        f"Internal error ({reason}). Rerun with --debug and report the traceback.", INTERNAL_ERROR
    )


def _needs(lacking: ModuleNotFoundError) -> str:
    library = str(lacking.name).partition(".")[0]
    return f"The command ec3learn needs {library}: pip install 'ec3learn[cli]'."


def _complain(sentence: str, code: int) -> int:
    print("ec3learn: " + printable(" ".join(sentence.split())), file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from .app import spelled

    sentence = message.sentence(spelled) if isinstance(message, SpelledWarning) else str(message)
    print("ec3learn: warning: " + printable(" ".join(sentence.split())), file=sys.stderr)
