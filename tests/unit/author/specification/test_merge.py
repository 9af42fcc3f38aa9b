"""What a person edited or removed wins over what is generated."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.specification.merge import content_digest, merge_items, merge_text
from gatekeeper.author.specification.spec_file import InputConstraint

IDS = st.sampled_from("abcdef")
ITEMS = st.lists(
    st.builds(InputConstraint, IDS, st.sampled_from(("one", "two"))),
    unique_by=lambda item: item.id,
)
EDIT = st.sampled_from(("leave", "edit", "remove"))


@given(ITEMS, st.lists(EDIT, min_size=6, max_size=6), ITEMS)
def test_edits_stay_and_removed_items_stay_away(first, edits, second):
    before = merge_items({}, (), first)
    person = []
    chosen = dict(zip("abcdef", edits, strict=True))
    for item in before.items:
        edit = chosen[item.id]
        if edit != "remove":
            person.append(replace(item, text="by hand") if edit == "edit" else item)
    after = merge_items(before.made, person, second)
    by_id = {item.id: item for item in after.items}
    assert len(by_id) == len(after.items)
    for item in before.items:
        match chosen[item.id]:
            case "edit":
                assert by_id[item.id].text == "by hand"
            case "remove":
                assert item.id not in by_id
            case _:
                new = next((other for other in second if other.id == item.id), None)
                assert by_id.get(item.id) == new
    # The same answers change nothing any more.
    again = merge_items(after.made, after.items, second)
    assert (again.items, again.made) == (after.items, after.made)


@given(ITEMS, ITEMS)
def test_what_is_retired_can_come_back(first, second):
    once = merge_items({}, (), first)
    then = merge_items(once.made, once.items, second)
    back = merge_items(then.made, then.items, first)
    assert back.items == tuple(first)
    assert set(then.retired) == {i.id for i in first} - {i.id for i in second}


def test_an_item_of_a_person_stays_even_if_its_id_is_generated_later():
    own = InputConstraint("a", "mine")
    found = merge_items({}, (own,), (InputConstraint("a", "new"), InputConstraint("a", "twice")))
    assert found.items == (own,)
    assert found.kept == ("a",)


def test_a_text_that_a_person_wrote_stays():
    _, made = merge_text(None, "", "first")
    assert merge_text(made, "first", "second") == ("second", content_digest("second"))
    assert merge_text(made, "mine", "second") == ("mine", made)
    assert merge_text(None, "mine", "second")[0] == "mine"
