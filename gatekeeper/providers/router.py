"""Which client answers for which model: `local/…`, `recorded/…`, and hosted ones for the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import UsageError
from gatekeeper.sampling.client import (
    CachingClient,
    KeyedClient,
    LimitedClient,
    ModelClient,
    StreamingClient,
)

Reader = Callable[[str], bytes]

_ANY = ""  # a prefix that every model has


class ModelRouter:
    """Builds a client at the first call to a model of its kind.

    `read` reads the recording of a `recorded/PATH` model by its path from the repository root. With
    `replay` every model is answered from that file of this machine. `through_litellm` are the
    providers that litellm calls, although there is a native client.
    """

    def __init__(
        self,
        read: Reader,
        *,
        replay: Path | None = None,
        through_litellm: Collection[str] = (),
        elsewhere: ModelClient | None = None,
    ) -> None:
        self._kinds: Mapping[str, Callable[[], ModelClient]] = {
            "local/": _local,
            "recorded/": lambda: _recorded(read, None),
            _ANY: lambda: _hosted(through_litellm),
        }
        if elsewhere is not None:
            self._kinds = {"recorded/": self._kinds["recorded/"], _ANY: lambda: elsewhere}
        if replay is not None:
            self._kinds = {_ANY: lambda: _recorded(_read_file, str(replay))}
        self._clients: dict[str, ModelClient] = {}

    async def complete(self, request: Request) -> Completion:
        return await self._client(request.model).complete(request)

    async def require_keys(self, models: Iterable[str]) -> None:
        """Refuse models without a key, before any call. Raises UsageError, with a line for each."""
        refused: list[UsageError] = []
        for model in models:
            client = self._client(model)
            if isinstance(client, KeyedClient):
                try:
                    await client.require_key(model)
                except UsageError as error:
                    refused.append(error)
        if refused:
            raise UsageError("\n".join(dict.fromkeys(map(str, refused)))) from refused[0]

    def can_stream(self, request: Request) -> bool:
        """Return whether the time to the first token of the answer is measured."""
        client = self._client(request.model)
        return not isinstance(client, StreamingClient) or client.can_stream(request)

    def is_cached(self, request: Request) -> bool:
        """Return whether the provider's cache keeps the messages that the request shares."""
        client = self._client(request.model)
        return isinstance(client, CachingClient) and client.is_cached(request)

    def slots(self, model: str) -> int | None:
        """Return how many requests to the model make sense at the same time; None: any number."""
        client = self._client(model)
        return client.slots(model) if isinstance(client, LimitedClient) else None

    async def aclose(self) -> None:
        while self._clients:
            _, client = self._clients.popitem()
            await client.aclose()

    def _client(self, model: str) -> ModelClient:
        prefix = next(prefix for prefix in self._kinds if model.startswith(prefix))
        if prefix not in self._clients:
            self._clients[prefix] = self._kinds[prefix]()
        return self._clients[prefix]


def _read_file(path: str) -> bytes:
    return Path(path).read_bytes()


def _local() -> ModelClient:
    from gatekeeper.providers.local import LocalClient

    return LocalClient()


def _recorded(read: Reader, path: str | None) -> ModelClient:
    from gatekeeper.providers.recorded import ReplayClient

    return ReplayClient(read, path)


def _hosted(through_litellm: Collection[str]) -> ModelClient:
    from gatekeeper.providers.hosted import HostedClient

    return HostedClient(through_litellm)
