"""The command line: thin shells around the rooms."""

from cortex_eval.cli.main import cortex, main

__all__ = ["cortex", "main"]
