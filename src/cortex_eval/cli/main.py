"""The `cortex` command: finds the asked command, and turns errors into one line and an exit code."""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import NoReturn

import click

from cortex_eval.core import CortexError, InputError, __version__, redact

COMMANDS = {
    "analyze": ("analyze:analyze", "Say why cases fail, and what to mend first."),
    "baseline": ("baselines:baseline", "Name a run as what later ones are compared with."),
    "ci": ("ci:ci", "Run, gate, and write all that a build needs."),
    "compare": ("compare:compare", "Compare runs case by case, each with the first."),
    "config": ("project:config", "Show the project file as it is understood."),
    "datasets": ("datasets:datasets", "Look at, check, convert and compare datasets."),
    "demo": ("demo:demo", "Run the main job on embedded services."),
    "doctor": ("project:doctor", "Check that everything Cortex needs is there."),
    "init": ("project:init", "Make a project that runs at once."),
    "judges": ("judges:judges", "List judges, and compare them with people."),
    "quarantine": ("quarantine:quarantine", "Keep flaky cases from deciding for a while."),
    "report": ("runs:report", "Write reports of a run."),
    "rescore": ("run:rescore", "Score stored replies anew, without any target call."),
    "run": ("run:run", "Play a dataset against a target, score it, judge it."),
    "runs": ("runs:runs", "List, show, import, cancel and delete runs."),
    "schema": ("project:schema", "Print the JSON Schema of the project file."),
    "trend": ("trend:trend", "How suites did over their runs."),
}
"""Where each command lives, and its help: `cortex --help` imports none of them."""
CALLING = ("ci", "rescore", "run")
"""Commands that nearly always call somebody over HTTP."""
M_ARENA_MAX = -8
"""Of glibc's `mallopt`."""
FULL = (errno.ENOSPC, errno.EDQUOT)
EXIT_INPUT, EXIT_EXECUTION, EXIT_INTERRUPTED = 4, 3, 130


class LazyGroup(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """Every command by name."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in CALLING:
            _share_one_heap()
            # Half of it is done without the interpreter lock, while this thread loads the rest.
            Thread(target=import_module, args=("aiohttp",), daemon=True).start()
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(f"cortex_eval.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # as above
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; an unknown one offers the nearest."""
        from cortex_eval.core import did_you_mean

        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}. {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def _share_one_heap() -> None:
    """Let all threads of this process use one heap: glibc gives each its own, and none gives back what is free in it.

    That is a sixth of the memory of a long run. Where there is no glibc, nothing happens.
    """
    from ctypes import CDLL

    with suppress(OSError, AttributeError, TypeError):
        CDLL(None).mallopt(M_ARENA_MAX, 1)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="cortex")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cortex(ctx: click.Context, *, debug: bool) -> None:
    """Unit testing for soft logic: play a dataset against a chatbot, score every reply, gate the release.

    Start with `cortex demo`, or `cortex init` in your own folder.
    """
    ctx.obj = {"debug": debug}
    if ctx.invoked_subcommand not in CALLING and signal.getsignal(signal.SIGINT) is _stop_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on there may be something to clean up


def _stop_at_once(_number: int, _frame: object) -> NoReturn:
    """End on the spot, while nothing but loading is done; runs have a handler of their own once they begin.

    A KeyboardInterrupt in the midst of an import may be lost, or leave a lock behind that all other imports wait for.
    """
    os._exit(EXIT_INTERRUPTED)


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    gc.set_threshold(100_000, 50, 50)  # results are short-lived and hold no cycles: fewer, larger collections
    sys.setswitchinterval(0.0005)  # the thread that commits replies must not wait 5 ms for its turn
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may be ignored: by nohup, say
        signal.signal(signal.SIGINT, _stop_at_once)
    debug = "--debug" in sys.argv
    _ready_streams()
    try:
        code = cortex.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)  # the help
        code = EXIT_INPUT
    except click.UsageError as error:
        context = error.ctx or click.Context(cortex, info_name="cortex")
        code = _say(error.format_message(), usage=context.get_usage())
    except click.Abort:
        code = EXIT_INTERRUPTED
    except click.ClickException as error:
        code = _say(error.format_message())
    except InputError as error:
        code = _tell(error, debug, EXIT_INPUT)
    except CortexError as error:
        code = _tell(error, debug, EXIT_EXECUTION)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except SystemExit as error:
        # So click leaves, with 1, when nobody reads its help.
        is_asked_for_help = not {"-h", "--help", "--version"}.isdisjoint(sys.argv)
        code = 0 if is_asked_for_help else error.code
    except BrokenPipeError:
        # The reader has gone: nobody is left to tell. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001  # a bug of ours must not look like a regression, which is exit code 1
        code = _tell_unexpected(error)
    _leave(code if isinstance(code, int) else 0)


def _ready_streams() -> None:
    """Let nothing that a stream cannot do be a reason to fail: it may be closed (`>&-`), or not know a letter."""
    for mode, name in (("r", "stdin"), ("w", "stdout"), ("w", "stderr")):
        if getattr(sys, name) is None:  # filled at once: a file of ours would take its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _tell_unexpected(error: Exception) -> int:
    """A full disk is told in a line; whatever else nobody has told by now is a bug."""
    if isinstance(error, OSError) and error.errno in FULL:
        where = error.filename or "What was to be printed"
        click.echo(f"Error: {where} cannot be written: {error.strerror}. What was stored before is kept.", err=True)
        return EXIT_EXECUTION
    click.echo(redact(traceback.format_exc()), err=True)
    click.echo(
        "Error: this is a bug in Cortex. Nothing that was stored is lost; please report the lines above.", err=True
    )
    return EXIT_EXECUTION


def _leave(code: int) -> NoReturn:
    """Exit at once: everything is stored, and taking the interpreter apart would take as long as a small report."""
    atexit._run_exitfuncs()  # noqa: SLF001  # what plugins registered is theirs to have; there is no public way
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        code = code or EXIT_EXECUTION
    os._exit(code)


def _say(message: str, *, usage: str = "") -> int:
    if usage:
        click.echo(usage, err=True)
    click.echo(f"Error: {redact(message)}", err=True)
    return EXIT_INPUT


def _tell(error: CortexError, debug: bool, code: int) -> int:
    if debug:
        click.echo(redact(traceback.format_exc()), err=True)
    text = str(error)
    if isinstance(error, InputError) and len(error.problems) > 1:
        text = "\n  ".join([f"{len(error.problems)} mistakes; nothing was done.", *text.splitlines()])
    click.echo(f"Error: {redact(text)}", err=True)
    return code
