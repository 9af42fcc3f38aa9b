"""Where `gatekeeper` and `python -m gatekeeper` start and end."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line, and end this process with its exit code."""
    from gatekeeper.runs.process import end_process, postpone_garbage_collection

    postpone_garbage_collection()
    end_process(main())


def main() -> int:
    """Run the command line. Ctrl-C ends it with one line, also while its modules are imported."""
    try:
        from gatekeeper.cli.main import main as run_command_line

        return run_command_line()
    except KeyboardInterrupt:
        sys.stderr.write("gatekeeper: interrupted\n")
        return 3


if __name__ == "__main__":
    run()
