"""Writes the hash-locked requirement files. They name packages, versions and hashes, never an address."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

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


def main() -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    (HERE / "runtime.in").write_text("\n".join(project["dependencies"]) + "\n", "utf-8")
    compile_lock("pip.in", "pip.lock")
    compile_lock("runtime.in", "runtime.lock")
    compile_lock("dev.in", "dev.lock")
    compile_lock("test.in", "test.lock")


if __name__ == "__main__":
    main()
