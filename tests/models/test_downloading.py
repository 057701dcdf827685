"""Fetching a model: whole or not at all, gone on with where it stopped, and never another one unnoticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from citewell import CitewellError, StoreFull, Unavailable, WorkFailed
from citewell.models.download import PINS, CatalogueFile, CatalogueModel, Downloads, Fetch, FetchReport, catalogue
from support.model_host import ModelHost

GRAPH = bytes(range(256)) * 8_000
WORDS = b'{"a": 1}'


def model(sha256: str = "", megabytes: int = 2) -> CatalogueModel:
    files = (CatalogueFile("model.onnx", "onnx/small.onnx", sha256), CatalogueFile("config.json", "config.json", ""))
    return CatalogueModel("toy", "judge", "a toy", "MIT", "nobody", "some/toy", "main", megabytes, "", files)


def remote(graph: bytes = GRAPH) -> dict[str, bytes]:
    return {"/some/toy/resolve/main/onnx/small.onnx": graph, "/some/toy/resolve/main/config.json": WORDS}


GRAPH_PATH, WORDS_PATH = remote()


def get(folder: Path, host: ModelHost, wanted: CatalogueModel | None = None, seconds: float = 20.0) -> FetchReport:
    return Downloads(folder, Fetch(host.url), host.url, seconds).get(wanted or model(), lambda name, done, total: None)


def refused(folder: Path, host: ModelHost, wanted: CatalogueModel | None = None) -> CitewellError:
    with pytest.raises(CitewellError) as error:
        get(folder, host, wanted)
    assert not (folder / "toy").exists()
    assert error.value.fix
    return error.value


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_model_is_fetched_pinned_and_put_in_its_place(tmp_path: Path) -> None:
    with ModelHost(remote()) as host:
        report = get(tmp_path, host)
        assert (tmp_path / "toy" / "model.onnx").read_bytes() == GRAPH
        assert (tmp_path / "toy" / "config.json").read_bytes() == WORDS
        assert [(one.path, one.sha256, one.checked_by) for one in report.files] == [
            ("model.onnx", sha(GRAPH), "first"),
            ("config.json", sha(WORDS), "first"),
        ]
        assert report.fetched_bytes == len(GRAPH) + len(WORDS)
        assert report.setting == f"CITEWELL_JUDGE={tmp_path / 'toy'}"
        pins = json.loads((tmp_path / PINS).read_text("utf-8"))
        assert pins == {"some/toy@main/onnx/small.onnx": sha(GRAPH), "some/toy@main/config.json": sha(WORDS)}
        again = get(tmp_path, host)
        assert again.fetched_bytes == 0
        assert {one.checked_by for one in again.files} == {"pin"}
        assert len(host.asked) == 2
    assert sorted(path.name for path in (tmp_path / "toy").iterdir()) == ["about.json", "config.json", "model.onnx"]


@pytest.mark.parametrize("has_etags", [True, False])
def test_what_was_cut_off_is_gone_on_with(tmp_path: Path, has_etags: bool) -> None:
    """Without a mark of the version, only where the hash of the whole is known."""
    wanted = model("" if has_etags else sha(GRAPH))
    with ModelHost(remote(), cuts_after=1_000_000, has_etags=has_etags) as host:
        assert "cut" in refused(tmp_path, host, wanted).message
        report = get(tmp_path, host, wanted)
        assert host.asked[1].headers["range"] == "bytes=1000000-"
    assert (tmp_path / "toy" / "model.onnx").read_bytes() == GRAPH
    assert report.fetched_bytes == len(GRAPH) - 1_000_000 + len(WORDS)


@pytest.mark.parametrize("way", ["no marks", "no ranges", "another version"])
def test_where_it_cannot_go_on_it_begins_anew(tmp_path: Path, way: str) -> None:
    with ModelHost(remote(), cuts_after=500_000) as host:
        host.has_etags, host.has_ranges = way != "no marks", way != "no ranges"
        refused(tmp_path, host)
        if way == "another version":
            host.files |= remote(GRAPH[::-1])
        get(tmp_path, host)
    assert (tmp_path / "toy" / "model.onnx").read_bytes() == host.files[GRAPH_PATH]


def test_a_range_that_does_not_fit_is_thrown_away(tmp_path: Path) -> None:
    with ModelHost(remote(), cuts_after=1_000) as host:
        wanted = model(sha(GRAPH))
        host.has_etags = False
        refused(tmp_path, host, wanted)
        host.files |= remote(GRAPH[:500])  # shorter than what is there: 416
        refused(tmp_path, host, wanted)
        host.files |= remote()
        get(tmp_path, host, wanted)
    assert (tmp_path / "toy" / "model.onnx").read_bytes() == GRAPH


@pytest.mark.parametrize("is_known", [True, False])
def test_a_file_that_came_whole_before_its_end_was_noticed(tmp_path: Path, is_known: bool) -> None:
    """Where its hash is known nothing is fetched again; else the host has nothing left to give, and it begins anew."""
    part = tmp_path / ".fetching-toy" / "model.onnx.part"
    part.parent.mkdir()
    part.write_bytes(GRAPH)
    with ModelHost(remote()) as host:
        if not is_known:
            etag = hashlib.md5(GRAPH, usedforsecurity=False).hexdigest()
            part.with_name("model.onnx.part.json").write_text(json.dumps({"etag": f'"{etag}"'}), "utf-8")
        report = get(tmp_path, host, model(sha(GRAPH) if is_known else ""))
    assert (tmp_path / "toy" / "model.onnx").read_bytes() == GRAPH
    assert report.fetched_bytes == len(WORDS) + (0 if is_known else len(GRAPH))


def test_a_file_that_is_not_the_one_the_catalogue_knows_is_refused(tmp_path: Path) -> None:
    with ModelHost(remote(GRAPH[:-1] + b"!")) as host:
        assert "the catalogue knows" in refused(tmp_path, host, model(sha(GRAPH))).message
        assert list(tmp_path.rglob("*.part")) == []
        host.files |= remote()
        assert get(tmp_path, host, model(sha(GRAPH))).files[0].checked_by == "catalogue"


def test_a_file_that_changes_after_its_first_download_is_refused(tmp_path: Path) -> None:
    with ModelHost(remote()) as host:
        get(tmp_path, host)
        (tmp_path / "toy" / "model.onnx").unlink()
        host.files |= remote(GRAPH[::-1])
        with pytest.raises(WorkFailed) as error:
            get(tmp_path, host)
        assert "when it was first fetched" in error.value.message
        assert PINS in error.value.fix
        host.files |= remote()
        get(tmp_path, host)
    assert (tmp_path / "toy" / "model.onnx").read_bytes() == GRAPH


def test_what_the_host_declares_must_be_true(tmp_path: Path) -> None:
    """By SHA-256, also on the way to another address; by Git's name for a small file."""
    blob = hashlib.sha1(b"blob %d\0" % len(WORDS) + WORDS, usedforsecurity=False).hexdigest()
    moved = {"/cdn": GRAPH, WORDS_PATH: WORDS}
    declared = {GRAPH_PATH: sha(GRAPH), WORDS_PATH: blob}
    with ModelHost(moved, lambda path: (302, "/cdn") if path == GRAPH_PATH else None, declared) as host:
        assert [one.checked_by for one in get(tmp_path / "a", host).files] == ["host", "host"]
        host.declares = {GRAPH_PATH: sha(b"something else")}
        assert "its host declares" in refused(tmp_path / "b", host).message


@pytest.mark.attack("B2")
def test_a_body_without_end_is_cut_at_the_size_it_may_have(tmp_path: Path) -> None:
    with ModelHost(remote(), is_endless=True) as host:
        assert "larger than 20 MB" in refused(tmp_path, host).message
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.part")) == 0


@pytest.mark.attack("B3")
def test_a_body_that_drips_runs_out_of_time(tmp_path: Path) -> None:
    with ModelHost(remote(), drips=True) as host, pytest.raises(WorkFailed, match="too long"):
        get(tmp_path, host, seconds=0.3)


def test_a_host_without_the_file_says_so(tmp_path: Path) -> None:
    with ModelHost({}) as host:
        error = refused(tmp_path, host)
    assert isinstance(error, Unavailable)
    assert "HTTP 404" in error.message


def test_two_processes_do_not_fetch_one_model_at_the_same_time(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    tmp_path.mkdir(exist_ok=True)
    with ModelHost(remote()) as host, (tmp_path / ".toy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "Another process" in refused(tmp_path, host).message
        assert host.asked == []


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    (tmp_path / ".fetching-toy").mkdir()
    (tmp_path / ".fetching-toy" / "model.onnx.part").symlink_to(full)
    with ModelHost(remote()) as host, pytest.raises(StoreFull):
        get(tmp_path, host)


def test_the_catalogue_is_complete_and_its_addresses_are_plain() -> None:
    kinds = {one.kind for one in catalogue().values()}
    assert kinds == {"judge", "reader", "reranker"}
    for one in catalogue().values():
        assert one.licence in ("Apache-2.0", "MIT", "CC-BY-4.0")
        assert one.published
        assert one.authors
        assert {"model.onnx", "tokenizer.json", "config.json"} <= {file.path for file in one.files}
        for file in one.files:
            assert one.url(file, "").startswith(f"https://huggingface.co/{one.repository}/resolve/")
            assert len(file.sha256) in (0, 64)
