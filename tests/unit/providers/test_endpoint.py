from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from gatekeeper.errors import UsageError
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.endpoint import endpoint_of, is_expected_host

KEY = "sk-own-0123456789abcdef"
OTHER = "sk-other-0123456789abcdef"
CHAT = "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_provider_never_gets_the_key_or_address_of_another(name: str) -> None:
    provider = CATALOGUE[name]
    others = {
        variable: OTHER if variable in other.keys else "https://other.example/v1"
        for other in CATALOGUE.values()
        for variable in (*other.keys, *other.addresses)
        if variable not in (*provider.keys, *provider.addresses)
    }
    own = {}
    if provider.address is None and not provider.hosts:
        own = {provider.addresses[0]: "https://own.example/v1"}
    found = endpoint_of(f"{name}/x", {**others, **own})
    assert found.api_key is None
    assert found.api_base in (provider.address, "https://own.example/v1")
    assert bool(found.missing) == (not provider.keyless)
    assert OTHER in found.foreign.values()
    assert "other.example" not in found.host_patterns
    for variable in provider.keys:
        opened = endpoint_of(f"{name}/x", {**others, **own, variable: KEY})
        assert (opened.api_key, opened.missing) == (KEY, ())
        assert KEY not in opened.foreign.values()
    assert KEY not in repr(endpoint_of(f"{name}/x", {**own, "OPENAI_API_KEY": KEY}))


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_an_address_of_ones_own_takes_the_place_of_the_providers(name: str) -> None:
    provider = CATALOGUE[name]
    for variable in provider.addresses:
        environ = {variable: "http://127.0.0.1:4000/v1", **dict.fromkeys(provider.keys, KEY)}
        found = endpoint_of(f"{name}/x", environ)
        assert found.api_base == "http://127.0.0.1:4000/v1"
        assert found.refusal("http://127.0.0.1:4000/v1/chat", [KEY.encode()]) is None
        assert found.refusal("http://127.0.0.1:4001/v1/chat", []) is not None
        assert found.refusal("https://evil.example/", []) is not None


@pytest.mark.parametrize(
    ("model", "environ"),
    [
        ("deepnothing/x", {}),
        ("openai/https://evil.example", {"OPENAI_API_KEY": KEY}),
        ("azure/x", {"AZURE_API_KEY": KEY}),
        ("hosted_vllm/x", {}),
        ("openai/x", {"OPENAI_BASE_URL": "api.example.com/v1"}),
        ("openai/x", {"OPENAI_BASE_URL": "ftp://api.example.com"}),
        ("openai/x", {"OPENAI_BASE_URL": "http://[bad"}),
        ("openai/x", {"OPENAI_BASE_URL": "http://host:port"}),
    ],
)
def test_what_cannot_be_asked(model: str, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError) as refused:
        endpoint_of(model, environ)
    assert model in str(refused.value)


def test_an_empty_variable_is_none() -> None:
    found = endpoint_of("openai/x", {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""})
    assert (found.missing, found.api_base) == (("OPENAI_API_KEY",), "https://api.openai.com/v1")


def test_aws_keys_that_litellm_reads_itself_are_enough() -> None:
    environ = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY, "OPENAI_API_KEY": OTHER}
    found = endpoint_of("bedrock/x", environ)
    assert (found.api_key, found.api_base, found.missing) == (None, None, ())
    assert found.foreign == {"OPENAI_API_KEY": OTHER}


def test_litellms_own_proxy_answers_for_every_model() -> None:
    environ = {
        "USE_LITELLM_PROXY": "True",
        "LITELLM_PROXY_API_BASE": "https://proxy.example",
        "LITELLM_PROXY_API_KEY": KEY,
        "OPENAI_API_KEY": OTHER,
    }
    found = endpoint_of("openai/gpt-4o", environ)
    assert (found.model, found.api_key, found.api_base) == (
        "openai/gpt-4o",
        KEY,
        "https://proxy.example",
    )


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse", False),
        ("https://sts.eu-west-1.amazonaws.com/", False),
        ("https://bedrock-agentcore.eu-west-1.amazonaws.com/", True),
        ("https://bedrock-runtime.evil.example/.amazonaws.com/", True),
        ("https://bedrock-runtime.a.b.amazonaws.com/", True),
        ("http://bedrock-runtime.eu-west-1.amazonaws.com/", True),
        ("https://s3.eu-west-1.amazonaws.com/", True),
    ],
)
def test_aws_hosts(url: str, refused: bool) -> None:
    found = endpoint_of("bedrock/x", {"AWS_BEARER_TOKEN_BEDROCK": KEY})
    assert bool(found.refusal(url, [])) is refused


def test_an_address_of_ones_own_still_finds_tokens() -> None:
    environ = {"AWS_BEDROCK_RUNTIME_ENDPOINT": "https://vpce.example", "AWS_ACCESS_KEY_ID": KEY}
    found = endpoint_of("bedrock/x", environ)
    assert {"vpce.example", "sts.amazonaws.com"} <= set(found.host_patterns)


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        (OTHER, True),
        (f"x{OTHER}y", True),
        ("sk-oth", False),
        ("short", False),
        ("not-a-secret-but-long-enough", False),
        ("pa%20ss%20word%20of%2016", True),
    ],
)
def test_secrets_of_others(said: str, refused: bool) -> None:
    environ = {
        "OPENAI_API_KEY": KEY,
        "GROQ_API_KEY": OTHER,
        "MISTRAL_API_KEY": "short",
        "KEY_OF_WHAT": "not-a-secret-but-long-enough",
        "DB_PASSWORD": "pa ss word of 16",
    }
    found = endpoint_of("openai/x", environ)
    assert bool(found.refusal(CHAT, [b"head", said.encode()])) is refused


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("api.openai.com", True),
        ("API.OpenAI.com.", True),
        ("sts.eu-1.amazonaws.com", True),
        ("sts..amazonaws.com", False),
        ("sts.a.b.amazonaws.com", False),
        ("api.openai.com.evil.example", False),
        ("apixopenai.com", False),
        ("", False),
    ],
)
def test_expected_hosts(host: str, expected: bool) -> None:
    assert is_expected_host(host, ("api.openai.com", "sts.*.amazonaws.com")) is expected


def test_the_catalogue_holds_addresses_that_can_be_asked() -> None:
    for name, provider in CATALOGUE.items():
        assert provider.address or provider.addresses or provider.hosts, name
        if provider.address is not None:
            parts = urlsplit(provider.address)
            assert parts.hostname
            assert parts.scheme == "https" or provider.keyless, name


def test_white_space_around_a_key_or_an_address_is_none_of_it() -> None:
    environ = {"OPENAI_API_KEY": f" {KEY}\r\n", "OPENAI_BASE_URL": "https://own.example/v1\n"}
    found = endpoint_of("openai/x", environ)
    assert (found.api_key, found.api_base) == (KEY, "https://own.example/v1")
    assert endpoint_of("openai/x", {"OPENAI_API_KEY": " \n"}).missing


@pytest.mark.parametrize("inside", ["\n", "\x00", "\u2028", "é"])
def test_a_key_that_no_header_may_have_is_refused(inside: str) -> None:
    with pytest.raises(UsageError) as refused:
        endpoint_of("openai/x", {"OPENAI_API_KEY": f"{KEY}{inside}{KEY}"})
    assert "OPENAI_API_KEY" in str(refused.value)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    "address", ["https://me:hunter2@own.example", "https://hunter2@own.example"]
)
def test_an_address_with_credentials_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        endpoint_of("openai/x", {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address})
    assert "hunter2" not in str(refused.value)
