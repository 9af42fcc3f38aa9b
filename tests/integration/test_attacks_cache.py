"""A cache of samples that was tampered with decides nothing: a broken prompt stays broken.

Whoever can run a workflow can put a cache in the place of the one that the gate wrote. A real
server answers; the head prompt breaks every fixture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import GOOD, RECORDING, WORDS, check, csv, result_of

from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.values.trial import Completion
from gatekeeper.providers.models.keys import model_access
from gatekeeper.runs.answers.cache import cache_key, read, written
from gatekeeper.sampling.cache import Entry, Pair

KEY = "sk-the-key-of-the-gate"
SAYS_OK = Completion("ok", 5.0, 10, 2, 0.0, fingerprint="m")
CONTRACT = edited(
    GOOD,
    f"recorded/{RECORDING}",
    "openai/gpt-4o-mini\nparams: {max_tokens: 16}",
    "slo: {success_rate: 0.5}\n",
    "sampling: {mode: fixed}\n",
)
CALLS = 2 * len(WORDS)

Create = Callable[..., GitRepository]
Line = dict[str, Any]
Pairs = list[dict[str, Any]]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    def answer(body: dict[str, Any]) -> str:
        return "ok" if body["messages"][0]["content"].startswith("Say") else "no"

    with OpenAIServer(answer) as made:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield made


@pytest.fixture
def repository(git_repository: Create) -> GitRepository:
    made = git_repository("words")
    made.write("contracts/words.yaml", CONTRACT)
    made.write("contracts/words.csv", csv(WORDS))
    made.write("prompts/words.txt", "Say {{ word }}")
    return made.propose({"prompts/words.txt": "Do not say {{ word }}"})


@pytest.fixture
def cache(repository: GitRepository, server: OpenAIServer, tmp_path: Path) -> Path:
    """As an honest run left it, which found the prompt broken."""
    file = tmp_path / "cache.jsonl"
    assert check(repository, tmp_path / "first", "--cache", str(file)) == 1
    assert len(server.requests) == CALLS
    (line,) = file.read_text().splitlines()
    assert len(json.loads(line)["entry"]["pairs"]) == len(WORDS)
    server.requests.clear()
    return file


@pytest.mark.long
def test_the_honest_cache_answers_all(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    assert server.requests == []
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["cached"]) == (0, CALLS)
    assert (result["cost_usd"], result["notices"]) == (0, [])
    assert f"{CALLS} cached" in (tmp_path / "out" / "comment.md").read_text()


def with_pairs(line: Line, pairs: Pairs) -> Line:
    return line | {"entry": line["entry"] | {"pairs": pairs}}


def head_says_ok(line: Line) -> Line:
    pairs = line["entry"]["pairs"]
    return with_pairs(line, [pair | {"head": pair["head"] | {"text": "ok"}} for pair in pairs])


def arms_exchanged(line: Line) -> Line:
    pairs = line["entry"]["pairs"]
    return with_pairs(line, [p | {"base": p["head"], "head": p["base"]} for p in pairs])


def base_says_no(line: Line) -> Line:
    return with_pairs(line, [pair | {"base": pair["head"]} for pair in line["entry"]["pairs"]])


def answers_moved(line: Line) -> Line:
    """Each pair under the key of its neighbour."""
    pairs = line["entry"]["pairs"]
    keys = [pair["key"] for pair in pairs]
    moved = zip(pairs, keys[1:] + keys[:1], strict=True)
    return with_pairs(line, [pair | {"key": key} for pair, key in moved])


def unlucky_taken_out(line: Line) -> Line:
    return with_pairs(line, line["entry"]["pairs"][1:])


def end_cut_off(line: Line) -> Line:
    """As if the run had been cut short there."""
    return with_pairs(line, line["entry"]["pairs"][:1])


def made_young(line: Line) -> Line:
    return line | {"entry": line["entry"] | {"measured": datetime.now(UTC).isoformat()}}


def signed_by_a_stranger(line: Line) -> Line:
    key = cache_key([("OPENAI_API_KEY", "sk-the-key-of-a-stranger")])
    return _signed(line["entry"], key)


def signed_without_a_key(line: Line) -> Line:
    return _signed(line["entry"], cache_key([]))


def unsigned(line: Line) -> Line:
    return head_says_ok(line) | {"hmac": "0" * 64}


def _signed(entry: Line, signing: bytes) -> Line:
    pairs = tuple(Pair(pair["key"], SAYS_OK, SAYS_OK) for pair in entry["pairs"])
    forged = Entry(entry["plan"], entry["contract"], entry["order_seed"], datetime.now(UTC), pairs)
    line: Line = json.loads(written(forged, signing))
    return line


def as_a_line(line: Line) -> str:
    return (
        f'{{"version":{line["version"]},"entry":{canonical(line["entry"])},'
        f'"hmac":"{line["hmac"]}"}}\n'
    )


FORGERIES: list[Callable[[Line], Line]] = [
    head_says_ok,
    arms_exchanged,
    base_says_no,
    answers_moved,
    unlucky_taken_out,
    end_cut_off,
    made_young,
    signed_by_a_stranger,
    signed_without_a_key,
    unsigned,
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_entry_is_left_out_counted_and_measured(
    forge: Callable[[Line], Line],
    cache: Path,
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
) -> None:
    line = json.loads(cache.read_text())
    assert as_a_line(line) == cache.read_text()
    cache.write_text(as_a_line(forge(line)))
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    result = result_of(tmp_path / "out")
    assert (result["calls"]["made"], result["calls"]["cached"]) == (CALLS, 0)
    (notice,) = result["notices"]
    assert notice.startswith(f"{cache}: gatekeeper ignores 1 entry of the cache")
    assert "not signed with the keys of this run" in notice
    # What is left is sound again.
    server.requests.clear()
    assert check(repository, tmp_path / "again", "--cache", str(cache)) == 1
    assert server.requests == []
    assert result_of(tmp_path / "again")["notices"] == []


def _replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def put(path: Path) -> None:
        path.unlink()
        make(path)

    return put


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


@pytest.mark.long
def test_the_signature_of_one_contract_serves_no_other(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    line = json.loads(cache.read_text())
    repository.commit("another", {"prompts/words.txt": "Never say {{ word }}"})
    assert check(repository, tmp_path / "other", "--cache", str(cache)) == 1
    _, other = map(json.loads, cache.read_text().splitlines())
    assert other["entry"]["plan"] != line["entry"]["plan"]
    server.requests.clear()
    stolen = line["entry"] | {"plan": other["entry"]["plan"]}
    for forged in (other | {"entry": stolen}, line | {"entry": stolen}):
        cache.write_text(as_a_line(forged))
        assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
        assert len(server.requests) == CALLS
        server.requests.clear()


def test_an_entry_that_was_taken_out_is_measured_whole(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    """All that somebody without the key can do: pay for all of it again."""
    cache.write_text("")
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    assert len(server.requests) == CALLS


def test_old_entries_are_not_used(
    cache: Path, repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    """However well they are signed: a provider changes its models."""
    key = cache_key(model_access(os.environ))
    now = datetime.now(UTC)
    entry = read(cache.read_bytes().rstrip(), key, now)
    pairs = tuple(Pair(pair.key, SAYS_OK, SAYS_OK) for pair in entry.pairs)
    old = replace(entry, measured=now - timedelta(days=7, minutes=1), pairs=pairs)
    cache.write_bytes(written(old, key))
    assert check(repository, tmp_path / "out", "--cache", str(cache)) == 1
    assert len(server.requests) == CALLS
    assert len(cache.read_text().splitlines()) == 1
