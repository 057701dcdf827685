"""Names of models: who is meant, where that is, whether it is local, and who gets the key."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Settings, Unavailable
from citewell.models.chat import check_model, open_chat
from citewell.models.endpoints import (
    PROVIDERS,
    askable_providers,
    is_hosted,
    is_local_address,
    resolve,
    set_models,
    split_model,
)
from citewell.models.messages import ChatRequest, PromptMessage


def settings(**values: Any) -> Settings:
    return Settings(data_dir=Path("unused"), **values)


@pytest.mark.parametrize("model", ["gpt-4o", "", "extractive"])
def test_a_name_without_a_provider_is_said_to_have_none(model: str) -> None:
    with pytest.raises(BadInput) as error:
        resolve(model, settings())
    assert "no provider" in error.value.message
    assert "ollama:" in error.value.fix


def test_an_unknown_provider_gets_the_list_of_known_ones() -> None:
    with pytest.raises(BadInput) as error:
        split_model("acme:large")
    assert all(name in error.value.fix for name in PROVIDERS)


@pytest.mark.parametrize("model", ["openai:", "ollama:  "])
def test_a_provider_without_a_name_gets_an_example(model: str) -> None:
    with pytest.raises(BadInput, match="no name"):
        split_model(model)


def test_a_name_may_have_colons_and_slashes() -> None:
    assert resolve("ollama:qwen3:8b", settings()).name == "qwen3:8b"
    assert resolve("openrouter:qwen/qwen3", settings()).name == "qwen/qwen3"
    assert split_model("OpenAI:x")[0].name == "openai"


@pytest.mark.parametrize(
    ("model", "values", "url"),
    [
        ("ollama:x", {}, "http://127.0.0.1:11434/v1"),
        ("ollama:x", {"ollama_url": "http://gpu:11434"}, "http://gpu:11434/v1"),
        ("ollama:x", {"ollama_url": "http://gpu:11434/v1/"}, "http://gpu:11434/v1"),
        ("openai:x", {"model_base_url": "http://127.0.0.1:9000/api"}, "http://127.0.0.1:9000/api"),
        ("openai:x", {"model_base_url": "http://127.0.0.1:9000", "openai_url": "http://a/v1"}, "http://a/v1"),
        ("anthropic:x", {}, "https://api.anthropic.com"),
        ("anthropic:x", {"anthropic_url": "http://127.0.0.1:1/v1"}, "http://127.0.0.1:1"),
    ],
)
def test_the_address_is_the_providers_own_setting_then_the_general_one_then_the_default(
    model: str, values: dict[str, str], url: str
) -> None:
    assert resolve(model, settings(**values)).base_url == url


@pytest.mark.parametrize("url", ["gpu:11434", "file:///etc/passwd", "http://", "http://a:99999", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="CITEWELL_OLLAMA_URL"):
        resolve("ollama:x", settings(ollama_url=url))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "::1", "[::1]", "localhost", "a.localhost", "10.1.2.3", "192.168.1.5", "172.16.0.1", "100.64.0.1",
     "fd00::1", "fe80::1%eth0", "gpu", "gpu.local", "box.home.arpa", "host.docker.internal", "LOCALHOST."],
)  # fmt: skip
def test_this_machine_and_its_network_are_local(host: str) -> None:
    assert is_local_address(host)


@pytest.mark.parametrize("host", ["api.openai.com", "8.8.8.8", "2606:4700::1", "localhost.example.com", "", "1.1.1.1"])
def test_everything_else_is_hosted(host: str) -> None:
    assert not is_local_address(host)


def test_hosted_goes_by_the_address_and_not_by_the_provider() -> None:
    assert is_hosted("openai:x", settings())
    assert not is_hosted("openai:x", settings(openai_url="http://127.0.0.1:1234/v1"))
    assert is_hosted("ollama:x", settings(ollama_url="https://ollama.com/v1"))


def test_a_key_is_sent_to_its_owner_alone() -> None:
    chosen = settings(model="openai:a", planner_model="openrouter:b", model_api_key="k")
    assert resolve("openai:other", chosen).key == "k"
    other = resolve("openrouter:b", chosen)
    assert other.key == ""
    assert "openai" in other.key_withheld
    assert resolve("openrouter:b", settings(model_api_key="k")).key == "k"


def test_a_key_is_not_shown() -> None:
    endpoint = resolve("openai:x", settings(model_api_key="k-123", openai_url="http://h/v1?key=z"))
    assert "k-123" not in repr(endpoint)
    assert endpoint.origin == "http://h/v1"


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(BadInput) as error:
        resolve("openai:x", settings(openai_url="http://user:pw-77@h/v1"))
    assert "pw-77" not in f"{error.value.message} {error.value.fix}"


@pytest.mark.parametrize("package", ["openai", "anthropic"])
def test_a_missing_package_is_named_with_the_command(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    request = ChatRequest("write", f"{package}:x", (PromptMessage("user", "x"),), 5, 5.0)
    with pytest.raises(Unavailable) as error:
        asyncio.run(open_chat(settings()).chat(request))
    assert package in error.value.message
    assert "pip install openai anthropic" in error.value.fix
    with pytest.raises(Unavailable):
        check_model(f"{package}:x", settings())


def test_opening_chat_loads_no_client() -> None:
    program = (
        "import sys; from pathlib import Path; from citewell.settings import Settings\n"
        "from citewell.models.chat import open_chat\n"
        "open_chat(Settings(data_dir=Path('x'), model='openai:gpt-4o'))\n"
        "print([name for name in ('openai', 'anthropic', 'httpx2', 'genai_prices', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_models_that_are_set_can_be_named_and_others_of_their_providers() -> None:
    several = settings(model="openai:one", planner_model="ollama:two", review_model="openai:one")
    assert set_models(several) == ("openai:one", "ollama:two")
    assert askable_providers(several) == ("openai", "ollama")
    assert set_models(settings(model="extractive")) == ()
    assert askable_providers(settings(model="no provider")) == ()
