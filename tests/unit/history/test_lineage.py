"""A renamed contract keeps its past: what its records are called in the end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.history.lineage import commits_of_the_gone, follow_renames, with_groups_of
from gatekeeper.history.record import Record
from gatekeeper.history.stores.lines import read_past, to_lines

START = datetime(2025, 6, 1, tzinfo=UTC)


def record(day: int, contract: str, was: str | None = None, sha: str = "") -> Record:
    return Record(
        id=f"{contract}-{day}",
        time=START + timedelta(days=day),
        trigger="schedule",
        sha=sha or f"{day:040x}",
        contract=contract,
        model="m",
        version="1",
        samples=10,
        failed=1,
        interval=None,
        calls=10,
        failed_calls=0,
        was=was,
    )


def names(*records: Record) -> list[str]:
    return [found.contract for found in follow_renames(records)]


def test_without_a_rename_nothing_changes():
    records = (record(0, "a"), record(1, "b"))
    assert follow_renames(records) == records


def test_the_past_goes_on_under_the_new_name():
    assert names(record(0, "a"), record(1, "b", "a"), record(2, "b")) == ["b", "b", "b"]


def test_names_are_followed_over_several_steps():
    assert names(record(0, "a"), record(1, "b", "a"), record(2, "c", "b")) == ["c", "c", "c"]


def test_another_contract_that_takes_the_name_later_has_its_own_past():
    found = names(record(0, "a"), record(1, "b", "a"), record(2, "a"), record(3, "b"))
    assert found == ["b", "b", "a", "b"]


def test_two_contracts_that_change_their_names_keep_their_own_pasts():
    found = names(record(0, "a"), record(0, "b"), record(1, "c", "a"), record(2, "a", "b"))
    assert found == ["c", "a", "c", "a"]


def test_a_name_that_is_taken_back_is_the_same_contract():
    assert names(record(0, "a"), record(1, "b", "a"), record(2, "a", "b")) == ["a", "a", "a"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, *"abc"])), max_size=8))
def test_no_record_is_lost_or_counted_twice(rows):
    records = [record(day, name, was) for day, (name, was) in enumerate(rows)]
    found = follow_renames(records)
    assert [r.id for r in found] == [r.id for r in records]
    if records:
        assert found[-1].contract == records[-1].contract


def test_every_store_reads_it_so():
    lines = to_lines([record(0, "a"), record(1, "b", "a")])
    assert [r.contract for r in read_past([("file", lines)]).records] == ["b", "b"]


def test_only_a_contract_without_a_past_can_be_the_new_name_of_another():
    records = (record(0, "gone", sha="1" * 40), record(1, "kept"), record(2, "kept.tone"))
    assert commits_of_the_gone(records, {"kept"}) == ()
    assert commits_of_the_gone(records, {"kept", "new"}) == ("1" * 40,)
    assert commits_of_the_gone(records[1:], {"kept", "new"}) == ()


def test_groups_are_renamed_with_their_contract():
    records = (record(0, "a"), record(0, "a.tone"), record(0, "about"))
    assert with_groups_of({"b": "a"}, records) == {"b": "a", "b.tone": "a.tone"}
