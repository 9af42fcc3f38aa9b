"""Answers as the model that grades, for both programs: over HTTP for promptfoo, directly here.

A graded text ends with its grade, such as `[grade: 2 of 3]`. Every answer of the grader says that
the text has this grade, in the form that the question asks for.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gatekeeper.contract.embeddings import is_comparison, written_cosine
from gatekeeper.contract.trial import Completion, Request

QUERY = "What is worth knowing about this place?"
"""The question of every test."""
_GRADE = re.compile(r"\[grade: (\d) of (\d)\]")
_DIMENSIONS = 64
_OTHER_QUESTION = "Blue bananas sing"


def embed(text: str) -> list[float]:
    """Return how often each word of the text occurs. Texts without a word are alike."""
    vector = [0.0] * _DIMENSIONS + [0.1]
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(word.encode()) % _DIMENSIONS] += 1
    return vector


def answer_judge(question: Request) -> Completion:
    """Return the answer to a question of gatekeeper: a cosine, or a verdict of a judge."""
    texts = [message.content for message in question.messages]
    if is_comparison(question):
        return Completion(written_cosine(*map(embed, texts)))
    got, most = _grade("\n".join(texts))
    if "claims" not in json.dumps(question.params, default=str):
        verdict = "yes" if got == most else "no"
        return Completion(json.dumps({"reason": "graded", "verdict": verdict}))
    claims = [
        {"claim": f"Claim {n}", "evidence": "none", "supported": n < got} for n in range(most)
    ]
    return Completion(json.dumps({"claims": claims}))


def answer_promptfoo(prompt: str) -> str:
    """Return the answer to a prompt of promptfoo for grading, recognised by its own words."""
    if "generate 3-4 concise evaluation steps" in prompt:
        return json.dumps({"steps": ["Read the reply."]})
    got, most = _grade(prompt)
    passed = got == most
    if "Generate question for the given answer" in prompt:
        return QUERY if passed else _OTHER_QUESTION
    if "create one or more statements" in prompt:
        return "\n".join(f"Claim {n} [grade: {got} of {most}]" for n in range(most))
    if "Natural language inference" in prompt:
        verdicts = " ".join("Yes." if n < got else "No." for n in range(most))
        return f"Final verdict for each statement in order: {verdicts}"
    if "precise factuality evaluator" in prompt:
        return json.dumps({"category": "C" if passed else "D", "reason": "graded"})
    if "You are assessing a submitted answer" in prompt:
        return "Graded.\nY" if passed else "Graded.\nN"
    if "rate the Reply on one metric" in prompt:
        return json.dumps({"score": 10 if passed else 0, "reason": "graded"})
    return json.dumps({"reason": "graded", "pass": passed, "score": float(passed)})


def _grade(text: str) -> tuple[int, int]:
    found = _GRADE.search(text)
    if found is None:
        raise ValueError(f"no grade in {text!r}")
    return int(found[1]), int(found[2])


@contextmanager
def serve_grader() -> Iterator[str]:
    """Run a server in the form of OpenAI's API, and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(_response(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing."""


def _response(asked: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if "input" in asked:
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [{"index": n, "embedding": embed(text)} for n, text in enumerate(texts)]
        return {"object": "list", "model": "m", "data": data, "usage": usage}
    prompt = "\n".join(str(message["content"]) for message in asked["messages"])
    message = {"role": "assistant", "content": answer_promptfoo(prompt)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}
