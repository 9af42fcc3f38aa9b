"""`pytest --gatekeeper`: the options. pytest loads this file in every session, so it imports
nothing of Gatekeeper before the option is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gatekeeper.runs.library.pytest_items import Measurement

_MEASUREMENT = "_gatekeeper_measurement"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gatekeeper", "prompt contracts")
    group.addoption(
        "--gatekeeper",
        action="store_true",
        help="also test the prompt contracts that the work tree affects; this calls models",
    )
    group.addoption(
        "--gatekeeper-base",
        metavar="REF",
        help="branch to merge into (default: the remote's default branch)",
    )
    group.addoption(
        "--gatekeeper-head", metavar="REF", help="test this commit, not the files of the work tree"
    )
    group.addoption(
        "--gatekeeper-ref",
        metavar="REF",
        help="run the full suite on this revision, without a comparison",
    )
    group.addoption(
        "--gatekeeper-replay",
        metavar="FILE",
        help="take all answers from this samples.jsonl and call no model",
    )
    group.addoption("--gatekeeper-out", metavar="DIR", help="write the reports to this folder")


def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and register the marker of the items."""
    config.addinivalue_line(
        "markers", "gatekeeper: a test of a prompt contract, which the option --gatekeeper adds"
    )
    if not config.getoption("gatekeeper"):
        return
    if config.getoption("gatekeeper_ref") and (
        config.getoption("gatekeeper_base") or config.getoption("gatekeeper_head")
    ):
        raise pytest.UsageError(
            "--gatekeeper-ref runs without a comparison: remove --gatekeeper-base and "
            "--gatekeeper-head"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add an item for each contract. `-k` and `-m` select among them as among all tests."""
    if not config.getoption("gatekeeper"):
        return
    from gatekeeper.runs.library.pytest_items import Gate

    gate = Gate.from_parent(session, name="gatekeeper", nodeid="gatekeeper")
    gate.measurement = _measurement(config)
    items.extend(gate.collect())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Measure before pytest-xdist starts its workers, so that not each of them does."""
    config = node.config
    if config.getoption("gatekeeper") and not config.option.collectonly:
        node.workerinput["gatekeeper"] = _measurement(config).findings.document()


def _measurement(config: pytest.Config) -> Measurement:
    """Return the one measurement of this session, which has not begun."""
    from gatekeeper.runs.library.pytest_items import Measurement

    found: Measurement | None = getattr(config, _MEASUREMENT, None)
    if found is None:
        found = Measurement(config)
        setattr(config, _MEASUREMENT, found)
    return found
