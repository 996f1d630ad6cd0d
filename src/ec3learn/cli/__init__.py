"""The command `ec3learn`: options become calls of the library, errors one line and an exit code.

0: done; 1: internal error; 2: invalid arguments or input; 129: the terminal has gone; 130:
interrupted; 141: the reader of the output has gone; 143: terminated.
"""

from __future__ import annotations

import signal
import sys
import warnings
from io import TextIOWrapper

from .._checks import InputError
from .._files import end_at_once
from .._text import printable

DONE, INTERNAL_ERROR, WRONG_INPUT, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141


def main(arguments: list[str] | None = None) -> int:
    """Run the command with these arguments, or those of the process; returns the exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None:
        ending = [signal.SIGTERM, signal.SIGINT]
        if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            ending.append(signal.SIGHUP)  # a terminal has gone; nohup ignores it
        end_at_once(*ending)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what its encoding cannot hold is escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run([word for word in words if word != "--debug"])
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit:  # by click, where nobody reads the output any more
        return NO_READER
    except Exception as error:
        if "--debug" in words:
            raise
        return _explain(error, words)


def _run(words: list[str]) -> int:
    import click

    from .app import app

    if words[:1] != ["combine"]:  # the command that most runs need is quicker without the others
        from . import commands  # noqa: F401
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)  # those meant for users
        warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
        try:
            code = app(words or ["--help"], prog_name="ec3learn", standalone_mode=False)
        except click.Abort:
            return INTERRUPTED
        sys.stdout.flush()
    return code if isinstance(code, int) else DONE


def _explain(error: Exception, words: list[str]) -> int:
    """Say in one line what is wrong; the answer is the exit code."""
    sentence = _sentence(error, words)
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    ours = f"Internal error ({reason}). Rerun with --debug and report the traceback."
    _say(sentence or ours)
    return WRONG_INPUT if sentence else INTERNAL_ERROR


def _sentence(error: Exception, words: list[str]) -> str:
    """What the user did wrong; nothing for an error of ours."""
    if isinstance(error, InputError):
        option = _option_of(error.argument, words)
        return f"{error} (option {option})" if option else str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        needed = error.name.partition(".")[0]
        return f"The command ec3learn needs {needed}: pip install 'ec3learn[cli]'."
    if isinstance(error, OSError) and error.strerror:
        return f"{printable(str(error.filename or 'The output'))}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "Not enough memory for this table. Lower --memory or --max-rows."
    if hasattr(error, "format_message"):  # of click, for options that the command does not have
        command = getattr(getattr(error, "ctx", None), "command_path", "ec3learn")
        message = error.format_message()
        return f"{message}{'' if message.endswith(('.', '?')) else '.'} See: {command} --help."
    return ""


def _option_of(argument: str, words: list[str]) -> str | None:
    """The option of the running command for an argument of the library, if it has one."""
    from .app import app

    command = next((app.commands[word] for word in words if word in app.commands), app)
    options = (param for param in command.params if param.param_type_name == "option")
    return {param.name: max(param.opts, key=len) for param in options}.get(argument)


def _say(sentence: str) -> None:
    print(f"ec3learn: {printable(' '.join(sentence.split()))}", file=sys.stderr)
