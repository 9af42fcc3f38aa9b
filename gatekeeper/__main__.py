"""Where `gatekeeper` and `python -m gatekeeper` start and end."""

from __future__ import annotations


def run() -> None:
    """Run the command line, and end this process with its exit code."""
    from gatekeeper.runs.process import run_process

    run_process(main)


def main() -> int:
    """Run the command line. The modules are imported here, so that a failure has its exit code."""
    from gatekeeper.cli.main import main as run_command_line

    return run_command_line()


if __name__ == "__main__":
    run()
