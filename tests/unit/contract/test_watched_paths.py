"""What has taken the place of a prompt that the base branch watches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, contract, revision

from gatekeeper.contract.changes.affected import AffectedContract, find_affected
from gatekeeper.contract.changes.prompt_moves import WatchedPaths
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, Entry, EntryKind, MemoryRevision

COPY = {
    "contracts/a.yaml": contract("a", "../copies/a.md"),
    "copies/a.md": edited(FILES["prompts/a.md"], "part", "/prompts/part"),
}


class Linked(MemoryRevision):
    """A revision with links and submodules beside its files."""

    links: dict[str, EntryKind]

    @property
    def entries(self):  # type: ignore[override]
        files = {path: Entry(str(hash(content))) for path, content in self.files.items()}
        return files | {path: Entry("1", kind) for path, kind in self.links.items()}


def linked(files: dict[str, str], links: dict[str, EntryKind]) -> Linked:
    made = Linked({path: text.encode() for path, text in files.items()})
    object.__setattr__(made, "links", links)
    return made


def after(
    changes: dict[str, str | None],
    links: dict[str, EntryKind],
    renames: dict[str, str] | None = None,
) -> tuple[AffectedContract, ...]:
    head = {path: text for path, text in {**FILES, **changes}.items() if text is not None}
    change = Change(linked(FILES, {}), linked(head, links), renames or {})
    return find_affected(change, Policy(), SHAPES).contracts


def entries(files: list[str], links: dict[str, EntryKind]) -> dict[str, Entry]:
    return {path: Entry(path) for path in files} | {
        path: Entry(path, kind) for path, kind in links.items()
    }


@pytest.mark.parametrize(
    ("files", "links", "found"),
    [
        (["a/b.md"], {}, None),
        (["c.md"], {}, None),
        (["a"], {}, None),
        (["a/c.md"], {}, None),
        (["a/b.mdx"], {}, None),
        (["a/b.md"], {"A": "symlink"}, None),
        ([], {"a/b.md": "symlink"}, "now a symbolic link"),
        ([], {"a/b.md": "submodule"}, "now a submodule"),
        ([], {"a": "submodule"}, "reached through `a`, now a submodule"),
        ([], {"A": "symlink"}, "reached through `A`, now a symbolic link"),
        ([], {"a/B.md": "symlink"}, "now a symbolic link"),
        (["a/b.md/c"], {}, "now a folder"),
        (["A/B.md/c/d"], {}, "now a folder"),
        (["a/B.md"], {}, "now `a/B.md`, which differs only in upper and lower case"),
    ],
)
def test_what_is_found_at_a_path(files, links, found):
    assert WatchedPaths(entries(files, links)).replacement("a/b.md") == found


def test_the_form_of_an_accent_is_no_other_path():
    composed, split = "caf\u00e9/b.md", "cafe\u0301"
    assert WatchedPaths(entries([], {split: "symlink"})).replacement(composed) is not None


def test_a_file_that_is_watched_under_its_own_name_replaces_nothing():
    paths = WatchedPaths(entries(["a/B.md", "A/b.md"], {}))
    assert paths.replacement("a/b.md", known="a/B.md") is not None
    assert WatchedPaths(entries(["a/B.md"], {})).replacement("a/b.md", known="a/B.md") is None


@given(
    st.lists(st.sampled_from("abAB"), min_size=1, max_size=4),
    st.sampled_from(["symlink", "submodule"]),
    st.data(),
)
def test_a_link_at_any_parent_is_found(parts, kind, data):
    path = "/".join(parts)
    length = data.draw(st.integers(1, len(parts)))
    assert WatchedPaths(entries([], {"/".join(parts[:length]): kind})).replacement(path)


@pytest.mark.parametrize("renames", [{}, {"prompts/a.md": "copies/a.md"}])
@pytest.mark.parametrize(
    "links",
    [
        {"prompts/a.md": "symlink"},
        {"prompts/a.md": "submodule"},
        {"prompts/A.md": "symlink"},
    ],
)
def test_a_prompt_that_becomes_a_link_is_left_behind(links, renames):
    (result,) = after({**COPY, "prompts/a.md": None}, links, renames)
    assert result.left_prompt == "prompts/a.md"
    assert result.left_as is not None


def test_a_removed_contract_whose_prompts_are_a_submodule_now_is_not_gone_with_them():
    gone = dict.fromkeys(("prompts/a.md", "prompts/b.md", "prompts/part.md", "contracts/a.yaml"))
    moved = {"contracts/deep/b.yaml": None}
    found = after({**gone, **moved}, {"prompts": "submodule"})
    assert [result.prompt_still_there for result in found] == [True, True]


def test_a_base_contract_that_does_not_load_leaves_its_prompt_too():
    base = linked({**FILES, "contracts/a.yaml": contract("a", extra="oops: 1\n")}, {})
    head = linked({**FILES, **COPY}, {})
    (result,) = find_affected(Change(base, head), Policy(), SHAPES).contracts
    assert (result.base, result.left_prompt, result.left_as) == (None, "prompts/a.md", None)
    misspelt = revision({**FILES, "contracts/a.yaml": contract("a", "../prompts/no.md")})
    (result,) = find_affected(Change(misspelt, revision(FILES)), Policy(), SHAPES).contracts
    assert result.left_prompt is None


def test_a_prompt_that_only_moves_or_changes_its_letter_case_is_not_left_behind():
    moved = {
        "prompts/a.md": None,
        "prompts/A.md": FILES["prompts/a.md"],
        "contracts/a.yaml": contract("a", "../prompts/A.md", extra="params: {seed: 1}\n"),
    }
    for renames in ({}, {"prompts/a.md": "prompts/A.md"}):
        (result,) = after(moved, {}, renames)
        assert result.left_prompt is None
    (result,) = after({**COPY, "prompts/a.md": None}, {"other": "symlink"}, {})
    assert result.left_prompt is None
