"""The fetch guard goes where it may, by the address it checked, and nowhere else: a canary inside is never reached."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Iterator, Sequence

import pytest

from citewell.web.guard import FetchFailed, FetchReply, FetchRequest, Guard, resolve
from support.origin import Names, Origin, Page, dripping, endless, raw, redirect

PUBLIC = "93.184.216.34"


@pytest.fixture
def canary() -> Iterator[Origin]:
    """What stands for this machine's own services: nobody may ever reach it."""
    with Origin({"/": "secret"}) as origin:
        yield origin
        assert origin.asked == []


@pytest.fixture
def site() -> Iterator[Origin]:
    """A site that is out there, as far as the guard is told."""
    with Origin({"/": "<p>Hello.</p>"}) as origin:
        yield origin


def get(guard: Guard, url: str, **options: object) -> FetchReply:
    wanted = FetchRequest(url, **{"seconds": 5.0, "max_bytes": 100_000, **options})  # type: ignore[arg-type]
    return asyncio.run(guard.fetch(wanted))


def refused(guard: Guard, url: str, **options: object) -> FetchFailed:
    with pytest.raises(FetchFailed) as failed:
        get(guard, url, **options)
    assert not any(part in failed.value.message for part in ("127.", "10.", "::", "localhost"))
    return failed.value


def out_there(origin: Origin, *names: str) -> Guard:
    """A guard for which these names are the origin's; each is allowed by name and port, as a setting would."""
    known = dict.fromkeys((*names, "127.0.0.1"), "127.0.0.1")
    return Guard([f"{name}:{origin.port}" for name in names], Names(known))


def test_what_is_allowed_is_fetched(site: Origin) -> None:
    fetched = get(out_there(site, "site.test"), f"http://site.test:{site.port}/")
    assert (fetched.body, fetched.content_type, fetched.charset) == (b"<p>Hello.</p>", "text/html", "utf-8")
    assert fetched.final_url == f"http://site.test:{site.port}/"
    assert [request.host for request in fetched.requests] == ["site.test"]
    assert fetched.requests[0].sent > 0 < fetched.requests[0].received


@pytest.mark.attack("S1")
@pytest.mark.attack("S2")
@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "foo.localhost", "[::1]", "0.0.0.0", "[::]", "0"),
        *("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1."),
        *("１２７.０.０.１", "①②⑦.⓪.⓪.①", "ｌｏｃａｌｈｏｓｔ"),
    ],
)
@pytest.mark.parametrize("port", ["", "canary"])
def test_this_machine_is_not_reached_however_it_is_written(host: str, port: str, canary: Origin) -> None:
    at = f":{canary.port}" if port else ""
    assert refused(Guard(), f"http://{host}{at}/").problem in ("blocked_url", "network_error")
    # With its port allowed for another name, too.
    assert refused(Guard([f"other.test:{canary.port}"]), f"http://{host}{at}/").problem


@pytest.mark.attack("S3")
@pytest.mark.attack("S4")
@pytest.mark.parametrize(
    "address",
    [
        *("::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:0:7f00:1"),
        *("fec0::1", "fe80::1%eth0", "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"),
        *("168.63.129.16", "224.0.0.1", "ff02::1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1"),
    ],
)
def test_no_name_leads_to_an_address_that_is_not_public(address: str) -> None:
    names = Names({"site.test": address})
    assert refused(Guard(resolve=names), "http://site.test/").problem == "network_error"
    assert names.asked == ["site.test"]


@pytest.mark.attack("S3")
@pytest.mark.attack("S4")
@pytest.mark.parametrize("host", ["[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]", "169.254.169.254"])
def test_addresses_written_out_are_refused(host: str) -> None:
    assert refused(Guard(), f"http://{host}/").problem in ("blocked_url", "network_error")


@pytest.mark.attack("S5")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_inwards_is_not_followed(status: int, site: Origin, canary: Origin) -> None:
    site.pages["/in"] = redirect(f"{canary.url}/", status)
    site.pages["/on"] = redirect("/", status)
    guard = out_there(site, "site.test")
    assert refused(guard, f"http://site.test:{site.port}/in").problem in ("blocked_url", "network_error")
    assert get(guard, f"http://site.test:{site.port}/on").body == b"<p>Hello.</p>"  # the control


@pytest.mark.attack("S5")
def test_refresh_in_a_header_or_a_page_is_not_followed(site: Origin, canary: Origin) -> None:
    page = f'<meta http-equiv="refresh" content="0; url={canary.url}/"><p>Stays.</p>'
    site.pages["/page"] = Page(page, headers={"refresh": f"0; url={canary.url}/"})
    assert b"Stays." in get(out_there(site, "site.test"), f"http://site.test:{site.port}/page").body


@pytest.mark.attack("S5")
def test_https_is_never_left_for_http() -> None:
    from citewell.text.urls import place_of
    from citewell.web.guard import _next

    secure = place_of("https://site.test/")
    assert _next("https://site.test/", secure, "https://other.test/a")[1].host == "other.test"
    with pytest.raises(FetchFailed):
        _next("https://site.test/", secure, "http://site.test/")


@pytest.mark.attack("S6")
@pytest.mark.parametrize("answers", [[PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], [PUBLIC, "::1"]])
def test_one_private_address_spoils_a_name(answers: Sequence[str], canary: Origin) -> None:
    guard = Guard(resolve=Names({"site.test": [answers]}))
    assert refused(guard, "http://site.test/").problem == "network_error"


@pytest.mark.attack("S6")
def test_a_name_is_asked_once_and_the_checked_address_dialled(site: Origin, canary: Origin) -> None:
    """The second answer would lead to the canary: nobody asks for it."""
    names = Names({"site.test": [["127.0.0.1"], ["127.0.0.2"]]})
    guard = Guard([f"site.test:{site.port}"], names)
    assert get(guard, f"http://site.test:{site.port}/").status == 200
    assert names.asked == ["site.test"]
    assert [asked.host for asked in site.asked] == ["site.test"]


def test_an_address_that_leads_nowhere_leaves_the_others(site: Origin) -> None:
    names = Names({"site.test": [["::1", "127.0.0.1"]]})
    assert get(Guard([f"site.test:{site.port}"], names), f"http://site.test:{site.port}/").status == 200


@pytest.mark.attack("S6")
def test_a_name_that_turns_inwards_is_checked_at_every_hop(site: Origin, canary: Origin) -> None:
    site.pages["/again"] = redirect("http://site.test/")
    names = Names({"site.test": [["127.0.0.1"], ["10.0.0.7"]]})
    guard = Guard([f"site.test:{site.port}"], names)  # port 80 of the name is not allowed: public or nothing
    assert refused(guard, f"http://site.test:{site.port}/again").problem == "network_error"
    assert names.asked == ["site.test", "site.test"]


@pytest.mark.attack("S7")
@pytest.mark.parametrize(
    "url",
    [
        *("http://pub.test@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@pub.test/", "http://pub.test:x@127.0.0.1/"),
        *("http://127.0.0.1\t:{port}/", "http://127.0.0.1\n:{port}/", "http://127.0.0.1%00.pub.test:{port}/"),
        *("http://127.0.0.1:{port}#@pub.test/", "http:///127.0.0.1:{port}/", "http://[::1]@pub.test/"),
    ],
)
def test_one_parser_decides_which_host_is_meant(url: str, canary: Origin) -> None:
    guard = Guard(["pub.test:80"], Names({"pub.test": "127.0.0.1"}))
    assert refused(guard, url.format(port=canary.port)).problem in ("blocked_url", "network_error")


@pytest.mark.attack("S8")
@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://site.test/",
        "gopher://site.test/",
        "data:text/html,x",
        "javascript:1",
        "//site.test/",
    ],
)
def test_only_the_web_is_fetched(url: str, site: Origin) -> None:
    guard = out_there(site, "site.test")
    assert refused(guard, url).problem == "blocked_url"
    site.pages["/other"] = redirect(url)
    if not url.startswith("//"):
        assert refused(guard, f"http://site.test:{site.port}/other").problem == "blocked_url"


@pytest.mark.attack("S9")
def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch, site: Origin, canary: Origin) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, canary.url)
    assert get(out_there(site, "site.test"), f"http://site.test:{site.port}/").status == 200


@pytest.mark.attack("S11")
@pytest.mark.parametrize("port", [22, 25, 6379, 11434, 8080])
def test_only_ports_of_the_web_are_dialled(port: int) -> None:
    names = Names({"site.test": PUBLIC})
    assert refused(Guard(resolve=names), f"http://site.test:{port}/").problem == "blocked_url"
    assert names.asked == []


@pytest.mark.attack("S12")
def test_blocked_closed_and_unknown_look_alike(canary: Origin) -> None:
    with Origin() as gone:
        port = gone.port
    names = Names({"private.test": "10.0.0.1", "closed.test": "127.0.0.1"})
    guard = Guard([f"closed.test:{port}"], names)
    told = [
        (failed.problem, failed.message)
        for url in ("http://private.test/", f"http://closed.test:{port}/", "http://unknown.test/")
        for failed in [refused(guard, url)]
    ]
    assert len(set(told)) == 1


@pytest.mark.attack("S13")
def test_redirects_end(site: Origin) -> None:
    site.pages["/loop"] = redirect("/loop")
    site.pages["/far"] = redirect(f"/{'x' * 60_000}")
    site.pages |= {f"/{n}": redirect(f"/{n + 1}") for n in range(50)}
    guard = out_there(site, "site.test")
    assert refused(guard, f"http://site.test:{site.port}/loop").problem == "other"
    assert len(site.asked) == 4
    assert refused(guard, f"http://site.test:{site.port}/0").problem == "other"
    assert len(site.asked) == 8
    assert refused(guard, f"http://site.test:{site.port}/far").problem == "blocked_url"
    site.pages["/47"] = redirect("/")
    assert get(guard, f"http://site.test:{site.port}/47").status == 200


@pytest.mark.attack("S13")
@pytest.mark.attack("B3")
def test_a_megabyte_of_headers_is_not_taken(site: Origin) -> None:
    site.pages["/far"] = raw(b"HTTP/1.1 302 Found\r\nLocation: /", b"x" * 1_000_000, b"\r\n\r\n")
    assert refused(out_there(site, "site.test"), f"http://site.test:{site.port}/far").problem == "network_error"


@pytest.mark.attack("S14")
def test_headers_and_bodies_stay_with_the_first_origin(site: Origin) -> None:
    site.pages["one.test/"] = redirect(f"http://two.test:{site.port}/")
    site.pages["two.test/"] = "<p>There.</p>"
    site.pages["one.test/own"] = redirect("/there")
    site.pages["one.test/there"] = "<p>There.</p>"
    guard = out_there(site, "one.test", "two.test")
    secret = {"authorization": "Bearer secret", "x-api-key": "secret"}
    get(guard, f"http://one.test:{site.port}/", headers=secret, method="POST", body=b"secret")
    get(guard, f"http://one.test:{site.port}/own", headers=secret)
    first, second, own, there = site.asked
    assert first.headers["authorization"] == "Bearer secret"
    assert first.body == b"secret"
    assert "secret" not in str(second.headers) + str(second.body)
    assert own.headers["x-api-key"] == there.headers["x-api-key"] == "secret"


@pytest.mark.attack("S15")
def test_an_address_configured_for_one_purpose_is_open_for_no_other(site: Origin) -> None:
    guard = Guard()
    assert get(guard, f"{site.url}/", configured=site.url).status == 200
    assert refused(guard, f"{site.url}/").problem == "blocked_url"
    with Origin({"/": "secret"}) as other:
        site.pages["/away"] = redirect(f"{other.url}/")
        assert refused(guard, f"{site.url}/away", configured=site.url).problem == "blocked_url"
        assert other.asked == []


@pytest.mark.attack("B1")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "compress"])
def test_what_is_packed_never_unpacks_beyond_its_limit(encoding: str, site: Origin) -> None:
    bomb = {"gzip": gzip.compress(b"0" * 60_000_000), "deflate": zlib.compress(b"0" * 60_000_000)}
    body = bomb.get(encoding, bomb["gzip"])
    site.pages["/bomb"] = Page(body, headers={"content-encoding": encoding})
    failed = refused(out_there(site, "site.test"), f"http://site.test:{site.port}/bomb")
    assert failed.problem == ("too_large" if encoding in bomb else "unsupported_content_type")
    assert failed.requests[0].received <= 100_000


@pytest.mark.attack("B1")
def test_a_redirect_s_body_is_not_read(site: Origin) -> None:
    site.pages["/bomb"] = Page(
        gzip.compress(b"0" * 60_000_000), status=302, headers={"location": "/", "content-encoding": "gzip"}
    )
    assert get(out_there(site, "site.test"), f"http://site.test:{site.port}/bomb").body == b"<p>Hello.</p>"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_is_packed_is_unpacked(encoding: str, site: Origin) -> None:
    plain = b"<p>Packed.</p>"
    packed = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
    site.pages["/packed"] = Page(packed, headers={"content-encoding": encoding})
    guard = out_there(site, "site.test")
    assert get(guard, f"http://site.test:{site.port}/packed").body == b"<p>Packed.</p>"
    site.pages["/cut"] = Page(packed[:-6], headers={"content-encoding": encoding})
    assert refused(guard, f"http://site.test:{site.port}/cut").problem == "network_error"


@pytest.mark.attack("B1")
def test_gzip_of_several_members_is_read_to_its_end_or_fails(site: Origin) -> None:
    first, second = gzip.compress(b"<p>One.</p>"), gzip.compress(b"<p>Two.</p>")
    large = gzip.compress(b"0" * 60_000)
    guard = out_there(site, "site.test")

    def packed(body: bytes, encoding: str = "gzip") -> str:
        site.pages["/packed"] = Page(body, headers={"content-encoding": encoding})
        return f"http://site.test:{site.port}/packed"

    assert get(guard, packed(first + second)).body == b"<p>One.</p><p>Two.</p>"
    assert get(guard, packed(first + b"\0" * 512 + second + b"\0" * 512)).body == b"<p>One.</p><p>Two.</p>"
    assert get(guard, packed(gzip.compress(b"") * 2_000 + second)).body == b"<p>Two.</p>"
    assert refused(guard, packed(first + second[:-6])).problem == "network_error"
    assert refused(guard, packed(first + b"<p>Two.</p>")).problem == "parse_error"
    assert refused(guard, packed(zlib.compress(b"<p>One.</p>") + b"<p>Two.</p>", "deflate")).problem == "parse_error"
    assert refused(guard, packed(large + large)).problem == "too_large"


@pytest.mark.attack("B1")
def test_gzip_whose_members_come_one_by_one_is_read_to_its_end(site: Origin) -> None:
    members = [gzip.compress(b"<p>%d</p>" % number) for number in range(3)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    site.pages["/slow"] = raw(head, members[0], members[1], members[2][:7], members[2][7:])
    page = get(out_there(site, "site.test"), f"http://site.test:{site.port}/slow")
    assert page.body == b"<p>0</p><p>1</p><p>2</p>"


@pytest.mark.attack("B2")
def test_bodies_without_end_and_lengths_that_lie(site: Origin) -> None:
    site.pages["/endless"] = endless
    site.pages["/long"] = Page("x", headers={"content-length": "99999999"})
    site.pages["/short"] = raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n", b"x" * 500_000
    )
    site.pages["/cut"] = raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 400\r\n\r\nxx")
    guard = out_there(site, "site.test")
    at = f"http://site.test:{site.port}"
    assert refused(guard, f"{at}/endless").problem == "too_large"
    assert refused(guard, f"{at}/long").problem == "too_large"
    assert get(guard, f"{at}/short").body == b"xxxx"
    assert refused(guard, f"{at}/cut").problem == "network_error"


@pytest.mark.attack("B3")
def test_chunks_of_one_byte_are_read_or_cut_within_the_limits(site: Origin) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    site.pages["/some"] = raw(head, b"1\r\na\r\n" * 20_000, b"0\r\n\r\n")
    site.pages["/many"] = raw(head, b"1\r\na\r\n" * 200_000, b"0\r\n\r\n")
    guard = out_there(site, "site.test")
    assert get(guard, f"http://site.test:{site.port}/some").body == b"a" * 20_000
    assert refused(guard, f"http://site.test:{site.port}/many", max_bytes=100_000).problem == "too_large"


@pytest.mark.attack("B3")
@pytest.mark.parametrize("every", [0.02, 1.0])
def test_a_byte_now_and_then_runs_into_the_deadline_of_the_whole(every: float, site: Origin) -> None:
    site.pages["/drip"] = dripping(every)
    failed = refused(out_there(site, "site.test"), f"http://site.test:{site.port}/drip", seconds=0.3)
    assert failed.problem == "timeout"


@pytest.mark.attack("B3")
def test_a_host_that_never_answers_runs_into_the_deadline(site: Origin) -> None:
    site.pages["/silent"] = Page("late", seconds=60)
    failed = refused(out_there(site, "site.test"), f"http://site.test:{site.port}/silent", seconds=0.3)
    assert failed.problem == "timeout"


def test_a_name_that_is_never_looked_up_runs_into_the_deadline() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(60)
        return [PUBLIC]

    assert refused(Guard(resolve=never), "http://site.test/", seconds=0.2).problem == "timeout"


def test_only_the_types_asked_for_are_taken(site: Origin) -> None:
    site.pages["/zip"] = Page(b"PK", "application/zip")
    guard = out_there(site, "site.test")
    at = f"http://site.test:{site.port}"
    assert refused(guard, f"{at}/zip", accept=("text/html",)).problem == "unsupported_content_type"
    assert get(guard, f"{at}/", accept=("text/html",)).status == 200
    assert refused(guard, f"{at}/missing").status == 404


def test_cancelling_closes_the_connection(site: Origin) -> None:
    site.pages["/drip"] = dripping(0.01)
    guard = out_there(site, "site.test")

    async def scenario() -> None:
        task = asyncio.ensure_future(guard.fetch(FetchRequest(f"http://site.test:{site.port}/drip", 60, 10_000_000)))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 2)

    asyncio.run(scenario())


def test_the_system_s_resolver_gives_every_address() -> None:
    assert "127.0.0.1" in asyncio.run(resolve("127.0.0.1", 80))
