"""The repository as values: two revisions and what was renamed between them.

Everything is read from git objects; nothing is checked out, and no file, ref or option of
the repository is written (fetching adds objects, and only those).
"""

from gatekeeper.git.repository import NoRepositoryError, Repository

__all__ = ["NoRepositoryError", "Repository"]
