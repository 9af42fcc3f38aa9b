"""Messages that really arrive, and what is said where they cannot."""

from __future__ import annotations

import builtins
import email
import logging
from email import policy
from typing import Any

import pytest
from support.message_servers import MailServer, Webhook

from gatekeeper.action.publish import send

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
    assert send(["json://user:a-secret@host"], "title", "body") == (
        "the notification to address 1 could not be sent (RuntimeError)",
    )


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "apprise":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    (said,) = send(["json://localhost/"], "title", "body")
    assert "gatekeeper[notify]" in said


def test_the_log_of_the_library_is_silent_and_given_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Webhook(status=500) as broken, caplog.at_level(logging.DEBUG):
        send([f"json://user:a-secret@127.0.0.1:{broken.port}/"], "title", "body")
    assert "a-secret" not in caplog.text
    assert not logging.getLogger("apprise").disabled
