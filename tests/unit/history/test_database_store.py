"""A history in SQLite and in a real PostgreSQL: the same from both."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from support.machine_needs import POSTGRESQL
from support.past_runs import STARTED, line, record
from support.postgresql_server import postgresql_server

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.history.stores import open as opening
from gatekeeper.history.stores.open import open_history
from gatekeeper.history.stores.store import HistoryStore, Past


class NoBranches:
    def data_branch(self, name: str) -> Any:
        raise AssertionError("a database needs no branch")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    POSTGRESQL.require()
    with postgresql_server() as address:
        yield address


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "past runs?.sqlite")
    address: str = request.getfixturevalue("server")
    engine = sqlalchemy.create_engine(
        address.replace("://", "+psycopg://"), poolclass=sqlalchemy.NullPool
    )
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS gatekeeper_records")
    return address


def history(location: str) -> HistoryStore:
    return open_history(location, NoBranches())


def rows(location: str) -> list[Any]:
    """What the table holds, by a connection of our own."""
    url = sqlalchemy.make_url(location) if "://" in location else None
    made = (
        url.set(drivername="postgresql+psycopg")
        if url
        else sqlalchemy.URL.create("sqlite", database=location)
    )
    engine = sqlalchemy.create_engine(made, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        return list(connection.exec_driver_sql("SELECT id, contract FROM gatekeeper_records"))


def change(location: str, id: str, new: str) -> None:  # noqa: A002
    url = sqlalchemy.URL.create("sqlite", database=location)
    if "://" in location:
        url = sqlalchemy.make_url(location).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.execute(
            sqlalchemy.text("UPDATE gatekeeper_records SET line = :line WHERE id = :id"),
            {"line": new, "id": id},
        )


def test_what_was_written_is_read_the_oldest_first(location: str) -> None:
    first = record(time=STARTED, checks={"says ok": (20, 2)}, interval=None)
    second = record(time=STARTED + timedelta(days=1), cost_usd=0.25)
    store = history(location)
    assert store.append([second]) == 1
    assert store.append([first]) == 1
    assert history(location).read() == Past((first, second))


def test_nothing_is_made_by_reading(location: str) -> None:
    read = history(location).read()
    records, (notice,) = read.records, read.notices
    assert records == ()
    assert "no history yet" in notice
    with pytest.raises(sqlalchemy.exc.SQLAlchemyError):
        rows(location)
    assert history(location).append([]) == 0


def test_what_is_there_is_not_added_again(location: str) -> None:
    first, second = record(), record()
    store = history(location)
    assert store.append([first]) == 1
    assert store.append([first, second, second]) == 1
    assert store.append([first, second]) == 0
    assert len(rows(location)) == 2


def test_any_text_is_kept(location: str) -> None:
    made = record(contract="naïve 🎈 \0 '; DROP TABLE gatekeeper_records; --")
    history(location).append([made])
    assert history(location).read().records == (made,)
    assert len(rows(location)) == 1


def test_eight_writers_at_once_lose_and_double_nothing(location: str) -> None:
    """The first of them make the table."""
    shared = [record(f"shared-{turn}") for turn in range(5)]
    wrong: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for turn in range(5):
                history(location).append([record(f"{writer}-{turn}"), shared[turn]])
        except BaseException as error:
            wrong.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert wrong == []
    assert len(rows(location)) == 45
    assert len(history(location).read().records) == 45


def test_a_run_is_added_whole_or_not_at_all(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gatekeeper.history.stores import database_store as database

    store = history(location)
    store.append([record("old")])
    plain, seen = database._plain, []

    def failing(text: str) -> Any:
        seen.append(text)
        return plain(text) if len(seen) == 1 else object()

    monkeypatch.setattr(database, "_plain", failing)
    made = [record("a"), record("b")]
    with pytest.raises(MeasurementError, match="could not be written"):
        store.append(made)
    monkeypatch.undo()
    assert [row.id for row in rows(location)] == ["old"]
    assert store.append(made) == 2


def test_damaged_rows_are_named_and_the_rest_counts(location: str) -> None:
    store = history(location)
    sound, cut, newer = record("sound"), record("cut"), record("newer")
    store.append([sound, cut, newer])
    change(location, "cut", "{")
    change(location, "newer", line(schema=2))
    read = store.read()
    records, notices = read.records, read.notices
    assert records == (sound,)
    assert len(notices) == 2
    assert any("cut:1: the line is not a JSON record" in notice for notice in notices)
    assert any("newer version of gatekeeper" in notice for notice in notices)


# --- SQLite ----------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "past.db"
    path.write_text("no database, but long enough to be looked at as one" * 100)
    read = history(str(path)).read()
    records, (notice,) = read.records, read.notices
    assert records == ()
    assert "cannot be read" in notice
    with pytest.raises(MeasurementError, match="not a database"):
        history(str(path)).append([record()])


def test_a_cell_of_another_type_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "past.db")
    history(path).append([record("1")])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE gatekeeper_records SET line = x'00ff'")
    connection.close()
    read = history(path).read()
    records, (notice,) = read.records, read.notices
    assert records == ()
    assert "not a JSON record" in notice


def test_a_table_of_another_shape_is_said(tmp_path: Path) -> None:
    path = str(tmp_path / "past.db")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE gatekeeper_records (x)")
    connection.close()
    assert "cannot be read" in history(path).read().notices[0]
    with pytest.raises(MeasurementError):
        history(path).append([record()])


def test_a_view_is_not_read_because_its_rows_may_never_end(tmp_path: Path) -> None:
    path = str(tmp_path / "past.db")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE VIEW gatekeeper_records AS SELECT 'a' id, 1 time, 'c' contract, 'x' line"
        )
    connection.close()
    read = history(path).read()
    assert read.records == ()
    assert read.missing == path
    with pytest.raises(MeasurementError):
        history(path).append([record()])


def test_a_writer_waits_for_another(tmp_path: Path) -> None:
    path = str(tmp_path / "past.db")
    history(path).append([record()])
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    release.start()
    assert history(path).append([record()]) == 1
    release.join()
    other.close()


# --- PostgreSQL ------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    store = history("postgresql://gate:hunter2@127.0.0.1:1/past")
    read = store.read()
    records, (notice,) = read.records, read.notices
    assert records == ()
    assert "postgresql://gate:***@127.0.0.1:1/past: the history cannot be read" in notice
    with pytest.raises(MeasurementError) as caught:
        store.append([record()])
    assert "hunter2" not in notice + str(caught.value)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(UsageError, match="not an address") as caught:
        history("postgresql://gate:hunter2@host:port/past")
    assert "hunter2" not in str(caught.value)


def test_without_the_driver_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"gatekeeper\[postgres\]"):
        history("postgresql://gate@db/past")
