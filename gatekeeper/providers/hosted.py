"""Models behind a provider's API, through litellm: OpenAI and whatever else it speaks."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from gatekeeper.contract.model import Message
from gatekeeper.contract.trial import Completion, Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers.failures import call_failed
from gatekeeper.providers.quiet_litellm import load_litellm
from gatekeeper.providers.wire import Exchange, Wire, current_exchange

# What a contract may set. Everything else stays out: litellm takes `api_base`, `api_key`,
# `extra_headers` and many more as parameters, with which a pull request could send the
# key of whoever runs the gate to a server of its own.
PARAMS = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "min_p",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "safety_settings",
        "seed",
        "service_tier",
        "stop",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_logprobs",
        "top_p",
        "verbosity",
    }
)

_LONGEST_NAME = 100
_REHEARSAL_SECONDS = 10.0
_TIMEOUT_SECONDS = 600.0  # the runner's own limit is far shorter


class HostedClient:
    """Asks models through litellm, which is imported with the first request."""

    def __init__(self) -> None:
        self._opening = asyncio.Lock()
        self._session: _Session | None = None

    async def complete(self, request: Request) -> Completion:
        _refuse(request)
        session = await self._open()
        exchange = Exchange()
        token = current_exchange.set(exchange)
        try:
            arguments = _arguments(session.litellm, request)
            call = asyncio.ensure_future(session.litellm.acompletion(**arguments))
            response = await _answer(call, exchange)
        except Exception as error:
            missing = () if exchange.status else _missing_keys(session.litellm, request.model)
            raise call_failed(request.model, error, exchange, missing) from error
        finally:
            current_exchange.reset(token)
        return _completion(session.litellm, request.model, response, exchange)

    async def require_key(self, model: str) -> None:
        """Refuse a model whose key is missing, before anything is sent. Raises UsageError.

        litellm may find elsewhere what the environment seems to lack (a profile, a token of the
        machine, a server that asks for no key), so a call is tried that ends at the wire.
        """
        session = await self._open()
        missing = _missing_keys(session.litellm, model)
        if not missing or await _reaches_the_wire(session.litellm, model):
            return
        raise UsageError(
            f"{model}: no API key, so no model was called; set {' and '.join(missing)} in the "
            "environment"
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _open(self) -> _Session:
        async with self._opening:
            if self._session is None:
                self._session = _Session(await asyncio.to_thread(load_litellm))
        return self._session


class _Session:
    """litellm with its HTTP going over a wire of ours, until it is closed."""

    def __init__(self, litellm: Any) -> None:
        import httpx
        from litellm.llms.custom_httpx import http_handler

        self.litellm = litellm
        client = httpx.AsyncClient(
            verify=http_handler.get_ssl_configuration(),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
            timeout=_TIMEOUT_SECONDS,
        )
        self._wire = Wire(client)
        # litellm makes the transport of every asynchronous client here, also of OpenAI's. Up to
        # 1.83 the function's name began with an underscore; later that is but an alias.
        self._handler = http_handler.AsyncHTTPHandler
        names = ("create_async_transport", "_create_async_transport")
        self._own_transport = {
            n: getattr(self._handler, n) for n in names if hasattr(self._handler, n)
        }
        if not self._own_transport:
            raise RuntimeError("this version of litellm makes its transports somewhere else")
        for name in self._own_transport:
            setattr(self._handler, name, staticmethod(lambda **_: self._wire))
        litellm.in_memory_llm_clients_cache.flush_cache()

    async def close(self) -> None:
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
        from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

        for name, own in self._own_transport.items():
            setattr(self._handler, name, staticmethod(own))
        await self._wire.shut_down()
        await close_litellm_async_clients()
        # Clients are cached with their transport: the next session must not find these.
        self.litellm.in_memory_llm_clients_cache.flush_cache()
        await GLOBAL_LOGGING_WORKER.stop()


async def _answer(call: asyncio.Future[Any], exchange: Exchange) -> Any:
    """What the call returns. When cancelled, the call ends before this does.

    litellm prepares a call in a thread; cancelled there, it would leave a coroutine behind
    that nobody awaits. So it goes on to the wire, which refuses it.
    """
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        exchange.refused = True
        if exchange.sent:
            call.cancel()
        await asyncio.wait([call])
        if not call.cancelled():
            call.exception()
        raise


def _refuse(request: Request) -> None:
    if "://" in request.model:
        raise CallFailed(
            f"{request.model}: a model is named, not addressed", fatal=True, author=True
        )
    unknown = sorted(set(request.params) - PARAMS)
    if unknown:
        raise CallFailed(
            f"{request.model}: the parameter {unknown[0]!r} cannot be set by a contract; "
            f"use any of {', '.join(sorted(PARAMS))}",
            fatal=True,
            author=True,
        )


def _arguments(litellm: Any, request: Request) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        **request.params,
        "model": request.model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "num_retries": 0,
        "max_retries": 0,
        "timeout": _TIMEOUT_SECONDS,
    }
    # Not every provider takes a seed, and none answers the worse for not getting one; any
    # other unsupported parameter is the author's to remove, so litellm's refusal stands.
    if request.seed is not None and "seed" not in request.params:
        with contextlib.suppress(Exception):
            if "seed" in (litellm.get_supported_openai_params(request.model) or ()):
                arguments["seed"] = request.seed
    return arguments


async def _reaches_the_wire(litellm: Any, model: str) -> bool:
    """Whether litellm has all that it takes to ask; nothing is sent."""
    rehearsal = Exchange(refused=True)
    token = current_exchange.set(rehearsal)
    request = Request(model, (Message("user", "-"),), {}, None, 0)
    try:
        async with asyncio.timeout(_REHEARSAL_SECONDS):
            await litellm.acompletion(**_arguments(litellm, request))
    except TimeoutError:
        return True  # it looks for credentials somewhere, and may find them
    except Exception:
        return rehearsal.sent
    finally:
        current_exchange.reset(token)
    return True


def _missing_keys(litellm: Any, model: str) -> tuple[str, ...]:
    with contextlib.suppress(Exception):
        return tuple(litellm.validate_environment(model)["missing_keys"])
    return ()


def _completion(litellm: Any, model: str, response: Any, exchange: Exchange) -> Completion:
    try:
        text = response.choices[0].message.content
    except (AttributeError, IndexError, TypeError):
        text = None
    if not isinstance(text, str):
        raise CallFailed(f"{model}: an answer without text", retryable=True)
    usage = getattr(response, "usage", None)
    # litellm reports zero where the provider reported nothing; no prompt has no tokens.
    prompt_tokens = getattr(usage, "prompt_tokens", None) or None
    return Completion(
        text=text,
        latency_ms=exchange.latency_ms,
        prompt_tokens=prompt_tokens,
        completion_tokens=usage.completion_tokens if usage and prompt_tokens else None,
        cost_usd=_cost(litellm, model, response) if prompt_tokens else None,
        fingerprint=_fingerprint(response),
    )


def _fingerprint(response: Any) -> str | None:
    """The model that answered and its build, as far as the provider names them: an alias such as
    `gpt-4o-mini` stands for another model tomorrow. https://platform.openai.com/docs/api-reference/chat/object
    """
    said = (getattr(response, name, None) for name in ("model", "system_fingerprint"))
    named = [text[:_LONGEST_NAME] for text in said if isinstance(text, str) and text.isprintable()]
    return " ".join(filter(None, named)) or None


def _cost(litellm: Any, model: str, response: Any) -> float | None:
    """The call's price; None where litellm knows none, which is no reason to fail."""
    try:
        return float(litellm.completion_cost(completion_response=response, model=model))
    except Exception:
        return None
