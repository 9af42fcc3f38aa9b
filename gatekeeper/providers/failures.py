"""Turns a failed hosted call into CallFailed: whether to try again, whether it is fatal, whose
fault it is.

The server's status counts rather than litellm's, which reports a refused connection as 500, and an
invalid answer with status 200 as 500 or 422.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.http_client import Exchange
from gatekeeper.providers.http.network_guard import HostRefused
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.model_faults import asks_a_proxy

_LONGEST_MESSAGE = 300
_RETRYABLE = frozenset({408, 409, 425, 429})
_GAVE_UP = frozenset({408, 499, 504, 524})
_THROTTLED = frozenset({429, 529})  # 529 is Anthropic's overload
_OVERLOADED = re.compile(r"overloaded|slow down|server busy", re.IGNORECASE)
"""What OpenAI, Gemini and Ollama say of their load with HTTP 503, which has other causes too."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_LOOK = re.compile(
    r"\b(?:sk|pk|gsk|hf|xai|AIza|ghp|ghs|github_pat)[-_]?[A-Za-z0-9_\-]{12,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|(?<=Bearer )[^\s,;]+|(?<=key=)[^\s&]+"
    r"|(?<=://)[^\s/]+(?=@)"  # a proxy's name and password
)
_SHORTEST_SECRET = 8
_WRAPPERS = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)(?::| -)\s*)+")
_UNKNOWN_MODEL = re.compile(
    r"model_not_found|model[^.\n]{0,80}(?:does not exist|not found|not supported)"
    r"|(?:invalid|unknown|no such) model",
    re.IGNORECASE,
)
_WITH_OTHER_API = ("openai", "azure")
_OTHER_API = re.compile(r"\bv1/responses\b")
"""What OpenAI says of a request that its Chat Completions do not take, such as one with tools to a
model that reasons. Gatekeeper knows those models by their names, and Azure's are arbitrary."""


def call_failed(model: str, error: Exception, exchange: Exchange) -> CallFailed:
    """Tell what the failure of one call means."""
    text = plain(str(error))
    refused = exchange.fault if exchange.status is None else None
    refused = refused or _refused_connection(error)
    if refused is not None:
        # Where the request would go is the same for every other one.
        return CallFailed(
            f"{model}: gatekeeper did not send the call: {plain(refused)}", fatal=True
        )
    if exchange.fault is not None:
        text = f"{model}: HTTP {exchange.status}: {plain(exchange.fault)}"
        return CallFailed(text, billable=exchange.status is not None and exchange.status < 300)
    if exchange.status is None:
        failure = _without_answer(model, error, text)
    else:
        asked = seconds_to_wait(exchange.retry_after)
        pause = exchange.pause if asked is None else asked
        failure = _with_status(model, exchange.status, text, pause)
    # A refusal costs nothing. A request that got no answer may have had one on its way, and so
    # may one that a proxy gave up waiting for.
    answered = exchange.status is not None and exchange.status < 400
    gave_up = exchange.status in _GAVE_UP or (exchange.status is None and exchange.reached)
    failure.billable = answered or gave_up
    return failure


def _refused_connection(error: BaseException | None) -> str | None:
    """Return the connection that the guard refused, if that caused the error."""
    for cause in _causes(error):
        if isinstance(cause, HostRefused):
            return f"the call needs a connection to another host: {cause}"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, what caused it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _without_answer(model: str, error: Exception, text: str) -> CallFailed:
    names = {kind.__name__ for kind in type(error).__mro__}
    if "LLM Provider NOT provided" in str(error):
        return CallFailed(
            f"{model}: no provider has a model of this name; write the name as provider/model, "
            "for example openai/gpt-5.4-mini",
            fatal=True,
            author=True,
        )
    if any(isinstance(cause, ImportError) for cause in _causes(error)):
        said = f"{model}: for this model, litellm needs a package that Gatekeeper does not install"
        return CallFailed(f"{said}: {text}{_how_to_do_without(text)}", fatal=True, author=True)
    if "UnsupportedParamsError" in names:
        return CallFailed(f"{model}: {text}", fatal=True, author=True)
    if names & {"AuthenticationError", "PermissionDeniedError"}:
        return CallFailed(f"{model}: {text}", fatal=True)
    if names & {"BadRequestError", "UnprocessableEntityError"}:
        return CallFailed(f"{model}: {text}")
    if names & {"Timeout", "TimeoutError", "TimeoutException", "APITimeoutError"}:
        return CallFailed(f"{model}: no answer within the time limit", retryable=True)
    return CallFailed(f"{model}: no answer: {text}", retryable=True)


def _how_to_do_without(text: str) -> str:
    """Say how OpenAI's Responses API is called without the package that litellm wants for it."""
    if "mcp" not in text:
        return ""
    return (
        "; gatekeeper itself can call OpenAI's Responses API: remove `litellm` from `providers` in "
        "the policy, and unset OPENAI_CUSTOM_HEADERS"
    )


def _with_status(model: str, status: int, text: str, pause: float | None) -> CallFailed:
    said = f"{model}: HTTP {status}: {text}"
    unknown = bool(_UNKNOWN_MODEL.search(text))
    provider, _, name = (model if "/" in model else f"openai/{model}").partition("/")
    if status in (400, 404) and provider in _WITH_OTHER_API and _OTHER_API.search(text):
        fix = f"to use that API, write the model as {provider}/responses/{name}"
        return CallFailed(f"{said}; {fix}", fatal=True, author=True)
    if status < 400:
        return CallFailed(f"{model}: the answer cannot be read: {text}", retryable=True)
    if status == 404 or (status == 400 and unknown):
        return CallFailed(said, fatal=True, author=True)
    if status == 401:
        return CallFailed(f"{said}{_where_the_key_is(model)}", fatal=True)
    if status == 410:
        return CallFailed(f"{said}; the model or its provider is gone, so use another", fatal=True)
    if status in (402, 403, 405) or "insufficient_quota" in text:
        return CallFailed(said, fatal=True)
    if status in _RETRYABLE or status >= 500:
        return CallFailed(
            said,
            retryable=True,
            retry_after=pause,
            throttled=status in _THROTTLED or (status == 503 and bool(_OVERLOADED.search(text))),
        )
    return CallFailed(said)


def _where_the_key_is(model: str) -> str:
    """Name the variable of the key that was refused; nothing if the provider is not known."""
    with contextlib.suppress(ValueError):
        model = read_model_name(model).provider
    provider = CATALOGUE.get("litellm_proxy" if asks_a_proxy(os.environ) else model)
    names = provider.keys if provider else ()
    used = next((name for name in names if os.environ.get(name)), None)
    named = used or " or ".join(names)
    return f"; check the key in the environment variable {named}" if named else ""


def seconds_to_wait(retry_after: str | None, now: datetime | None = None) -> float | None:
    """Return a Retry-After header in seconds, from either of its forms; None if it has none."""
    if retry_after is None:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        return _seconds_until(retry_after, now or datetime.now(UTC))
    return seconds if 0 <= seconds < float("inf") else None


def _seconds_until(http_date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(http_date)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def plain(text: str) -> str:
    """Return an error text on one short line, without litellm's wrapping, without secrets and
    without a full stop at its end, because the sentences that quote it have their own."""
    text = _WRAPPERS.sub("", text.split("Traceback (most recent call last)")[0])
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    text = " ".join(_SECRET_LOOK.sub("***", text).split())
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1]
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"
