"""Where `gatekeeper` and `python -m gatekeeper` start."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line. Ctrl-C ends it with one line, also while its modules are imported."""
    try:
        from gatekeeper.cli.main import main as run_command_line

        return run_command_line()
    except KeyboardInterrupt:
        sys.stderr.write("gatekeeper: interrupted\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
