"""Where the container starts and ends: `python -m gatekeeper.action`."""

from __future__ import annotations

from gatekeeper.runs.process import run_process


def main() -> int:
    """Run the action. The modules are imported here, so that a failure has its exit code."""
    from gatekeeper.action.main import main as run_action

    return run_action()


if __name__ == "__main__":
    run_process(main)
