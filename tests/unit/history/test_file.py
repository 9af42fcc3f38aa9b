"""The history file: what is written can be read, whatever happens to the file in between."""

import json
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.history import file as history_file
from gatekeeper.history.file import append_history, read_history
from gatekeeper.result import ArmResult, ContractResult, GateResult, Waiver
from gatekeeper.slo.budget import Event
from gatekeeper.stats.interval import ConfidenceInterval

STARTED = datetime(2025, 6, 1, 12, 30, tzinfo=UTC)


def arm(passed=18, samples=20, *, failed_calls=1, cost=0.002, interval=(0.7, 0.97)):
    return ArmResult(
        model="openai/gpt-4o-mini",
        prompt_path="prompts/a.md",
        prompt_text="secret prompt",
        passed=passed,
        samples=samples,
        failed_calls=failed_calls,
        fixtures_passed=passed,
        fixtures=samples,
        success_rate=passed / samples if samples else None,
        interval=ConfidenceInterval(*interval) if interval else None,
        latency_p95_ms=None,
        cost_per_call_usd=cost,
    )


def run(*contracts, kind="run", started=STARTED, sha="a" * 40):
    results = tuple(
        ContractResult(
            name=name, path=f"contracts/{name}.yaml", verdict="pass", reasons=(), head=head
        )
        for name, head in contracts
    )
    return GateResult(
        kind=kind,
        verdict="pass",
        exit_code=0,
        base_sha=None,
        head_sha=sha,
        started=started,
        seconds=1.0,
        contracts=results,
    )


def line(**changes):
    record = {"schema": 1, "time": STARTED.isoformat(), "contract": "tag", "events": 5, "failed": 1}
    return json.dumps(record | changes)


def test_a_run_leaves_a_line_per_contract(tmp_path):
    path = tmp_path / "history.jsonl"
    assert append_history(path, run(("tag", arm()), ("cite", arm(5, 6, cost=None)))) == 2
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {
        "schema": 1,
        "time": "2025-06-01T12:30:00+00:00",
        "sha": "a" * 40,
        "contract": "tag",
        "model": "openai/gpt-4o-mini",
        "events": 20,
        "failed": 2,
        "interval": [0.7, 0.97],
        "calls": 21,
        "cost_usd": 0.04,
    }
    assert (second["contract"], second["cost_usd"]) == ("cite", None)
    assert "secret" not in path.read_text()


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "new" / "folder" / "history.jsonl"
    append_history(path, run(("tag", arm()), ("naïve 🎈 \ud800", arm(3, 3, interval=None))))
    later = STARTED + timedelta(days=1)
    append_history(path, run(("tag", arm(20, 20)), started=later))
    events, notices = read_history(path)
    assert notices == ()
    assert events == {
        "tag": (Event(STARTED, 20, 2), Event(later, 20, 0)),
        "naïve 🎈 \ud800": (Event(STARTED, 3, 0),),
    }


def test_times_are_written_in_utc(tmp_path):
    path = tmp_path / "h"
    append_history(
        path, run(("tag", arm()), started=STARTED.astimezone(timezone(timedelta(hours=9))))
    )
    assert json.loads(path.read_text())["time"] == "2025-06-01T12:30:00+00:00"


def test_a_contract_that_was_not_measured_leaves_nothing(tmp_path):
    path = tmp_path / "history.jsonl"
    assert append_history(path, run(("tag", arm(0, 0)), ("gone", None))) == 0
    assert not path.exists()


def test_a_run_that_ended_in_an_error_is_not_the_past(tmp_path):
    path = tmp_path / "history.jsonl"
    result = run(("tag", arm()), ("cite", arm()), ("missed", arm()))
    verdicts = ("error", "pass", "fail")
    contracts = tuple(
        replace(contract, verdict=verdict)
        for contract, verdict in zip(result.contracts, verdicts, strict=True)
    )
    assert append_history(path, replace(result, contracts=contracts)) == 2
    assert set(read_history(path).events) == {"cite", "missed"}


def test_a_pull_request_check_is_not_history(tmp_path):
    with pytest.raises(ValueError, match=r"^result: "):
        append_history(tmp_path / "h", run(("tag", arm()), kind="check"))


@pytest.mark.parametrize(
    ("before", "lost"), [(b'{"schema": 1, "ti', 1), (line().encode(), 0), (b"\xff\xfe", 1)]
)
def test_a_last_line_without_end_is_closed_first(tmp_path, before, lost):
    path = tmp_path / "history.jsonl"
    path.write_bytes(before)
    append_history(path, run(("tag", arm())))
    assert path.read_bytes().startswith(before + b"\n{")
    events, notices = read_history(path)
    assert events["tag"][-1] == Event(STARTED, 20, 2)
    assert len(notices) == lost


def test_appending_is_one_write_to_the_end(tmp_path, monkeypatch):
    path = tmp_path / "history.jsonl"
    path.write_text(line())
    writes, synced = [], []
    write, fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda f, data: writes.append(data) or write(f, data))
    monkeypatch.setattr(os, "fsync", lambda f: synced.append(len(writes)) or fsync(f))
    append_history(path, run(("tag", arm()), ("cite", arm())))
    assert len(writes) == 1
    assert synced == [1]


def test_concurrent_runs_do_not_tear_lines_apart(tmp_path):
    path = tmp_path / "history.jsonl"

    def write(worker):
        for turn in range(20):
            started = STARTED + timedelta(seconds=100 * worker + turn)
            append_history(path, run(("tag", arm()), ("cite", arm()), started=started))

    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    events, notices = read_history(path)
    assert notices == ()
    assert {name: len(found) for name, found in events.items()} == {"tag": 80, "cite": 80}


def test_a_place_that_cannot_be_written_is_the_authors_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "history.jsonl"):
        with pytest.raises(UsageError, match="history cannot be written"):
            append_history(path, run(("tag", arm())))


def test_a_full_disk_is_not_the_authors_mistake(tmp_path, monkeypatch):
    path = tmp_path / "history.jsonl"
    write = os.write
    monkeypatch.setattr(os, "write", lambda f, data: write(f, data[:7]))
    with pytest.raises(MeasurementError, match="only a part"):
        append_history(path, run(("tag", arm())))
    monkeypatch.undo()
    append_history(path, run(("tag", arm())))
    events, notices = read_history(path)
    assert events == {"tag": (Event(STARTED, 20, 2),)}
    assert len(notices) == 1


# --- reading ---------------------------------------------------------------------------------


def test_no_history_yet_is_a_notice(tmp_path):
    events, notices = read_history(tmp_path / "none.jsonl")
    assert events == {}
    assert "no history yet" in notices[0]


def test_a_folder_is_a_notice(tmp_path):
    events, notices = read_history(tmp_path)
    assert events == {}
    assert "cannot be read" in notices[0]


def test_an_empty_history_is_fine(tmp_path):
    path = tmp_path / "h"
    path.write_bytes(b"")
    assert read_history(path) == ({}, ())


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"not json", "JSON"),
        (b'{"schema": 1', "cut short"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"[1, 2]", "JSON record"),
        (b"{}", "schema"),
        (b"[" * 100_000, "JSON"),
        (b"1" * 5000, "JSON"),
        (line(schema=2).encode(), "newer gatekeeper"),
        (line(schema=True).encode(), "schema"),
        (line(schema="1").encode(), "schema"),
        (line(contract="").encode(), "contract"),
        (line(contract=None).encode(), "contract"),
        (line(events=1.5).encode(), "events"),
        (line(events=-1, failed=-2).encode(), "events"),
        (line(failed=None).encode(), "failed"),
        (line(failed=6).encode(), "failed"),
        (line(time="yesterday").encode(), "time"),
        (line(time=5).encode(), "time"),
        (line(time="2025-06-01T12:00:00").encode(), "time zone"),
    ],
)
def test_a_bad_line_is_named_and_left_out(tmp_path, bad, said):
    path = tmp_path / "h.jsonl"
    path.write_bytes(
        line(events=7).encode() + b"\n" + bad + b"\n" + line(events=8).encode() + b"\n"
    )
    events, notices = read_history(path)
    assert [event.events for event in events["tag"]] == [7, 8]
    assert len(notices) == 1
    assert notices[0].startswith(f"{path}:2: ")
    assert said in notices[0]


def test_many_bad_lines_are_counted_rather_than_listed(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text("\n".join(f"junk {i}" for i in range(50)))
    _, notices = read_history(path)
    assert len(notices) == history_file.MOST_NOTICES + 1
    assert "40 more" in notices[-1]


def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(tmp_path):
    path = tmp_path / "h.jsonl"
    text = "\ufeff" + line(events=7) + "\r\n\r\n  \n" + line(events=8) + "\r\n"
    path.write_bytes(text.encode())
    events, notices = read_history(path)
    assert [event.events for event in events["tag"]] == [7, 8]
    assert notices == ()


def test_a_line_that_is_there_twice_counts_once(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text(f"{line()}\n{line(events=9)}\n{line()}\n")
    events, _ = read_history(path)
    assert [event.events for event in events["tag"]] == [5, 9]


def test_what_no_clock_explains_is_named_and_left_out(tmp_path):
    path = tmp_path / "h.jsonl"
    ahead = [STARTED + timedelta(days=1), STARTED + timedelta(days=1, seconds=1)]
    path.write_text("\n".join(line(time=time.isoformat()) for time in ahead))
    events, notices = read_history(path, STARTED)
    assert events == {"tag": (Event(ahead[0], 5, 1),)}
    assert len(notices) == 1
    assert notices[0].startswith(f"{path}:2: time: 2025-06-02T12:30:01+00:00 is in the future")
    assert len(read_history(path).events["tag"]) == 2


def test_unknown_fields_of_this_version_do_not_matter(tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text(line(extra={"a": 1}))
    assert read_history(path).events == {"tag": (Event(STARTED, 5, 1),)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_no_file_breaks_the_reader(tmp_path, content):
    path = tmp_path / "h.jsonl"
    path.write_bytes(content)
    events, _ = read_history(path)
    assert all(isinstance(event, Event) for found in events.values() for event in found)


def test_what_was_waived_is_kept_and_counts_like_any_other_event(tmp_path):
    path = tmp_path / "history.jsonl"
    waiver = Waiver("tag", "waive", "octocat", "b" * 40, "it is meant", "2025-06-01T12:00:00Z")
    result = run(("tag", arm()))
    append_history(path, replace(result, contracts=(replace(result.contracts[0], waiver=waiver),)))
    assert json.loads(path.read_text())["waiver"]["reason"] == "it is meant"
    assert read_history(path).events["tag"] == (Event(STARTED, 20, 2),)
