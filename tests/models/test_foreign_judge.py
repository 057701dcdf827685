"""What is asked of any judge, asked of a real one that was made elsewhere for something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import WorkFailed
from citewell.models.download import Downloads, Fetch, catalogue
from citewell.models.entailment import ClaimPair, OnnxEntailment
from support.foreign_judge import package_folder, write_folder
from support.model_host import ModelHost

pytestmark = pytest.mark.slow

LEAVE = "All employees get 30 days of paid leave a year."
LAMP = "The lamp was first lit on 14 November 1859 by Josiah Pell."
# What its text says, and what its text denies.
APART = [
    (LEAVE, "Employees have 30 days of leave every year.", "Employees get no paid leave."),
    (LAMP, "Josiah Pell lit the lamp in 1859.", "The lamp was never lit."),
    ("The shop opens at nine and closes at six.", "The shop closes at six.", "The shop never closes."),
]
FILLER = "The tower is built of granite from the island. " * 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("foreign") / "foreign")


def test_its_classes_and_length_are_read_from_its_folder(folder: Path) -> None:
    assert OnnxEntailment(folder).open() == "foreign: tells neutral, contradicts; reads 160 tokens"
    # As it is installed: other names, a tokenizer one folder below, no config.
    assert "reads 160 tokens" in OnnxEntailment(package_folder()).open()


def test_it_tells_what_a_text_denies_and_claims_no_more_than_it_can_tell(folder: Path) -> None:
    pairs = [ClaimPair(claim, text) for text, *claims in APART for claim in claims]
    scores = OnnxEntailment(folder).judge(pairs)
    assert all(score.entails == 0.0 for score in scores)
    assert all(abs(score.neutral + score.contradicts - 1.0) < 1e-6 for score in scores)
    said, denied = scores[0::2], scores[1::2]
    assert all(score.contradicts > 0.9 for score in denied)
    assert all(yes.contradicts < no.contradicts for yes, no in zip(said, denied, strict=True))
    (unrelated,) = OnnxEntailment(folder).judge([ClaimPair("The stock market fell.", "The dog sleeps.")])
    assert unrelated.contradicts < 0.5


def test_it_reads_what_stands_far_behind_its_length(folder: Path) -> None:
    judge = OnnxEntailment(folder)
    without, within = judge.judge(
        [ClaimPair("The lamp was never lit.", FILLER), ClaimPair("The lamp was never lit.", FILLER + LAMP)]
    )
    assert within.contradicts > 0.9
    assert without.contradicts < within.contradicts


def test_in_8_bits_too_a_pair_is_judged_the_same_whatever_stands_beside_it(folder: Path) -> None:
    judge = OnnxEntailment(folder)
    pairs = [ClaimPair("Employees get no paid leave.", LEAVE), ClaimPair("The lamp was never lit.", LAMP)]
    assert judge.judge(pairs) == [one for pair in pairs for one in judge.judge([pair])]


def test_it_is_fetched_over_the_network_piece_by_piece_and_then_judges(folder: Path, tmp_path: Path) -> None:
    model = catalogue()["nli-deberta-v3-xsmall"]
    base = f"/{model.repository}/resolve/{model.revision}"
    files = {f"{base}/{file.remote}": (folder / file.path).read_bytes() for file in model.files}
    with ModelHost(files, cuts_after=40_000_000) as host:
        downloads = Downloads(tmp_path, Fetch(host.url), host.url)
        with pytest.raises(WorkFailed, match="cut"):
            downloads.get(model, lambda name, done, total: None)
        report = downloads.get(model, lambda name, done, total: None)
        assert host.asked[1].headers["range"] == "bytes=40000000-"
    (score,) = OnnxEntailment(Path(report.folder)).judge([ClaimPair("The lamp was never lit.", LAMP)])
    assert score.contradicts > 0.9
