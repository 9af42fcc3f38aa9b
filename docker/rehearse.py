"""Does once, at build time, all that a run may load; keeps byte code of that.

    python rehearse.py BYTE_CODE

Shows that the pruned packages still do the gate's work: every import statement of the gate
is carried out, also those within functions, and a model of each provider is asked through
litellm, answered in the provider's own words. Nothing leaves the process.

Python writes byte code of what this loads beside its source. That of Python's own library,
which the image takes from its base, is copied below BYTE_CODE. The container writes none.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import gatekeeper
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.http.http_client import Exchange, HttpClient

OPTIONAL = (
    "httpx2",
    "mcp",
    "mcp_types",
    "pyarrow",
    "pytest",
    "ray",
    "tree_sitter",
    "tree_sitter_typescript",
    "xllamacpp",
)
"""The server for agents, Parquet, pytest, Ray, TypeScript and the embedded model, which the image
leaves out."""

ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "x",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AZURE_API_BASE": "https://example.openai.azure.com",
    "AZURE_API_KEY": "x",
    "AZURE_API_VERSION": "2024-10-21",
    "GEMINI_API_KEY": "x",
    "GROQ_API_KEY": "x",
    "MISTRAL_API_KEY": "x",
    "OLLAMA_API_BASE": "http://127.0.0.1:11434",
    "OPENAI_API_KEY": "x",
    "OPENROUTER_API_KEY": "x",
}

OPENAI: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
ANTHROPIC: dict[str, Any] = {
    "id": "1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "yes"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
GEMINI: dict[str, Any] = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}
BEDROCK: dict[str, Any] = {
    "output": {"message": {"role": "assistant", "content": [{"text": "yes"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}
OLLAMA: dict[str, Any] = {"model": "m", "response": "yes", "done": True, "prompt_eval_count": 1}
OLLAMA_CHAT: dict[str, Any] = {
    "model": "m",
    "message": {"role": "assistant", "content": "yes"},
    "done": True,
}


@dataclass(frozen=True)
class Provider:
    """A model, the host that has to be asked, and the answer in that provider's words."""

    model: str
    host: str
    answer: dict[str, Any]


PROVIDERS = (
    Provider("openai/gpt-4o-mini", "api.openai.com", OPENAI),
    Provider("azure/deployment", "example.openai.azure.com", OPENAI),
    Provider("anthropic/claude-sonnet-4-5", "api.anthropic.com", ANTHROPIC),
    Provider("gemini/gemini-2.5-flash", "generativelanguage.googleapis.com", GEMINI),
    Provider(
        "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0",
        "bedrock-runtime.eu-west-1.amazonaws.com",
        BEDROCK,
    ),
    Provider("groq/llama-3.3-70b-versatile", "api.groq.com", OPENAI | {"service_tier": "flex"}),
    Provider("mistral/mistral-small-latest", "api.mistral.ai", OPENAI),
    Provider("openrouter/openai/gpt-4o-mini", "openrouter.ai", OPENAI),
    Provider("ollama/llama3.2", "127.0.0.1", OLLAMA),
    Provider("ollama_chat/llama3.2", "127.0.0.1", OLLAMA_CHAT),
)


def imports_of(source: str) -> Iterator[tuple[str, str | None]]:
    """(module, name in it) of every import statement, wherever it stands, but for types' sake."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def load(module: str) -> ModuleType | None:
    """Import the module; None if it is, or needs, a package that the image does without."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in OPTIONAL:
            raise
        return None


def carry_out(module: str, name: str | None) -> None:
    """The import statement; the name may be a module itself."""
    loaded = load(module)
    if loaded is not None and name is not None and not hasattr(loaded, name):
        load(f"{module}.{name}")


async def ask(provider: Provider) -> None:
    """One call that is answered, one that is refused, and one that finds nobody."""
    asked: list[str] = []

    async def answer(
        _: HttpClient, __: str, url: str, ___: object, ____: bytes, exchange: Exchange
    ) -> dict[str, str]:
        asked.append(urlsplit(url).hostname or "")
        exchange.status, exchange.body = 200, json.dumps(provider.answer).encode()
        return {"Content-Type": "application/json"}

    async def refuse(
        _: HttpClient, __: str, ___: str, ____: object, _____: bytes, exchange: Exchange
    ) -> dict[str, str]:
        error = {"error": {"message": "no", "code": "401"}}
        exchange.status, exchange.body = 401, json.dumps(error).encode()
        return {"Content-Type": "application/json"}

    async def nobody(*_: object) -> dict[str, str]:
        raise OSError("nobody there")

    understood = await complete(provider.model, answer)
    if understood != "yes" or asked != [provider.host]:
        raise SystemExit(f"{provider.model}: asked {asked}, understood {understood!r}")
    for network, retryable in ((refuse, False), (nobody, True)):
        try:
            await complete(provider.model, network)
        except CallFailed as failure:
            if failure.retryable != retryable:
                raise SystemExit(f"{provider.model}: misunderstood: {failure}") from failure
        else:
            raise SystemExit(f"{provider.model}: a failed call was no failure")


async def complete(model: str, network: Any) -> str:
    """What the client over litellm makes of a model behind `network`."""
    HttpClient.send = network  # type: ignore[method-assign]
    client = HostedClient([read_model_name(model).provider])  # whatever it has a native client for
    try:
        request = Request(model, (Message("user", "?"),), {"max_tokens": 5}, None, 0)
        return (await client.complete(request)).text
    finally:
        await client.aclose()


def keep_byte_code(byte_code: Path, since: float) -> tuple[int, int]:
    """Puts what was compiled outside of the packages below `byte_code`; files and bytes of all."""
    packages = Path(sys.prefix)
    files = size = 0
    for module in list(sys.modules.values()):
        compiled = Path(getattr(module, "__cached__", None) or "/nowhere")
        if not compiled.is_file():
            continue
        files, size = files + 1, size + compiled.stat().st_size
        if packages not in compiled.parents and compiled.stat().st_mtime >= since:
            target = byte_code / compiled.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(compiled, target)
    return files, size


def main(arguments: list[str]) -> int:
    """Rehearses and compiles; anything that does not work ends the build."""
    started = time.time()
    package = Path(gatekeeper.__file__).parent
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        if path.name != "__main__.py":
            load(module.removesuffix(".__init__"))
        for statement in imports_of(path.read_text(encoding="utf-8")):
            carry_out(*statement)
    os.environ.update(ENVIRONMENT)
    for provider in PROVIDERS:
        asyncio.run(ask(provider))
    files, size = keep_byte_code(Path(arguments[0]), started)
    print(f"{size / 1e6:7.1f} MB of byte code for {files} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
