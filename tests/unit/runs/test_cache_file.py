"""The cache's file: whatever stands in its place a run goes on, and it is always whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gatekeeper.contract.values.trial import Completion
from gatekeeper.runs.answers import cache as cache_file
from gatekeeper.runs.answers import files
from gatekeeper.runs.answers.cache import MOST_BYTES, cache_key, read_cache, write_cache, written
from gatekeeper.sampling.cache import Entry, Pair

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
KEY = cache_key([("OPENAI_API_KEY", "sk-0123456789abcdef")])


def entry(number: int, age: timedelta = timedelta(0), text: str = "ok") -> Entry:
    pair = Pair("a" * 64, Completion("no", 8.5), Completion(text, 9.0))
    return Entry(f"{number:064x}", f"c{number}", "5" * 32, NOW - age, (pair,))


def by_plan(*entries: Entry) -> dict[str, Entry]:
    return {entry.plan: entry for entry in entries}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "cache.jsonl"


def test_what_was_written_is_read(path: Path) -> None:
    assert write_cache(path, [entry(1), entry(2)], KEY) == ()
    assert read_cache(path, KEY, NOW) == (by_plan(entry(1), entry(2)), ())
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_no_file_is_an_empty_cache_and_nothing_to_talk_about(path: Path) -> None:
    assert read_cache(path, KEY, NOW) == ({}, ())


def test_what_is_too_old_is_not_used_and_not_talked_about(path: Path) -> None:
    fresh = entry(1, timedelta(days=6, hours=23))
    write_cache(path, [fresh, entry(2, timedelta(days=7, seconds=1))], KEY)
    assert read_cache(path, KEY, NOW) == (by_plan(fresh), ())


def test_of_a_plan_that_is_there_twice_the_first_draw_stands(path: Path) -> None:
    """Nobody gets to choose among draws by the order of the lines."""
    first, second = entry(1, timedelta(hours=2), "no"), entry(1, timedelta(hours=1), "ok")
    for order in ([first, second], [second, first]):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\n".join(written(e, KEY) for e in order))
        assert read_cache(path, KEY, NOW).entries == by_plan(first)


def test_what_is_too_old_stands_in_the_way_of_nothing(path: Path) -> None:
    old, new = entry(1, timedelta(days=8), "no"), entry(1, timedelta(hours=1), "ok")
    write_cache(path, [old, new], KEY)
    assert read_cache(path, KEY, NOW) == (by_plan(new), ())


def test_unsound_lines_are_counted_in_one_notice_and_the_others_count(path: Path) -> None:
    path.parent.mkdir()
    lines = [
        written(entry(1), KEY),
        b"{",
        written(entry(2), b"another"),
        b"",
        written(entry(3), b"another"),
        written(entry(5, -timedelta(hours=1)), KEY),
        written(entry(4), KEY)[:-20],
    ]
    path.write_bytes(b"\n".join(lines))
    found = read_cache(path, KEY, NOW)
    assert found.entries == by_plan(entry(1))
    (notice,) = found.notices
    assert notice == (
        f"{path}: gatekeeper ignores 5 entries of the cache and measures again "
        "(incomplete or of another version of the cache: 2; "
        "not signed with the keys of this run: 2; from the future: 1)"
    )


def test_one_unsound_line_is_named_in_good_grammar(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xff\n")
    (notice,) = read_cache(path, KEY, NOW).notices
    assert ": gatekeeper ignores 1 entry" in notice


IN_ITS_PLACE: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "a link to a cache": lambda path: path.symlink_to(_sound(path.with_name("sound"))),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a pipe": os.mkfifo,
    "a huge file": lambda path: os.truncate(_sound(path), MOST_BYTES + 1),
    "a file where the folder was": lambda path: (path.parent.rmdir(), path.parent.touch()),
}


def _sound(path: Path) -> Path:
    write_cache(path, [entry(1)], KEY)
    return path


@pytest.mark.parametrize("make", IN_ITS_PLACE.values(), ids=IN_ITS_PLACE)
def test_what_is_no_file_is_not_read_and_said(make: Callable[[Path], object], path: Path) -> None:
    path.parent.mkdir()
    make(path)
    found = read_cache(path, KEY, NOW)
    assert found.entries == {}
    (notice,) = found.notices
    assert notice.startswith(f"{path}: the cache is not used: ")


def test_a_link_is_replaced_and_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    target = tmp_path / "target"
    target.write_text("mine")
    path.symlink_to(target)
    assert write_cache(path, [entry(1)], KEY) == ()
    assert not path.is_symlink()
    assert target.read_text() == "mine"


@pytest.mark.parametrize("place", ["a folder", "a file where the folder was"])
def test_what_cannot_be_replaced_is_said(place: str, path: Path) -> None:
    path.parent.mkdir()
    IN_ITS_PLACE[place](path)
    (notice,) = write_cache(path, [entry(1)], KEY)
    assert notice.startswith(f"{path}: the cache could not be written: ")
    if path.parent.is_dir():
        assert list(path.parent.iterdir()) == [path]


def test_the_oldest_make_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [entry(number, timedelta(hours=number)) for number in range(10)]
    monkeypatch.setattr(cache_file, "MOST_BYTES", 4 * len(written(entries[0], KEY)) + 10)
    assert write_cache(path, reversed(entries), KEY) == ()
    assert path.stat().st_size <= cache_file.MOST_BYTES
    assert read_cache(path, KEY, NOW).entries == by_plan(*entries[:4])


def test_an_entry_longer_than_the_file_may_be_is_not_kept_and_that_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_file, "MOST_BYTES", 1000)
    long = entry(1, text="x" * 1000)
    (notice,) = write_cache(path, [long, entry(2)], KEY)
    size = len(written(long, KEY)) + 1
    assert notice == (
        f"{path}: the answers of contract c1 do not fit into the cache, because the answers "
        f"have {size:,} bytes, and the cache may have at most 1,000 bytes"
    )
    assert read_cache(path, KEY, NOW) == (by_plan(entry(2)), ())


def test_an_entry_as_long_as_the_file_may_be_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_file, "MOST_BYTES", len(written(entry(1), KEY)) + 1)
    assert write_cache(path, [entry(1)], KEY) == ()
    assert read_cache(path, KEY, NOW) == (by_plan(entry(1)), ())


KILLED = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path

steps = int(sys.argv[2])

def die_at(frame, event, argument):
    global steps
    steps_of = frame.f_code.co_name in ("replace_file", "write_cache")
    if steps_of and event in ("call", "line", "return"):
        if steps == 0:
            os._exit(9)
        steps -= 1
    return die_at

from gatekeeper.contract.values.trial import Completion
from gatekeeper.runs.answers.cache import cache_key, write_cache
from gatekeeper.sampling.cache import Entry, Pair

key = cache_key([("OPENAI_API_KEY", "sk-0123456789abcdef")])
now = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
pair = Pair("a" * 64, Completion("no", 8.5), Completion("ok", 9.0))
new = [Entry(f"{n:064x}", f"c{n}", "5" * 32, now, (pair,)) for n in (1, 2)]
for steps in range(1000):
    if os.fork() == 0:
        sys.settrace(die_at)
        write_cache(Path(sys.argv[1]), new, key)
        os._exit(0)
    status = os.wait()[1]
    print(os.waitstatus_to_exitcode(status), Path(sys.argv[1]).read_text().count("\\n"), flush=True)
    if status == 0:
        break
    Path(sys.argv[1]).write_text(Path(sys.argv[3]).read_text())
"""


def test_whenever_it_is_killed_the_old_file_or_the_new_one_is_there(path: Path) -> None:
    """The writer dies before each line of its code in turn."""
    write_cache(path, [entry(1)], KEY)
    old = path.with_name("old")
    old.write_bytes(path.read_bytes())
    program = [sys.executable, "-c", KILLED, str(path), "0", str(old)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    *killed, last = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert last == (0, 2)
    assert len(killed) > 15
    assert {lines for _, lines in killed} == {1, 2}
    assert {code for code, _ in killed} == {9}
    assert [lines for _, lines in killed] == sorted(lines for _, lines in killed)
    assert read_cache(path, KEY, NOW) == (by_plan(entry(1), entry(2)), ())


@pytest.mark.parametrize("step", ["mkstemp", "fsync", "fchmod", "replace"])
def test_a_fault_at_any_step_leaves_the_old_file_and_nothing_else(
    step: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cache(path, [entry(1)], KEY)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    owner = {"mkstemp": files.tempfile, "replace": Path}.get(step, os)
    monkeypatch.setattr(owner, step, full)
    (notice,) = write_cache(path, [entry(2)], KEY)
    monkeypatch.undo()
    assert notice == f"{path}: the cache could not be written: No space left on device"
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
