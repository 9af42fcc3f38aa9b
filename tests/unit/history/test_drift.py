"""The past of a contract: which runs are compared, and what is said of them."""

from __future__ import annotations

import json
from datetime import timedelta

import jsonschema
import pytest
from support.nightly_records import FIRST, night, nights

from gatekeeper.history.drift import drifts, stretch
from gatekeeper.reports.described.drift import (
    describe_drifts,
    drift_document,
    drift_issue,
    drift_news,
    status_text,
)
from gatekeeper.reports.terminal.console import print_blocks

DROPPED = nights(20) + nights(12, rate=0.4, start=20)


def test_a_model_that_drops_is_found_and_dated():
    (found,) = drifts(DROPPED)
    assert found.status == "drifted"
    assert found.change is not None
    assert found.change.direction == "worse"
    assert abs(found.change.since - (FIRST + timedelta(days=20))) <= timedelta(days=2)
    assert found.change.size.value == pytest.approx(-0.5, abs=0.12)
    assert found.e_value >= 100


def test_a_model_that_stays_is_steady():
    assert drifts(nights(40))[0].status == "steady"


@pytest.mark.parametrize("count", [1, 3, 7])
def test_until_the_usual_range_is_known_it_is_being_learned(count):
    """A fall of 30 points in the first nights was called steady."""
    records = nights(40, rate=0.95)[: count // 2] + nights(8, rate=0.65, start=count // 2)
    (found,) = drifts(records[:count])
    assert (found.status, found.measured) == ("learning", count)
    assert status_text(found) == f"learning, {count} of 8 nights measured"
    assert drifts(records[:8])[0].status != "learning"


def test_nights_without_a_measurement_teach_nothing():
    records = nights(6) + [night(n, {}) for n in range(6, 12)]
    (found,) = drifts(records)
    assert (found.status, found.nights, found.measured) == ("learning", 12, 6)


def test_a_night_outside_of_the_usual_range_stays_told():
    records = nights(30, rate=0.95) + nights(1, rate=0.4, start=30)
    later = records + nights(12, rate=0.95, start=31)
    (found,) = drifts(later)
    assert found.status == "steady"
    assert FIRST + timedelta(days=30) in found.outside
    assert "outside" in status_text(found)
    (contract,) = drift_document([found], [])["contracts"]
    flags = [point and point["outside"] for point in contract["chart"]]
    assert flags.count(True) == len(contract["outside"]) == len(found.outside)
    assert flags[30] is True
    assert status_text(drifts(nights(40))[0]) == "steady"


def test_a_sudden_night_is_one_to_watch():
    found = drifts([*nights(30, rate=0.95), *nights(1, rate=0.0, start=30)])[0]
    assert (found.status, found.change) == ("watch", None)


@pytest.mark.parametrize("after", [3, 10, 20, 26])
def test_a_fall_while_the_usual_range_was_learned_is_never_called_steady(after):
    records = nights(5, rate=0.95) + nights(after, rate=0.65, start=5)
    (found,) = drifts(records)
    assert found.status in ("watch", "drifted")
    if found.status == "watch":
        assert found.watch_reason in ("first_nights", "evidence", "tonight")
        assert status_text(found).startswith("watch: ")
        (contract,) = drift_document([found], [])["contracts"]
        assert contract["watch_reason"] == found.watch_reason


def test_evidence_that_is_not_sure_is_watched():
    records = nights(5, rate=0.95) + nights(30, rate=0.65, start=5)
    (found,) = drifts(records)
    assert 20 <= found.e_value < 100
    assert (found.status, found.watch_reason) == ("watch", "evidence")


@pytest.mark.parametrize(
    "changed", [{"prompt_digest": "p2"}, {"contract_digest": "c2"}, {"model": "openai/gpt-4o"}]
)
def test_what_somebody_changed_is_no_drift(changed):
    records = nights(20) + nights(12, rate=0.4, start=20, **changed)
    assert len(stretch(records)) == 12
    (found,) = drifts(records)
    assert (found.nights, found.change) == (12, None)
    assert found.first == FIRST + timedelta(days=20)


def test_order_in_the_history_does_not_matter():
    assert drifts(list(reversed(DROPPED)))[0].change == drifts(DROPPED)[0].change


def test_a_sure_change_keeps_its_name_while_nights_go_by():
    names = {
        found.change.id
        for n in range(26, len(DROPPED) + 1)
        if (found := drifts(DROPPED[:n])[0]).change
    }
    assert len(names) == 1


def test_contracts_are_told_apart_and_can_be_asked_for_by_name():
    records = DROPPED + nights(20, contract="others")
    assert [found.contract for found in drifts(records)] == ["others", "words"]
    assert [found.contract for found in drifts(records, ["words"])] == ["words"]
    assert drifts([]) == ()


def test_fixtures_that_were_not_measured_every_night_are_taken_as_such():
    records = nights(10, fixtures=30) + nights(10, fixtures=20, start=10)
    assert drifts(records)[0].status == "steady"


def test_a_new_fingerprint_is_marked():
    records = nights(5, fingerprints=("fp_1",)) + nights(5, start=5, fingerprints=("fp_2",))
    (found,) = drifts(records)
    assert found.new_models == (FIRST + timedelta(days=5),)


def test_what_is_sure_is_news_with_its_size_and_the_model_that_came():
    records = nights(20, fingerprints=("a",)) + nights(12, rate=0.4, start=20, fingerprints=("b",))
    (news,) = drift_news(drifts(records))
    assert (news.kind, news.contract) == ("drift", "words")
    assert "openai/gpt-4o-mini answers worse since 2026-01-" in news.text
    assert "points" in news.text
    assert "A new version of the model answered from 2026-01-21 on." in news.text
    assert drift_news(drifts(nights(20))) == ()


def test_the_issue_says_what_drifted_and_what_to_do():
    found = drifts(DROPPED + nights(20, contract="others"))
    assert drift_issue(found).title == "Model drift: words"
    body = drift_issue(found).body
    assert "| `words` | `openai/gpt-4o-mini` | 2026-01-2" in body
    assert "others" not in body
    assert "What to do" in body


def test_the_issue_says_when_it_is_over():
    found = drifts(nights(20))
    assert drift_issue(found).title == "Model drift: over"
    assert "No contract drifts now" in drift_issue(found).body


def test_many_are_counted_and_hostile_names_stay_text():
    records = DROPPED + [
        night(n, {f"f{i}": int(n >= 20) for i in range(30)}, contract="a|b\n@everyone")
        for n in range(32)
    ]
    found = drifts(records)
    assert drift_issue(found).title.endswith(" and 1 more")
    rows = [line for line in drift_issue(found).body.splitlines() if "everyone" in line]
    assert len(rows) == 1
    assert "@everyone" not in rows[0].replace("`", "")


def test_the_document_holds_the_whole_series():
    document = drift_document(drifts(DROPPED), ["a notice"])
    (contract,) = json.loads(json.dumps(document, allow_nan=False))["contracts"]
    assert contract["status"] == "drifted"
    assert len(contract["rates"]) == len(contract["chart"]) == contract["runs"] == 32
    assert contract["change"]["interval"][0] < contract["change"]["difference"]
    assert document["notices"] == ["a notice"]
    jsonschema.validate(contract["change"]["since"], {"type": "string", "format": "date-time"})


def test_the_terminal_shows_each_contract_and_what_is_sure(capsys):
    found = drifts(DROPPED + nights(2, contract="others"))
    print_blocks(describe_drifts(found, ["one line was left out"]))
    shown = capsys.readouterr().out
    assert "learning, 2 of 8 nights" in shown
    assert "words: openai/gpt-4o-mini answers worse" in shown
    assert "one line was left out" in shown
    print_blocks(describe_drifts(()))
    assert "no run to check for drift" in capsys.readouterr().out
