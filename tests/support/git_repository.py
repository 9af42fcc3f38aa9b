"""A real git repository for tests, made by the git command, in an environment of its own.

    repository = GitRepository.create(tmp_path / "repo")
    repository.write("prompts/a.md", "Hello {{ name }}")
    base = repository.commit("first")
    repository.branch("pr")
    repository.write("prompts/a.md", "Hi {{ name }}")
    head = repository.commit("change")

Every file the tests need is written as text or bytes; every commit has the same author and
a date that counts up by one second, so that the same steps give the same object names.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

AUTHOR = "Test"
EMAIL = "test@example.invalid"
FIRST_DATE = 1_700_000_000


def isolated_environment() -> dict[str, str]:
    """The environment of a machine whose user has no git configuration at all."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": AUTHOR,
        "GIT_AUTHOR_EMAIL": EMAIL,
        "GIT_COMMITTER_NAME": AUTHOR,
        "GIT_COMMITTER_EMAIL": EMAIL,
        "LC_ALL": "C",
        **_settings({"maintenance.auto": "false", "core.fsync": "none"}),
    }


def _settings(options: dict[str, str]) -> dict[str, str]:
    """Options for every git call, here to save time that tests have no use for."""
    names = {f"GIT_CONFIG_KEY_{index}": name for index, name in enumerate(options)}
    values = {f"GIT_CONFIG_VALUE_{index}": value for index, value in enumerate(options.values())}
    return {"GIT_CONFIG_COUNT": str(len(options)), **names, **values}


@dataclass
class GitRepository:
    """A repository at `path`, on the branch last created or switched to."""

    path: Path
    commits: int = field(default=0)

    @classmethod
    def create(cls, path: Path, *, branch: str = "main", bare: bool = False) -> GitRepository:
        """Initialise a new repository; the folder and its parents are made."""
        folder = path if bare else path / ".git"
        for name, content in _new_repository(branch, bare).items():
            file = folder / name
            if content is None:
                file.mkdir(parents=True, exist_ok=True)
            else:
                file.write_bytes(content)
        return cls(path)

    @classmethod
    def clone(
        cls,
        source: GitRepository | Path,
        path: Path,
        *,
        depth: int | None = None,
        branch: str | None = None,
        bare: bool = False,
    ) -> GitRepository:
        """Clone through a file:// address, for which --depth works as over a network."""
        origin = source.path if isinstance(source, GitRepository) else source
        options = ["--template=", *([f"--depth={depth}"] if depth else [])]
        options += [f"--branch={branch}"] if branch else []
        options += ["--bare"] if bare else []
        path.parent.mkdir(parents=True, exist_ok=True)
        cls(path.parent).git("clone", "--quiet", *options, origin.as_uri(), str(path))
        return cls(path)

    def git(self, *arguments: str, input: bytes | None = None) -> str:  # noqa: A002
        """Run one git command here; its standard output, without the last newline."""
        return self.git_bytes(*arguments, input=input).decode(errors="surrogateescape").rstrip("\n")

    def git_bytes(self, *arguments: str, input: bytes | None = None) -> bytes:  # noqa: A002
        """Run one git command here. Fails the test with git's own words when it fails."""
        date = f"{FIRST_DATE + self.commits} +0000"
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=isolated_environment() | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
            input=input,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            words = done.stderr.decode(errors="replace")
            raise AssertionError(f"git {' '.join(arguments)} ended with {done.returncode}: {words}")
        return done.stdout

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the work tree; text as UTF-8 with its newlines as they are."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def write_all(self, files: dict[str, str | bytes]) -> None:
        """Write several files of the work tree."""
        for name, content in files.items():
            self.write(name, content)

    def delete(self, name: str) -> None:
        """Delete a file of the work tree."""
        (self.path / name).unlink()

    def rename(self, old: str, new: str) -> None:
        """Rename a file of the work tree."""
        target = self.path / new
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.path / old).rename(target)

    def symlink(self, name: str, target: str) -> None:
        """Make a symbolic link in the work tree."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def commit(self, message: str = "change", files: dict[str, str | bytes] | None = None) -> str:
        """Commit everything in the work tree (after writing `files`); the commit's full name."""
        self.write_all(files or {})
        self.git("add", "--all")
        self.commits += 1
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", "-m", message)
        return self.head()

    def propose(
        self, head: dict[str, str | bytes], base: dict[str, str | bytes] | None = None
    ) -> GitRepository:
        """Commit the work tree and `base`, and then `head` on the new branch `pr`."""
        self.commit("base", base)
        self.branch("pr")
        self.commit("head", head)
        return self

    def head(self) -> str:
        """The full name of the commit that is checked out."""
        folder = self.path / ".git"
        head = folder / "HEAD"
        kind, _, name = head.read_text().strip().rpartition(" ") if head.exists() else ("", "", "")
        branch = folder / name
        # A file that git has just written needs no process of git to be read.
        if kind == "ref:" and branch.is_file():
            return branch.read_text().strip()
        return self.git("rev-parse", "HEAD")

    def sha(self, ref: str) -> str:
        """The full name of what a ref points to."""
        return self.git("rev-parse", "--verify", ref)

    def branch(self, name: str, at: str = "HEAD") -> None:
        """Make a branch and switch to it."""
        self.git("switch", "--quiet", "--create", name, at)

    def switch(self, name: str) -> None:
        """Switch to a branch, or detached to a commit."""
        self.git("checkout", "--quiet", name)

    def tag(self, name: str, at: str = "HEAD") -> None:
        """Make an annotated tag."""
        self.git("tag", "-a", "-m", name, name, at)

    def merge(self, name: str, message: str = "merge") -> str:
        """Merge a branch into the current one with a merge commit; its full name."""
        self.commits += 1
        self.git("merge", "--quiet", "--no-ff", "-m", message, name)
        return self.head()

    def config(self, name: str, value: str) -> None:
        """Set an option in the repository's own configuration."""
        self.git("config", name, value)


@cache
def _new_repository(branch: str, bare: bool) -> dict[str, bytes | None]:
    """What `git init` makes: the content of each file, and None for a folder, which is first."""
    with TemporaryDirectory() as folder:
        options = ["--template=", *(["--bare"] if bare else [])]
        made = GitRepository(Path(folder))
        made.git("init", "--quiet", f"--initial-branch={branch}", *options)
        top = made.path if bare else made.path / ".git"
        found = [top, *sorted(top.rglob("*"))]
        return {
            str(path.relative_to(top)): None if path.is_dir() else path.read_bytes()
            for path in found
        }
