"""litellm without its network access at import, its prints, its log lines and its warnings."""

from __future__ import annotations

import logging
import os
import re
import warnings
from typing import Any

_A_KEY = re.compile(r"_(?:KEY|KEY_ID|TOKEN|SECRET)$")


def load_litellm() -> Any:
    """Import litellm and return it. The import takes seconds, so never do it on an event loop."""
    # Its price list would be fetched from the network, which can hang for seconds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Otherwise a .env file found upwards of the package may set keys and base URLs.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    # A workflow gives a secret that is not there as nothing, which litellm takes for a key.
    for name in [n for n, value in os.environ.items() if not value and _A_KEY.search(n)]:
        del os.environ[name]
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Of an answer with a value of the wrong type pydantic warns, and quotes the value.
    warnings.filterwarnings("ignore", module=r"(?:litellm|pydantic|openai)(?:\.|$)")
    return litellm
