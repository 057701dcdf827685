"""The guarded fetch: it goes where it may, by the address it checked, and nowhere else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell import BadInput, CitewellError, Unavailable, WorkFailed
from citewell.models.download import Fetch
from citewell.text.urls import is_public, place_of
from support.model_host import ModelHost

PUBLIC = "93.184.216.34"


@pytest.fixture
def canary() -> Iterator[ModelHost]:
    """What stands for this machine's own services: nobody may ever reach it."""
    with ModelHost({"/": b"secret"}) as host:
        yield host
        assert host.asked == []


def body(fetch: Fetch, url: str, seconds: float = 10.0) -> bytes:
    with fetch.open(url, {}, seconds) as answer:
        return b"".join(answer.body)


def refusal(fetch: Fetch, url: str) -> str:
    with pytest.raises(CitewellError) as error:
        body(fetch, url)
    assert error.value.fix
    return error.value.message


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "0.0.0.0",
            "::1",
            "::",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
        ),
        *("::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:0:7f00:1"),
        *("fec0::1", "fe80::1%eth0", "100.100.100.200", "192.0.0.192", "168.63.129.16", "224.0.0.1"),
        *("ff02::1", "2001::1", "2001:db8::1", "192.88.99.1", "255.255.255.255", "not an address", ""),
    ],
)
@pytest.mark.attack("S3")
@pytest.mark.attack("S4")
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", [PUBLIC, "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "0", "2130706433", "0x7f000001", "0177.0.0.1", "127.1"),
        *("127.0.0.1.", "[::ffff:127.0.0.1]"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.attack("S1")
@pytest.mark.attack("S2")
def test_this_machine_is_not_reached_however_it_is_written(scheme: str, host: str, canary: ModelHost) -> None:
    refusal(Fetch(), f"{scheme}://{host}:{canary.port}/")


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://h/x", "gopher://h/x", "data:text/plain,x", "javascript:1", "//h/x", "h/x", ""),
        *("https://pub@127.0.0.1/", "https://127.0.0.1\\@pub/", "https://a\tb/", "https://a\nb/", "https://a%00b/"),
        *("https://１２７.0.0.1/", "https://①27.0.0.1/", "https:///x", "https://h:x/", "https://[::1/", "https://h h/"),
    ],
)
@pytest.mark.attack("S7")
@pytest.mark.attack("S8")
def test_what_is_no_plain_https_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        place_of(url)


@pytest.mark.parametrize("port", [22, 25, 80, 6379, 8443, 11434])
@pytest.mark.attack("S11")
def test_only_the_port_of_https_is_dialled(port: int) -> None:
    refusal(Fetch(resolve=lambda host, at: [PUBLIC]), f"https://public.example:{port}/")


@pytest.mark.parametrize("addresses", [["127.0.0.1", PUBLIC], [PUBLIC, "127.0.0.1"], ["::1"], []])
@pytest.mark.attack("S6")
def test_one_private_address_spoils_a_name(addresses: list[str]) -> None:
    refusal(Fetch(resolve=lambda host, port: addresses), "https://public.example/")


@pytest.mark.attack("S6")
def test_the_address_that_was_checked_is_the_one_that_is_dialled() -> None:
    """A name that has another address a moment later is not looked up again."""
    answers = iter([["127.0.0.1"]])
    with ModelHost({"/x": b"here"}) as host:
        fetch = Fetch(f"http://mirror.example:{host.port}", resolve=lambda name, port: next(answers))
        assert body(fetch, f"http://mirror.example:{host.port}/x") == b"here"
        assert [one.headers["host"] for one in host.asked] == [f"mirror.example:{host.port}"]


def test_what_the_user_configured_may_be_here_and_nothing_is_sent_along() -> None:
    with ModelHost({"/x": b"here"}) as host:
        assert body(Fetch(host.url), f"{host.url}/x") == b"here"
        (asked,) = host.asked
    assert asked.headers.keys() == {"host", "user-agent", "accept", "accept-encoding"}
    assert asked.headers["accept-encoding"] == "identity"


def test_plain_http_is_for_this_machine_alone() -> None:
    fetch = Fetch("http://mirror.example:8000", resolve=lambda host, port: ["192.168.1.7"])
    refusal(fetch, "http://mirror.example:8000/x")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.attack("S5")
def test_a_redirect_to_this_machine_is_not_followed(status: int, canary: ModelHost) -> None:
    with ModelHost({}, sends_on=lambda path: (status, f"http://127.0.0.1:{canary.port}/")) as host:
        refusal(Fetch(host.url), f"{host.url}/x")


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "https://u:p@h/", "", "https://127.0.0.1/", "http://public.example/", "x" * 10**6],
)
@pytest.mark.attack("S5")
@pytest.mark.attack("S13")
def test_a_redirect_to_what_is_never_fetched_is_not_followed(location: str) -> None:
    with ModelHost({}, sends_on=lambda path: (302, location)) as host:
        refusal(Fetch(host.url), f"{host.url}/x")
        assert len(host.asked) == 1


def test_a_redirect_within_the_configured_host_is_followed() -> None:
    with ModelHost({"/b": b"here"}, sends_on=lambda path: (307, "/b") if path == "/a" else None) as host:
        assert body(Fetch(host.url), f"{host.url}/a") == b"here"


@pytest.mark.attack("S13")
def test_redirects_have_an_end() -> None:
    with ModelHost({}, sends_on=lambda path: (302, "/again")) as host:
        assert "without end" in refusal(Fetch(host.url), f"{host.url}/x")
        assert len(host.asked) == 6


@pytest.mark.attack("S9")
def test_proxies_of_the_environment_are_not_used(canary: ModelHost, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, canary.url)
    with ModelHost({"/x": b"here"}) as host:
        assert body(Fetch(host.url), f"{host.url}/x") == b"here"


@pytest.mark.attack("S12")
def test_blocked_closed_and_unknown_look_alike(canary: ModelHost) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    base = "https://models.example"

    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror("no such name")

    messages = {
        refusal(Fetch(resolve=lambda host, at: ["127.0.0.1"]), base),
        refusal(Fetch(resolve=unknown), base),
        refusal(
            Fetch(f"http://models.example:{port}", resolve=lambda host, at: ["127.0.0.1"]),
            f"http://models.example:{port}/",
        ),
    }
    with ModelHost({}, sends_on=lambda path: (302, f"https://127.0.0.1:{canary.port}/")) as host:
        url = f"http://models.example:{host.port}"
        messages.add(refusal(Fetch(url, resolve=lambda name, at: ["127.0.0.1"]), f"{url}/x"))
    assert messages == {"Nothing that may be fetched answers at models.example."}


@pytest.mark.attack("B3")
def test_a_byte_now_and_then_runs_into_the_limit_of_the_whole() -> None:
    with ModelHost({"/x": b"y"}, drips=True) as host, pytest.raises(WorkFailed, match="too long"):
        body(Fetch(host.url), f"{host.url}/x", seconds=0.3)


@pytest.mark.attack("B3")
def test_headers_that_never_end_run_into_it_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unavailable):
            body(Fetch(url), url, seconds=0.2)
