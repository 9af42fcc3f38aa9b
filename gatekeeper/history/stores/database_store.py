"""A history in a database: SQLite in a file of this machine, or PostgreSQL for a team.

It uses one table, `gatekeeper_records`, created with the first record. Each row holds the record's
line of JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import (
    URL,
    Column,
    DateTime,
    MetaData,
    NullPool,
    String,
    Table,
    Text,
    create_engine,
    inspect,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable

from gatekeeper.errors import MeasurementError
from gatekeeper.history.record import Record
from gatekeeper.history.stores.lines import read_past, to_lines
from gatekeeper.history.stores.store import Past

if TYPE_CHECKING:
    from sqlalchemy import Connection

PATIENCE_SECONDS = 30
"""How long to wait for another writer, or for a server that does not answer."""

_RECORDS = Table(
    "gatekeeper_records",
    MetaData(),
    Column("id", String, primary_key=True),
    Column("time", DateTime(timezone=True), nullable=False),
    Column("contract", Text, nullable=False),
    Column("line", Text, nullable=False),
)
# pg_advisory_xact_lock's number, a random one: CREATE TABLE IF NOT EXISTS by two at once fails.
_LOCK = 7_246_015_377


class DatabaseHistory:
    """Implements `HistoryStore`. `name` is the name in notices, without a password."""

    def __init__(self, url: URL, name: str) -> None:
        self._name = name
        wait = "timeout" if url.get_backend_name() == "sqlite" else "connect_timeout"
        self._engine = create_engine(
            url, poolclass=NullPool, connect_args={wait: PATIENCE_SECONDS}, hide_parameters=True
        )

    def read(self) -> Past:
        try:
            with self._engine.connect() as connection:
                # A view in a file of a change could have rows without end.
                if not _has_records(connection):
                    return Past(missing=self._name)
                ordered = select(_RECORDS.c.id, _RECORDS.c.line).order_by(_RECORDS.c.time)
                rows = connection.execute(ordered).all()
        except SQLAlchemyError as error:
            text = f"{self._name}: the history cannot be read ({_words(error)})"
            return Past(faults=(text,), unread=True)
        return read_past((f"{self._name}:{row.id}", _bytes(row.line)) for row in rows)

    def append(self, records: Sequence[Record]) -> int:
        """Add all records or none, in one transaction."""
        if not records:
            return 0
        rows = [
            {
                "id": record.id,
                "time": record.time,
                "contract": _plain(record.contract),
                "line": to_lines([record]).decode().rstrip(),
            }
            for record in records
        ]
        try:
            with self._engine.begin() as connection:
                return _insert(connection, rows)
        except SQLAlchemyError as error:
            raise MeasurementError(
                f"{self._name}: the history could not be written ({_words(error)})"
            ) from error


def _has_records(connection: Connection) -> bool:
    found = inspect(connection)
    if connection.dialect.name == "sqlite":
        return _RECORDS.name in found.get_table_names()
    return found.has_table(_RECORDS.name)


def _insert(connection: Connection, rows: Sequence[dict[str, object]]) -> int:
    if connection.dialect.name == "sqlite":
        # The write lock first: a reader that turns writer is refused instead of waiting.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        insert = sqlite.insert(_RECORDS).on_conflict_do_nothing().returning(_RECORDS.c.id)
    else:
        if not inspect(connection).has_table(_RECORDS.name):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        insert = postgresql.insert(_RECORDS).on_conflict_do_nothing().returning(_RECORDS.c.id)
    connection.execute(CreateTable(_RECORDS, if_not_exists=True))
    return sum(len(connection.execute(insert, row).all()) for row in rows)


def _plain(text: str) -> str:
    """Return text that PostgreSQL accepts: without NUL and without half surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _bytes(value: object) -> bytes:
    """Return the bytes of a column, in which SQLite keeps any value."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else b"\xff"


def _words(error: SQLAlchemyError) -> str:
    """Return the database's own message, without the statement."""
    own = getattr(error, "orig", None) or error
    return " ".join(str(own).split())
