"""Messages that really arrive, and what is said where they cannot."""

from __future__ import annotations

import email
import gzip
import logging
import sys
from dataclasses import replace
from email import policy
from typing import Any

import pytest
from support.message_servers import EndlessServer, MailServer, Webhook

from gatekeeper.cli.main import main
from gatekeeper.reports import notifications
from gatekeeper.reports.notifications import send
from gatekeeper.sandbox.process import LimitedProcess

# apprise imports this module of Python's own while it may.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.mark.long
def test_a_webhook_gets_title_and_body() -> None:
    with Webhook() as webhook:
        said = send([f"json://127.0.0.1:{webhook.port}/hook"], "octo/prompts", "it got worse")
    assert said == ()
    (message,) = webhook.received
    assert (message["title"], message["message"]) == ("octo/prompts", "it got worse")
    assert webhook.paths == ["/hook"]


def test_a_chat_with_an_address_like_slacks_gets_it() -> None:
    token = "a1b2c3d4e5f6g7h8i9j0k1l2m3"
    with Webhook() as chat:
        said = send([f"mmost://127.0.0.1:{chat.port}/{token}"], "octo/prompts", "it got worse")
    assert said == ()
    assert "it got worse" in chat.received[0]["text"]
    assert chat.paths == [f"/hooks/{token}"]


def test_a_mailbox_gets_it() -> None:
    with MailServer() as server:
        address = f"mailto://127.0.0.1:{server.port}?from=gate@example.org&to=team@example.org&mode=insecure"
        said = send([address], "octo/prompts", "it got <b>worse</b>")
    assert said == ()
    message = email.message_from_string(server.messages[0], policy=policy.default)
    assert message["Subject"] == "octo/prompts"
    body = message.get_body(("plain",))
    assert body is not None
    assert "it got <b>worse</b>" in body.get_content()


def test_every_address_is_tried_and_failures_are_told_without_the_address() -> None:
    with Webhook(status=500) as broken, Webhook() as sound:
        said = send(
            [
                f"json://user:a-secret@127.0.0.1:{broken.port}/",
                "no-such-scheme://a-secret",
                "not an address a-secret",
                f"json://127.0.0.1:{sound.port}/",
            ],
            "title",
            "body",
        )
    assert len(sound.received) == 1
    assert said[0] == "the notification to address 1 (JSON) could not be sent"
    assert "address 2 " in said[1]
    assert "address 3 " in said[2]
    assert len(said) == 3
    assert "a-secret" not in "".join(said)


@pytest.mark.long
def test_a_test_message_arrives_or_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    with Webhook() as chat, Webhook(status=403) as shut:
        assert main(["notify", "--test", f"json://127.0.0.1:{chat.port}/a-s3cret"]) == 0
        assert "The message was sent" in capsys.readouterr().out
        both = f"json://user:a-s3cret%21@127.0.0.1:{shut.port}/b\njson://127.0.0.1:{chat.port}"
        assert main(["notify", "--test", both]) == 3
        said = capsys.readouterr().err
    assert len(chat.received) == 2
    assert "address 1 (JSON) could not be sent: Failed to send JSON" in said
    assert "403" in said
    assert "address 2" not in said
    assert "s3cret" not in said
    assert main(["notify", "--test", " "]) == 2
    assert "--test: the address is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address",
    [
        "slack://T0000000000/B0000000000/a-s3cret-token",
        "discord://a-s3cret-token",
        "mailto://user:a-s3cret-token@127.0.0.1:1?to=nobody",
        "a-s3cret-token",
    ],
)
def test_no_reason_repeats_the_address(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notify", "--test", address]) == 3
    said = "".join(capsys.readouterr())
    assert "notification" in said
    assert "s3cret" not in said


@pytest.mark.parametrize("status", [307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with Webhook() as other:
        place = f"http://127.0.0.1:{other.port}/elsewhere"
        with Webhook(status, Location=place) as webhook:
            said = send([f"json://127.0.0.1:{webhook.port}/?+X-Key=a-secret"], "title", "body")
    assert len(webhook.received) == 1
    assert other.received == []
    assert said == ("the notification to address 1 (JSON) could not be sent",)


def test_nobody_there_is_told() -> None:
    with Webhook() as gone:
        port = gone.port
    assert send([f"json://127.0.0.1:{port}/"], "title", "body") == (
        "the notification to address 1 (JSON) could not be sent",
    )


def test_a_fault_of_a_plug_in_is_told_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    import apprise

    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("json://user:a-secret@host")

    monkeypatch.setattr(apprise.Apprise, "instantiate", fault)
    request = {"address": "json://host", "title": "t", "body": "b", "environment": {}}
    assert list(notifications.answer(request)) == [{"fault": "RuntimeError"}]


def use_limits(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    limits = replace(notifications.LIMITS, **fields)
    child = LimitedProcess(*notifications.SERVICE, limits)
    monkeypatch.setattr(notifications, "_CHILD", child)


OKAY = b"HTTP/1.0 200 OK\r\n"


@pytest.mark.parametrize(
    ("address", "start"),
    [
        ("json://127.0.0.1:{port}/", OKAY + b"\r\n"),
        pytest.param("json://127.0.0.1:{port}/", OKAY + b"X-Slow: ", marks=pytest.mark.long),
        pytest.param("json://127.0.0.1:{port}/", b"", marks=pytest.mark.long),
        ("mailto://127.0.0.1:{port}?from=a@example.org&to=b@example.org&mode=insecure", b"220-"),
    ],
)
def test_a_server_that_answers_byte_by_byte_holds_nothing_up(
    address: str, start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apprise's own limit is on the time between two bytes."""
    use_limits(monkeypatch, wall=1)
    with Webhook() as sound, EndlessServer(start, b"a", 0.05) as slow:
        each = [f"json://127.0.0.1:{sound.port}/", address.format(port=slow.port)]
        (said,) = send(each, "title", "body")
        assert slow.gone.wait(10)
    assert said.startswith("the notification to address 2 (")
    assert said.endswith(") may not have arrived: it takes too much time")
    assert len(sound.received) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_an_endless_answer_fills_no_memory(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # apprise alone takes 80 MB; with less room than in a real run, the test is faster.
    use_limits(monkeypatch, memory=200_000_000)
    piece = bytes(1 << 20)
    start, piece = (
        (OKAY + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(piece))
        if packed
        else (OKAY + b"\r\n", piece)
    )
    with EndlessServer(start, piece) as endless, Webhook() as sound:
        ports = endless.port, sound.port
        (said,) = send([f"json://127.0.0.1:{port}/" for port in ports], "title", "body")
        assert endless.gone.wait(10)
    assert said == "the notification to address 1 (MemoryError) could not be sent"
    assert len(sound.received) == 1


def test_proxies_of_the_job_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Webhook() as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert send(["json://hooks.invalid/x"], "title", "body") == ()
    assert proxy.paths == ["http://hooks.invalid/x"]


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    (said,) = send(["json://localhost/"], "title", "body")
    assert "gatekeeper[notify]" in said


def test_the_log_of_the_library_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    with Webhook(status=500) as broken, caplog.at_level(logging.DEBUG):
        send([f"json://user:a-secret@127.0.0.1:{broken.port}/"], "title", "body")
    assert "a-secret" not in caplog.text
