"""A cache of samples that was tampered with decides nothing: a broken prompt stays broken.

Whoever can run a workflow can put a cache in the place of the one that the gate wrote. A real
server answers; the head prompt breaks every fixture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from git_repository import GitRepository
from openai_server import OpenAIServer
from samples import GOOD, RECORDING, WORDS, check, csv, result_of

from gatekeeper.contract.trial import Completion
from gatekeeper.providers.keys import model_access
from gatekeeper.sampling.cache import Pair, read, signing_key, written

KEY = "sk-the-key-of-the-gate"
SAYS_OK = Completion("ok", 5.0, 10, 2, 0.0, fingerprint="m")
CONTRACT = GOOD.replace(f"recorded/{RECORDING}", "openai/test-model").replace(
    "slo: {success_rate: 0.5}\n", "sampling: {mode: fixed}\n"
)
CALLS = 2 * len(WORDS)

Create = Callable[..., GitRepository]
Lines = list[dict[str, Any]]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    def answer(body: dict[str, Any]) -> str:
        return "ok" if body["messages"][0]["content"].startswith("Say") else "no"

    with OpenAIServer(answer) as made:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", made.url)
        yield made


@pytest.fixture
def repository(git_repository: Create) -> GitRepository:
    made = git_repository("words")
    made.write("contracts/words.yaml", CONTRACT)
    made.write("contracts/words.csv", csv(WORDS))
    made.write("prompts/words.txt", "Say {{ word }}")
    made.commit("base")
    made.branch("pr")
    made.commit("break it", {"prompts/words.txt": "Do not say {{ word }}"})
    return made


@pytest.fixture
def cache(repository: GitRepository, server: OpenAIServer, tmp_path: Path) -> Path:
    """As an honest run left it, which found the prompt broken."""
    file = tmp_path / "cache.jsonl"
    assert check(repository, tmp_path / "first", "--cache", str(file)) == 1
    assert len(server.requests) == CALLS
    assert len(file.read_text().splitlines()) == len(WORDS)
    server.requests.clear()
    return file


def test_the_honest_cache_answers_all(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    assert server.requests == []
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["cached"]) == (0, CALLS)
    assert (result["cost_usd"], result["notices"]) == (0, [])
    assert f"{CALLS} cached" in (tmp_path / "out" / "comment.md").read_text()


def head_says_ok(lines: Lines) -> Lines:
    return [line | {"head": line["head"] | {"text": "ok"}} for line in lines]


def arms_exchanged(lines: Lines) -> Lines:
    return [line | {"base": line["head"], "head": line["base"]} for line in lines]


def base_says_no(lines: Lines) -> Lines:
    return [line | {"base": line["head"]} for line in lines]


def answers_moved(lines: Lines) -> Lines:
    """Each entry, as it was signed, under the key of its neighbour."""
    keys = [line["key"] for line in lines]
    return [line | {"key": key} for line, key in zip(lines, keys[1:] + keys[:1], strict=True)]


def signatures_moved(lines: Lines) -> Lines:
    marks = [line["hmac"] for line in lines]
    forged = head_says_ok(lines)
    return [line | {"hmac": m} for line, m in zip(forged, marks[1:] + marks[:1], strict=True)]


def made_young(lines: Lines) -> Lines:
    now = datetime.now(UTC).isoformat()
    return [line | {"measured": now} for line in head_says_ok(lines)]


def signed_by_a_stranger(lines: Lines) -> Lines:
    key = signing_key([("OPENAI_API_KEY", "sk-the-key-of-a-stranger")])
    return [_signed(line["key"], key) for line in lines]


def signed_without_a_key(lines: Lines) -> Lines:
    return [_signed(line["key"], signing_key([])) for line in lines]


def unsigned(lines: Lines) -> Lines:
    return [{k: v for k, v in line.items() if k != "hmac"} for line in head_says_ok(lines)]


def _signed(key: str, signing: bytes) -> dict[str, Any]:
    pair = Pair(key, datetime.now(UTC), SAYS_OK, SAYS_OK)
    forged: dict[str, Any] = json.loads(written(pair, signing))
    return forged


FORGERIES: list[Callable[[Lines], Lines]] = [
    head_says_ok,
    arms_exchanged,
    base_says_no,
    answers_moved,
    signatures_moved,
    made_young,
    signed_by_a_stranger,
    signed_without_a_key,
    unsigned,
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_entry_is_left_out_counted_and_measured(
    forge: Callable[[Lines], Lines],
    cache: Path,
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
) -> None:
    lines = [json.loads(line) for line in cache.read_text().splitlines()]
    cache.write_text("".join(json.dumps(line) + "\n" for line in forge(lines)))
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["cached"]) == (CALLS, 0)
    (notice,) = result["notices"]
    assert notice.startswith(f"{cache}: {len(WORDS)} entries are left out of the cache")
    assert "not signed with the keys of this run" in notice
    # What is left is sound again.
    server.requests.clear()
    assert check(repository, tmp_path / "again", "--cache", str(cache)) == 1
    assert server.requests == []
    assert result_of(tmp_path / "again")["notices"] == []


def _replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def replace(path: Path) -> None:
        path.unlink()
        make(path)

    return replace


BOMBS: dict[str, Callable[[Path], object]] = {
    "a folder": _replaced(Path.mkdir),
    "a link": _replaced(lambda path: path.symlink_to("/etc/passwd")),
    "a pipe": _replaced(os.mkfifo),
    "bytes": lambda path: path.write_bytes(os.urandom(10_000)),
    "a line of a million": lambda path: path.write_text("9" * 1_000_001),
    "brackets": lambda path: path.write_text("[" * 900_000),
    "many lines": lambda path: path.write_text("{}\n" * 100_000),
    "a sparse gigabyte": lambda path: os.truncate(path, 2**30),
    "cut short": lambda path: os.truncate(path, path.stat().st_size // 2),
    "nothing": lambda path: path.write_bytes(b""),
}


@pytest.mark.parametrize("lay", BOMBS.values(), ids=BOMBS)
def test_whatever_lies_in_its_place_the_run_goes_on(
    lay: Callable[[Path], object],
    cache: Path,
    repository: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    capsys.readouterr()
    lay(cache)
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    result = result_of(tmp_path / "out")
    assert result["calls"]["made"] + result["calls"]["cached"] == CALLS
    assert all(notice.startswith(f"{cache}: ") for notice in result["notices"])
    left = "".join(file.read_text() for file in (tmp_path / "out").glob("*.md"))
    assert "root:" not in "".join(capsys.readouterr()) + left


def test_an_entry_that_was_taken_out_is_measured(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    """All that somebody without the key can do: pay again. Both arms are asked."""
    kept, _ = cache.read_text().split("\n", 1)
    cache.write_text(kept + "\n")
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    assert len(server.requests) == CALLS - 2


def test_old_entries_are_not_used(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    """However well they are signed: a provider changes its models."""
    key = signing_key(model_access(os.environ))
    now = datetime.now(UTC)
    pairs = [read(line.encode(), key, now) for line in cache.read_text().splitlines()]
    old = [Pair(p.key, now - timedelta(days=7, minutes=1), SAYS_OK, SAYS_OK) for p in pairs]
    cache.write_text("".join(written(pair, key) + "\n" for pair in old))
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    assert len(server.requests) == CALLS
    assert len(cache.read_text().splitlines()) == len(WORDS)
