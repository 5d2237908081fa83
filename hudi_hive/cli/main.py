"""The command ``hudi-hive``: loads only the module of the command that is run, and turns errors into one line."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import TextIO

import click

from hudi_hive._version import __version__
from hudi_hive.cli.help import add_examples, remedy_for, usage_line
from hudi_hive.cli.import_blocker import block_pandas, run_one_command
from hudi_hive.cli.option_groups import add_metrics_option
from hudi_hive.cli.reporting import LOG_FORMATS, log_lines
from hudi_hive.errors import HudiHiveError, StorageError
from hudi_hive.progress import show_progress
from hudi_hive.redaction import printable, redact

_COMMANDS = {
    "demo": ("hudi_hive.cli.demo", "The main job, end to end, on an embedded metastore."),
    "show": ("hudi_hive.cli.timeline.inspect", "What a table is: version, type, keys, partitions, last commit."),
    "timeline": ("hudi_hive.cli.timeline.inspect", "The instants of a table."),
    "schema": ("hudi_hive.cli.table.schema_alter", "The columns of a table; add, drop, rename, change them."),
    "files": ("hudi_hive.cli.timeline.inspect", "The latest file slices of a table."),
    "stats": ("hudi_hive.cli.table.stats", "Files, bytes, slices and rows of a table and of its commits."),
    "metadata": ("hudi_hive.cli.table.metadata", "Look into the metadata table: stats, partitions, files, validate."),
    "table": (
        "hudi_hive.cli.table.table",
        "Create a table; compact, cluster, clean, rollback, savepoint, restore, archive.",
    ),
    "read": ("hudi_hive.cli.query", "Rows of a table, printed or written to Parquet."),
    "pull": ("hudi_hive.cli.query", "Rows of new commits since the last pull, once each."),
    "plan": ("hudi_hive.cli.query", "What a read would open, and what was pruned by what."),
    "sql": ("hudi_hive.cli.sql", "SELECT from synced tables, or from tables at paths; no JVM."),
    "ui": ("hudi_hive.cli.ui", "Tables as pages in a browser: timeline, files, schemas, queries, syncs."),
    "input-format": ("hudi_hive.cli.input_format", "The three path groups of a job and its file statuses."),
    "sync": ("hudi_hive.cli.sync", "Sync a table to a Hive metastore."),
    "metastore": ("hudi_hive.cli.metastore", "Start, stop and look at the embedded metastore."),
    "thriftserver": (
        "hudi_hive.cli.spark.thriftserver",
        "Start a Spark SQL server (HiveServer2 protocol) on a metastore.",
    ),
    "completion": ("hudi_hive.cli.help", "The script by which bash, zsh or fish completes commands and options."),
    "spark": ("hudi_hive.cli.spark", "Spark's own programs on Hudi tables: a server for clients of Spark Connect."),
}


class LazyGroup(click.Group):
    """Imports a command's module when it is called, so that ``--help`` and small commands start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command's module and give the command; None for a name that is none."""
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[name][0]), name.replace("-", "_"))
        if "pyarrow" in sys.modules:  # before the command makes an array
            block_pandas()
        add_metrics_option(command)
        add_examples(command, name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that arguments name; the error about one that is none has the nearest name."""
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            nearest = difflib.get_close_matches(args[0], _COMMANDS, 1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            ctx.fail(f"no such command: {args[0]}{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command and flush its output, so that a closed pipe raises its error here."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop(sys.stdout)
            ctx.exit(0)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            _drop(sys.stdout)
            raise StorageError(f"cannot write: {error.strerror}", remedy="make room") from error
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in the help without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-q", "--quiet", is_flag=True, help="No progress bars, no warnings.")
@click.option("-v", "--verbose", count=True, help="Say what is done; twice: everything.")
@click.option("--log-format", type=click.Choice(LOG_FORMATS), default="text", show_default=True, help="Of log lines.")
@click.option(
    "--merger",
    "mergers",
    multiple=True,
    metavar="CLASS=MODULE:ATTRIBUTE",
    envvar="HUDI_HIVE_MERGERS",
    help="Python merger for a payload or merger class; HUDI_HIVE_MERGERS may hold some, with blanks between them.",
)
@click.version_option(__version__, prog_name="hudi-hive")
@click.pass_context
def cli(context: click.Context, quiet: bool, verbose: int, log_format: str, mergers: tuple[str, ...]) -> None:
    """Plan, read and sync Apache Hudi tables next to a Hive metastore, without Hudi's JVM bundles."""
    if quiet and verbose:
        raise click.UsageError("'--quiet' and '--verbose' do not go together.")
    context.with_resource(log_lines(-1 if quiet else verbose, log_format))
    if not quiet and sys.stderr.isatty():
        context.with_resource(show_progress())
    if mergers:
        from hudi_hive.table.merge import register_mergers

        register_mergers(mergers)


add_examples(cli, "")


def main(argv: list[str] | None = None) -> None:
    """Entry point of the console script: run a command and exit 0, 1 (error) or 2 (usage).

    Set ``HUDI_HIVE_DEBUG=1`` to see the traceback of an error.
    """
    signal.signal(signal.SIGTERM, _terminate)
    run_one_command()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # what a terminal's encoding lacks is shown by its number
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args=argv, prog_name="hudi-hive", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(printable(f"error: {usage_line(error)}"), err=True)
        sys.exit(error.exit_code)
    except HudiHiveError as error:
        if os.environ.get("HUDI_HIVE_DEBUG"):
            raise
        remedy = "" if error.remedy is not None else f"; {remedy_for(error)}"
        click.echo(printable(f"error: {error}{remedy}"), err=True)
        sys.exit(1)
    except Exception as error:
        if os.environ.get("HUDI_HIVE_DEBUG"):
            raise
        text = redact(" ".join(f"{type(error).__name__}: {error}".split()))
        click.echo(
            printable(f"error: unexpected {text}") + "; set HUDI_HIVE_DEBUG=1 for the traceback and report it", err=True
        )
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _drop(stream: TextIO) -> None:
    """Redirect a closed stdout to the null device, since Python reports an error at exit if it cannot flush it."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _terminate(signum: int, frame: object) -> None:
    # As Ctrl-C: the with-blocks that own a metastore or a Spark session get to stop them.
    raise KeyboardInterrupt
