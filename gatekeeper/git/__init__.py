"""The repository as values: two revisions and the renames between them.

Everything is read from git objects. Nothing is checked out, and no file, ref or option of the
repository is written (fetching adds objects only).
"""

from gatekeeper.git.repository import NoRepositoryError, Repository

__all__ = ["NoRepositoryError", "Repository"]
