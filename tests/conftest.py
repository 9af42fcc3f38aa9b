"""Fixtures for all tests: real git repositories, and data that lies beside the repository."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.compiled_once import compile_once
from support.git_repository import GitRepository
from support.github_server import FakeGithub
from support.machine_needs import DATA, RECORDED_OUTPUTS
from support.quick_and_long import mark_long, without_some_ways
from support.traced_threads import begin_traced_threads_one_by_one

# A busy machine fails no property: no test asserts a time.
# `make test` tries the same few examples each time, so that a run that passed passes again.
# `make test-random` tries new ones, and more of them.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=20)
# With new examples, a health check fails by chance now and then. The fixed ones are checked.
BY_CHANCE = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "random",
    deadline=None,
    max_examples=30,
    derandomize=False,  # a hosted CI would otherwise set it
    print_blob=True,
    suppress_health_check=BY_CHANCE,
)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Compile everything once, and let threads begin one by one while coverage is measured."""
    compile_once(config)
    if config.getoption("cov_source", None):
        begin_traced_threads_one_by_one()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave most cases of the tables in `integration/` to `make test-rest`, where the two ways
    through the action share them."""
    mark_long(items)
    if config.getoption("markexpr"):  # not where somebody names a test
        items[:] = without_some_ways(items)


def pytest_collection_finish() -> None:
    """Leave what collecting has made out of every later garbage collection: it never goes away,
    and looking through it takes a sixth of the time of the unit tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    """GitHub as far as the gate knows it, on 127.0.0.1."""
    with FakeGithub() as fake:
        yield fake


@pytest.fixture(autouse=True, scope="session")
def same_order() -> Iterator[None]:
    """Runs in this process have one order, so that a test finds today what it found yesterday.
    What needs several draws its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gatekeeper.gate.work.new_order_seed", lambda: "0" * 32)
        yield


@pytest.fixture(autouse=True, scope="session")
def long_before_any_retirement() -> Iterator[None]:
    """No model of the tests retires soon, whatever the calendar says. Tests of retirements set
    their own day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gatekeeper.providers.models.retirement.today", lambda: date(2024, 1, 1))
        yield


@pytest.fixture(autouse=True, scope="session")
def without_proxies_and_keys() -> Iterator[None]:
    """No test asks the developer's proxy for what is on 127.0.0.1, sees the developer's keys, or
    links to the job in which it runs."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            others = ("_PROXY", "_API_KEY", "_API_BASE", "_BASE_URL")
            if name.upper().endswith(others) or name.startswith(("GITHUB_", "CI_", "INPUT_")):
                patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def same_environment() -> Iterator[None]:
    """Each test leaves the environment as it was, in whatever order its servers and its own
    changes end."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(autouse=True)
def isolated_git(same_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's git configuration or the variables of a git hook."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def isolated_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty home folder, for tests of what is read or written there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    return home


@pytest.fixture
def git_repository(tmp_path: Path) -> Callable[..., GitRepository]:
    """Makes an empty repository in the test's own folder: `git_repository("name")`."""

    def create(
        name: str = "repository", *, branch: str = "main", bare: bool = False
    ) -> GitRepository:
        return GitRepository.create(tmp_path / name, branch=branch, bare=bare)

    return create


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded outputs beside the repository; skips if there is none."""
    RECORDED_OUTPUTS.require()
    return DATA
