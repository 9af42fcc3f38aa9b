"""All files or none."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from support import results as examples

from gatekeeper.errors import UsageError, WriteError
from gatekeeper.reports import write
from gatekeeper.reports.formats import Format
from gatekeeper.reports.write import (
    forget_reports,
    require_formats,
    require_writable,
    write_files,
    write_reports,
)

NAMES = [  # those that docs/reports.md promises of every run
    "comment.md",
    "fixtures.csv",
    "junit.xml",
    "report.html",
    "result.json",
    "samples.csv",
    "samples.jsonl",
    "summary.md",
]
ASKED = {
    "badge": ["badge.json"],
    "parquet": ["fixtures.parquet", "samples.parquet"],
    "prometheus": ["metrics.prom"],
    "codequality": ["gl-code-quality-report.json"],
    "sarif": ["gatekeeper.sarif"],
}


def test_the_folder_is_made_and_filled(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    files = write_reports(replace(examples.FAIL, outcomes=(examples.outcome(),)), out)
    assert sorted(files) == NAMES
    assert sorted(path.name for path in out.iterdir()) == NAMES
    assert json.loads(files["result.json"].read_text("utf-8"))["verdict"] == "fail"
    assert files["comment.md"].read_text("utf-8").startswith("<!-- gatekeeper:gatekeeper -->\n")
    assert files["samples.jsonl"].read_text("utf-8").count("\n") == 1
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in files.values())


def test_a_second_run_replaces_the_first(tmp_path: Path) -> None:
    write_reports(examples.FAIL, tmp_path)
    files = write_reports(examples.PASS, tmp_path)
    assert json.loads(files["result.json"].read_text("utf-8"))["verdict"] == "pass"
    assert len(list(tmp_path.iterdir())) == len(NAMES)


def test_a_report_that_cannot_be_made_leaves_the_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_reports(examples.FAIL, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(_: object) -> str:
        raise ValueError("cannot be rendered")

    monkeypatch.setitem(write._FORMATS, "samples.jsonl", broken)
    with pytest.raises(ValueError, match="cannot be rendered"):
        write_reports(examples.PASS, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_disk_that_fills_up_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.replace

    def full(self: Path, target: os.PathLike[str]) -> Path:
        if "junit" in Path(target).name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, target)

    write_reports(examples.FAIL, tmp_path)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(WriteError, match=r"junit\.xml.*[Nn]o space left"):
        write_reports(examples.PASS, tmp_path)
    # What is left is whole, but of two runs: so the file that says "complete" is gone.
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [name for name in NAMES if name != "result.json"]


@pytest.mark.parametrize("name", ["", "a", "a/b/c"])
def test_whether_reports_can_be_written_is_tried_without_a_trace(tmp_path: Path, name: str) -> None:
    require_writable(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_which_no_file_can_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(WriteError, match=r"out: cannot be .*make the file system writable"):
        require_writable(tmp_path / "out")


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("here first")
    with pytest.raises(WriteError, match=r"out: .*\(File exists\)"):
        write_reports(examples.PASS, tmp_path / "out")


def test_half_a_surrogate_pair_is_written(tmp_path: Path) -> None:
    contract = replace(
        examples.failing_contract(), fixtures=(examples.fixture(0, "broke", head_output="\ud800"),)
    )
    result = replace(examples.result(contract), outcomes=(examples.outcome(text="\ud800"),))
    files = write_reports(result, tmp_path)
    assert "⟨U+D800⟩" in files["comment.md"].read_text("utf-8")
    sample = json.loads(files["samples.jsonl"].read_text("utf-8"))
    assert sample["output_raw"] == "\ud800"


@pytest.mark.parametrize("name", get_args(Format))
def test_a_format_is_written_where_it_is_asked_for(tmp_path: Path, name: Format) -> None:
    result = replace(examples.FAIL, outcomes=(examples.outcome(),))
    files = write_reports(result, tmp_path, [name])
    assert sorted(files) == sorted([*NAMES, *ASKED[name]])
    assert all(path.read_bytes() for path in files.values())
    write_reports(result, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
    write_reports(result, tmp_path, [name])
    forget_reports(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_format_that_cannot_be_written_is_refused_beforehand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    require_formats(get_args(Format))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    require_formats(["badge", "prometheus", "sarif"])
    with pytest.raises(UsageError, match="pyarrow"):
        require_formats(["sarif", "parquet"])


@pytest.mark.parametrize("name", ["result.json", "comment.md"])
def test_a_folder_in_the_place_of_a_report_is_named_and_nothing_is_written(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(WriteError, match=name):
        write_reports(examples.PASS, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_a_file_that_cannot_be_made_is_named_by_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/temporary/name")

    write_reports(examples.PASS, tmp_path)
    before = (tmp_path / "result.json").read_bytes()
    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(WriteError, match=r"comment\.md") as raised:
        write_reports(examples.FAIL, tmp_path)
    assert raised.value.exit_code == 3
    assert "/temporary/name" not in str(raised.value)
    assert (tmp_path / "result.json").read_bytes() == before


def test_links_in_the_folder_are_replaced_and_not_followed(tmp_path: Path) -> None:
    """The checkout may hold them; what they lead to is not the gate's."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / ".gatekeeper/out"
    out.mkdir(parents=True)
    for link in (out.parent / ".gitignore", out / "result.json", out / "comment.md"):
        link.symlink_to(victim)
    write_reports(examples.PASS, out)
    assert victim.read_text() == "mine"
    assert (out.parent / ".gitignore").read_text() == "*\n"
    assert not (out / "result.json").is_symlink()


@pytest.mark.parametrize("link", [".gatekeeper", ".gatekeeper/check"])
def test_a_link_in_the_place_of_the_own_folder_is_not_followed(tmp_path: Path, link: str) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "check").mkdir(parents=True)
    for path in (".gitignore", "check/.gitignore", "result.json", "check/result.json"):
        (theirs / path).write_text("theirs")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(theirs)
    out = tmp_path / ".gatekeeper/check"
    steps: list[Callable[[], object]] = [
        lambda: require_writable(out),
        lambda: forget_reports(out),
        lambda: write_files({"result.json": lambda: "ours"}, out),
    ]
    for step in steps:
        with pytest.raises(WriteError, match="symbolic link"):
            step()
    texts = {path.read_text() for path in theirs.rglob("*") if path.is_file()}
    assert texts == {"theirs"}


def test_a_folder_in_the_place_of_gitignore_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gatekeeper/.gitignore").mkdir(parents=True)
    write_reports(examples.PASS, tmp_path / ".gatekeeper/out")
    assert (tmp_path / ".gatekeeper/out/result.json").is_file()
    left = [path.name for path in (tmp_path / ".gatekeeper").iterdir()]
    assert sorted(left) == [".gitignore", "out"]


def test_what_cannot_be_removed_is_left(tmp_path: Path) -> None:
    (tmp_path / "result.json").mkdir()
    (tmp_path / "comment.md").write_text("old")
    forget_reports(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    forget_reports(tmp_path / ("x" * 300))


def test_reports_that_nobody_asked_for_are_not_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from support import results;"
        "from gatekeeper.reports.write import write_reports;"
        "write_reports(results.PASS, Path(sys.argv[1]), ['badge']);"
        "print(*sorted(n.rpartition('.')[2] for n in sys.modules if '.reports.formats.' in n))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(ran.stdout.split())
    assert {"badge", "junit", "result_json", "samples"} <= imported
    assert imported.isdisjoint({"code_quality", "prometheus", "sarif"})


@pytest.mark.parametrize(
    "out",
    [".git", ".GIT/out", ".git/hooks/a", "a/.Git", ".g\u200cit", ".git./x", "GIT~1", "link/x"],
)
def test_nothing_is_written_into_the_folder_of_git(tmp_path: Path, out: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    for write_it in (
        lambda: write_files({"a": lambda: "x"}, tmp_path / out),
        lambda: require_writable(tmp_path / out),
        lambda: forget_reports(tmp_path / out),
    ):
        with pytest.raises(WriteError, match="belongs to git"):
            write_it()
    assert [path.name for path in tmp_path.rglob("*")] == [".git", "link"]


@pytest.mark.parametrize("out", ["public", "public/new", "deep/public/new/folder"])
def test_no_link_of_a_repository_is_followed(tmp_path: Path, out: str) -> None:
    """A pull request can commit it."""
    repository, theirs = tmp_path / "repository", tmp_path / "theirs"
    for folder in (repository / ".git", repository / "deep", theirs):
        folder.mkdir(parents=True)
    (repository / "public").symlink_to(theirs)
    (repository / "deep/public").symlink_to(theirs)
    for write_it in (write_files, lambda _, place: require_writable(place)):
        with pytest.raises(WriteError, match="symbolic link"):
            write_it({"a": lambda: "x"}, repository / out)
    assert not [*theirs.iterdir()]


def test_a_link_above_the_repository_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real/.git").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    write_files({"a": lambda: "x"}, tmp_path / "alias/out")
    assert (tmp_path / "real/out/a").read_text("utf-8") == "x"
