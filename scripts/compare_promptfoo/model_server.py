"""Serves models on this machine for the comparison of suites, in the forms of several APIs."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scripts.compare_promptfoo.grader import answer_promptfoo, embed

_COMPATIBLE = ("AIML", "CEREBRAS", "DEEPSEEK", "GROQ", "HYPERBOLIC", "OPENROUTER", "XAI", "MISTRAL")
ADDRESSES: Mapping[str, Mapping[str, str]] = {
    "openai": {"OPENAI_BASE_URL": "/v1", "OPENAI_API_KEY": "key"},
    "anthropic": {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": "key"},
    "ollama_chat": {"OLLAMA_API_BASE": ""},
    "fireworks_ai": {"FIREWORKS_API_BASE": "/v1", "FIREWORKS_API_KEY": "key"},
    "together_ai": {"TOGETHER_AI_API_BASE": "/v1", "TOGETHER_API_KEY": "key"},
    "lambda_ai": {"LAMBDA_API_BASE": "/v1", "LAMBDA_API_KEY": "key"},
    "litellm_proxy": {"LITELLM_PROXY_API_BASE": "/v1", "LITELLM_API_KEY": "key"},
    **{name.lower(): {f"{name}_API_BASE": "/v1", f"{name}_API_KEY": "key"} for name in _COMPATIBLE},
}
"""The variables that lead gatekeeper to the server, and the keys that both programs want, by the
prefix of the models. A value that is no path is the value itself."""

REDIRECT = """\
const real = globalThis.fetch;
globalThis.fetch = (input, options) => {
  const asked = new URL(typeof input === "string" ? input : input.url ?? input.href);
  const { dispatcher, ...rest } = options ?? {};
  return real(process.env.COMPARED_SERVER + asked.pathname + asked.search, rest);
};
"""
"""What makes promptfoo call the server, whatever the address: a program that Node.js runs first."""

_GRADING = (
    "You are grading output according to",
    "comparing multiple pieces of text",
    "generate 3-4 concise evaluation steps",
    "Generate question for the given answer",
    "create one or more statements",
    "Natural language inference",
    "precise factuality evaluator",
    "You are assessing a submitted answer",
    "rate the Reply on one metric",
    "You grade the output of another program",
)
_PASSED = "[grade: 3 of 3]"
_TEXT = re.compile(r"value:\s*['\"]?([^'\"\n{}]{1,80})")
_FIXED = ("I'm sorry, but I can't help with that.", '{"answer": "yes", "id": 7}', "Yes", "")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as a program sent it, without its model and messages in `parameters`."""

    model: str
    messages: Any
    parameters: dict[str, Any]
    interface: str


@dataclass(frozen=True, slots=True)
class Answers:
    """The texts with which the server answers. A request always gets the same one."""

    texts: tuple[str, ...]

    @classmethod
    def of_suite(cls, text: str) -> Answers:
        """Take the texts from the suite's assertions."""
        found = [match.strip() for match in _TEXT.findall(text)]
        return cls((*dict.fromkeys((" ".join(found), *found, *_FIXED)),))

    def answer(self, model: str, messages: Any) -> str:
        """Return the answer to messages."""
        shown = json.dumps([model, messages], sort_keys=True, ensure_ascii=False)
        if any(words in shown for words in _GRADING):
            if "You grade the output of another program" in shown:
                return json.dumps({"reason": "graded", "verdict": "yes"})
            if "comparing multiple pieces of text" in shown:
                return "0"
            return answer_promptfoo(f"{shown} {_PASSED}")
        number = int.from_bytes(hashlib.sha256(shown.encode()).digest()[:4])
        return self.texts[number % len(self.texts)]


@dataclass
class ModelServer:
    """A running server, and what it received since the last `take`."""

    address: str
    received: list[Sent] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Return the variables with which a program calls this server, and no other."""
        variables = {
            name: value if value == "key" else self.address + value
            for own in ADDRESSES.values()
            for name, value in own.items()
        }
        variables["COMPARED_SERVER"] = self.address
        off = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING")
        return variables | {f"PROMPTFOO_DISABLE_{name}": "1" for name in off}

    def take(self) -> list[Sent]:
        """Return the requests so far, and forget them."""
        taken, self.received = self.received, []
        return taken


@contextmanager
def serve_models(answer: Callable[[str, Any], str]) -> Iterator[ModelServer]:
    """Run a server that answers with the text for a model and messages, and yield it."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server = ModelServer(f"http://127.0.0.1:{http.server_port}")
    http.answer, http.server = answer, server  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = str(asked.pop("model", ""))
        messages = asked.pop("messages", None) or asked.pop("input", None)
        if "system" in asked and isinstance(messages, list):
            messages = [{"role": "system", "content": asked.pop("system")}, *messages]
        sent = Sent(model, _plain(messages), asked, self.path.rpartition("/")[2])
        self.server.server.received.append(sent)  # type: ignore[attr-defined]
        if self.path.endswith("/embeddings"):
            response = _embeddings(messages)
        else:
            text = self.server.answer(model, sent.messages)  # type: ignore[attr-defined]
            response = _response(self.path, model, text)
        data = json.dumps(response).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing."""


def _plain(messages: Any) -> Any:
    """Return messages in one form: the APIs take a text, or parts with a text each."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        return messages
    return [_plain_message(one) if isinstance(one, dict) else one for one in messages]


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(parts) if None not in parts else content  # type: ignore[arg-type]
    return {"role": message.get("role"), "content": content}


_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _embeddings(asked: Any) -> dict[str, Any]:
    texts = asked if isinstance(asked, list) else [asked]
    data = [{"index": n, "embedding": embed(str(one))} for n, one in enumerate(texts)]
    return {"object": "list", "model": "m", "data": data, "usage": _USAGE}


def _response(path: str, model: str, text: str) -> dict[str, Any]:
    usage = {**_USAGE, "input_tokens": 1, "output_tokens": 1}
    common = {"id": "1", "model": model, "created": 1, "usage": usage}
    if path.endswith("/messages"):
        content = [{"type": "text", "text": text}]
        own = {"type": "message", "role": "assistant", "stop_reason": "end_turn"}
        return {**common, **own, "content": content}
    message = {"role": "assistant", "content": text}
    if path.endswith("/api/chat"):
        return {**common, "message": message, "done": True, "done_reason": "stop"}
    if path.endswith("/responses"):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        output = [{"type": "message", "role": "assistant", "id": "1", "content": content}]
        return {**common, "object": "response", "status": "completed", "output": output}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {**common, "object": "chat.completion", "choices": [choice]}
