"""The providers whose models can be called: their own keys, addresses and hosts, and no others.

litellm knows more than a hundred, and for many of them uses the key of another one (OPENAI_API_KEY
above all) if their own is missing. Each call therefore gets key and address from this table, and
nothing is sent to another host. The names of the variables are litellm's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

EMBEDDED_MODEL = "local/smollm2"


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider.

    `keys` are the variables of its key, `addresses` those of its address; of each the first that is
    set counts. `address` is its address without them. `hosts` are all that its traffic may reach by
    https if no address is set; `*` stands for one part of a name; without any it is the address's
    host. `keyless` servers ask for no key. `ambient` providers may also get credentials from the
    places that their own library reads: profiles, tokens of the machine. `plain_hosts` are the
    services of the machine that provide them by http. `private` are more variables whose values are
    its own. `settings` are the variables that its models also need, which are no secrets.
    `federated` are the variables that name whom the job may sign in as without a key, and
    `exchanges` the only hosts that then get the job's identity token.
    """

    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    address: str | None = None
    hosts: tuple[str, ...] = ()
    keyless: bool = False
    ambient: bool = False
    plain_hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    federated: tuple[str, ...] = ()
    exchanges: tuple[str, ...] = ()


def _compatible(prefix: str, address: str, *more_keys: str) -> Provider:
    """Return a provider whose variables are PREFIX_API_KEY and PREFIX_API_BASE."""
    return Provider((f"{prefix}_API_KEY", *more_keys), (f"{prefix}_API_BASE",), address)


def _server(prefix: str, address: str | None) -> Provider:
    """Return a self-hosted server, which may need no key."""
    return Provider((f"{prefix}_API_KEY",), (f"{prefix}_API_BASE",), address, keyless=True)


_OPENAI = Provider(
    ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"
)
_ANTHROPIC = Provider(
    ("ANTHROPIC_API_KEY",),
    ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
    "https://api.anthropic.com",
    private=("ANTHROPIC_AUTH_TOKEN",),
)
_AZURE = Provider(
    ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
    ("AZURE_API_BASE",),
    private=("AZURE_AD_TOKEN", "AZURE_CLIENT_SECRET"),
    federated=("AZURE_TENANT_ID", "AZURE_CLIENT_ID"),
    exchanges=("login.microsoftonline.com", "login.microsoftonline.us"),
)
_BEDROCK = Provider(
    ("AWS_BEARER_TOKEN_BEDROCK",),
    ("AWS_BEDROCK_RUNTIME_ENDPOINT",),
    hosts=(
        "bedrock-runtime.*.amazonaws.com",
        "bedrock-runtime-fips.*.amazonaws.com",
        "bedrock-runtime.*.amazonaws.com.cn",
        "sts.amazonaws.com",
        "sts.*.amazonaws.com",
        "sts.*.amazonaws.com.cn",
        "portal.sso.*.amazonaws.com",
        "oidc.*.amazonaws.com",
    ),
    ambient=True,
    plain_hosts=("169.254.169.254", "169.254.170.2", "169.254.170.23"),
    private=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    settings=("AWS_REGION_NAME",),
    federated=("AWS_ROLE_ARN",),
    exchanges=("sts.amazonaws.com", "sts.*.amazonaws.com", "sts.*.amazonaws.com.cn"),
)
_VERTEX = Provider(
    addresses=("VERTEXAI_API_BASE",),
    hosts=(
        "aiplatform.googleapis.com",
        "*-aiplatform.googleapis.com",
        "aiplatform.*.rep.googleapis.com",
        "oauth2.googleapis.com",
        "sts.googleapis.com",
        "iamcredentials.googleapis.com",
        "*.actions.githubusercontent.com",
    ),
    ambient=True,
    plain_hosts=("metadata.google.internal", "169.254.169.254"),
    private=("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"),
    settings=("VERTEXAI_PROJECT", "VERTEXAI_LOCATION"),
    federated=("GOOGLE_WORKLOAD_IDENTITY_PROVIDER",),
    exchanges=("sts.googleapis.com", "iamcredentials.googleapis.com"),
)
_COHERE_KEYS = ("COHERE_API_KEY", "CO_API_KEY")
_COHERE = Provider(_COHERE_KEYS, ("COHERE_API_BASE",), hosts=("api.cohere.com", "api.cohere.ai"))

CATALOGUE: Mapping[str, Provider] = {
    "openai": _OPENAI,
    "text-completion-openai": _OPENAI,
    "azure": _AZURE,
    "azure_ai": Provider(("AZURE_AI_API_KEY",), ("AZURE_AI_API_BASE",)),
    "anthropic": _ANTHROPIC,
    "gemini": Provider(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("GEMINI_API_BASE",),
        hosts=("generativelanguage.googleapis.com",),
    ),
    "vertex_ai": _VERTEX,
    "bedrock": _BEDROCK,
    "mistral": Provider(
        ("MISTRAL_AZURE_API_KEY", "MISTRAL_API_KEY"),
        ("MISTRAL_AZURE_API_BASE", "MISTRAL_API_BASE"),
        "https://api.mistral.ai/v1",
    ),
    "groq": _compatible("GROQ", "https://api.groq.com/openai/v1"),
    "deepseek": _compatible("DEEPSEEK", "https://api.deepseek.com/beta"),
    "together_ai": Provider(
        ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
        ("TOGETHER_AI_API_BASE",),
        "https://api.together.ai/v1",
    ),
    "fireworks_ai": Provider(
        (
            "FIREWORKS_AI_API_KEY",
            "FIREWORKS_API_KEY",
            "FIREWORKSAI_API_KEY",
            "FIREWORKS_AI_TOKEN",
        ),
        ("FIREWORKS_API_BASE",),
        "https://api.fireworks.ai/inference/v1",
    ),
    "openrouter": _compatible("OPENROUTER", "https://openrouter.ai/api/v1", "OR_API_KEY"),
    "xai": _compatible("XAI", "https://api.x.ai/v1"),
    "cohere": _COHERE,
    "cohere_chat": _COHERE,
    "perplexity": Provider(
        ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
        ("PERPLEXITY_API_BASE",),
        "https://api.perplexity.ai",
    ),
    "cerebras": _compatible("CEREBRAS", "https://api.cerebras.ai/v1"),
    "deepinfra": _compatible("DEEPINFRA", "https://api.deepinfra.com/v1/openai"),
    "nvidia_nim": _compatible("NVIDIA_NIM", "https://integrate.api.nvidia.com/v1"),
    "moonshot": _compatible("MOONSHOT", "https://api.moonshot.ai/v1"),
    "dashscope": _compatible("DASHSCOPE", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    "zai": _compatible("ZAI", "https://api.z.ai/api/paas/v4"),
    "sambanova": _compatible("SAMBANOVA", "https://api.sambanova.ai/v1"),
    "huggingface": Provider(
        ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
        ("HF_API_BASE",),
        hosts=("router.huggingface.co", "huggingface.co"),
    ),
    "hyperbolic": _compatible("HYPERBOLIC", "https://api.hyperbolic.xyz/v1"),
    "lambda_ai": _compatible("LAMBDA", "https://api.lambda.ai/v1"),
    "nebius": _compatible("NEBIUS", "https://api.studio.nebius.ai/v1"),
    "novita": _compatible("NOVITA", "https://api.novita.ai/v3/openai"),
    "ai21_chat": _compatible("AI21", "https://api.ai21.com/studio/v1"),
    "codestral": _compatible("CODESTRAL", "https://codestral.mistral.ai/v1"),
    "volcengine": _compatible("VOLCENGINE", "https://ark.cn-beijing.volces.com/api/v3"),
    "meta_llama": _compatible("LLAMA", "https://api.llama.com/compat/v1"),
    "featherless_ai": _compatible("FEATHERLESS_AI", "https://api.featherless.ai/v1"),
    "inception": _compatible("INCEPTION", "https://api.inceptionlabs.ai/v1"),
    "aiml": _compatible("AIML", "https://api.aimlapi.com/v1"),
    "vercel_ai_gateway": _compatible("VERCEL_AI_GATEWAY", "https://ai-gateway.vercel.sh/v1"),
    "poe": Provider(("POE_API_KEY",), (), "https://api.poe.com/v1"),
    "litellm_proxy": Provider(("LITELLM_PROXY_API_KEY",), ("LITELLM_PROXY_API_BASE",)),
    "ollama": _server("OLLAMA", "http://localhost:11434"),
    "ollama_chat": _server("OLLAMA", "http://localhost:11434"),
    "lm_studio": _server("LM_STUDIO", None),
    "hosted_vllm": _server("HOSTED_VLLM", None),
    "llamafile": _server("LLAMAFILE", "http://127.0.0.1:8080/v1"),
    "docker_model_runner": _server(
        "DOCKER_MODEL_RUNNER", "http://localhost:22088/engines/llama.cpp"
    ),
}


def key_variable(name: str) -> str | None:
    """Return the variable in which people usually keep the key of a provider: `NAME_API_KEY`, if it
    has that, or the last of its credentials, which is the one that holds them itself; None for a
    provider that nobody knows or that needs no key."""
    provider = CATALOGUE.get(name)
    if provider is None or provider.keyless:
        return None
    if not provider.keys:
        return provider.private[-1] if provider.private else None
    usual = f"{name.upper()}_API_KEY"
    return usual if usual in provider.keys else provider.keys[0]


def setting_variables(name: str) -> tuple[str, ...]:
    """Return the variables that the models of a provider need besides its key, and that are no
    secrets: those of its settings, and of its address if it has none of its own."""
    provider = CATALOGUE.get(name)
    if provider is None:
        return ()
    has_address = provider.address or provider.hosts
    return (*provider.settings, *(() if has_address else provider.addresses[:1]))
