"""How close a measured latency is to the request's own, at 64 concurrent calls.

    python benchmarks/latency.py [--calls 256] [--concurrency 64] [--delay-ms 500]

A server in another process answers every request after the delay. Printed are the time that
it took by its own clock (on a busy machine more than the delay), the latency that
HostedClient reports, and the time that the client's caller waited.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from statistics import median, quantiles

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.hosted import HostedClient


def serve(delay: float, ready: Connection) -> None:
    """Answers every request after `delay` seconds with the milliseconds that it took, and the time
    of its arrival in seconds; sends its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = head.lower().split(b"\r\n")
                length = next(f for f in fields if f.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
                time_of_day, arrived = time.time(), time.perf_counter()
                await asyncio.sleep(delay)
                took = (time.perf_counter() - arrived) * 1000
                writer.write(_response(f"{took:.1f} {time_of_day:.4f}"))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def listen() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


def _response(text: str) -> bytes:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
    }
    body = json.dumps(answer)
    return (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _measure(calls: int, concurrency: int) -> dict[str, list[float]]:
    client = HostedClient()
    request = Request(
        "openai/gpt-4o-mini", (Message("user", "Tag the word fox."),), {"temperature": 0}, 42, 0
    )
    await client.complete(request)
    slots = asyncio.Semaphore(concurrency)
    server: list[float] = []
    wire: list[float] = []
    caller: list[float] = []

    async def call() -> None:
        async with slots:
            started = time.perf_counter()
            completion = await client.complete(request)
            caller.append((time.perf_counter() - started) * 1000)
            server.append(float(completion.text.split()[0]))
            if completion.latency_ms is not None:
                wire.append(completion.latency_ms)

    await asyncio.gather(*(call() for _ in range(calls)))
    await client.aclose()
    return {
        "the server's own time": server,
        "as reported (on the wire)": wire,
        "as the caller waited": caller,
    }


def _line(name: str, values: list[float]) -> str:
    p95 = quantiles(values, n=20)[-1]
    return f"{name:<28} median {median(values):6.0f} ms   p95 {p95:6.0f} ms   n {len(values)}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=256)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--delay-ms", type=float, default=500)
    arguments = parser.parse_args()

    receiving, sending = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(arguments.delay_ms / 1000, sending), daemon=True
    )
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{receiving.recv()}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    try:
        measured = asyncio.run(_measure(arguments.calls, arguments.concurrency))
    finally:
        server.terminate()
    for name, values in measured.items():
        print(_line(name, values))


if __name__ == "__main__":
    main()
