"""The table of docs/attacks.md: which tests withstand which row, read from the marks in the tests themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"


def attack_tests(root: Path = TESTS) -> dict[str, list[tuple[str, str]]]:
    """For every row, the file and name of each test that is marked with it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(root.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for row in _rows(node):
                    found.setdefault(row, []).append((path.relative_to(root.parent).as_posix(), node.name))
    return dict(sorted(found.items(), key=lambda entry: _order(entry[0])))


def _rows(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    rows: list[str] = []
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.attack":
            rows += [str(argument.value) for argument in mark.args if isinstance(argument, ast.Constant)]
    return rows


def _order(row: str) -> tuple[str, int]:
    letters, number = re.fullmatch(r"([A-Z]+)([0-9]+)", row).groups()  # type: ignore[union-attr]
    return letters, int(number)


def attack_table() -> str:
    lines = ["| row | what withstands it | in |", "|---|---|---|"]
    for row, tests in attack_tests().items():
        for at, (file, name) in enumerate(sorted(set(tests), key=tests.index)):
            told = name.removeprefix("test_").replace("_", " ")
            lines.append(f"| {row if at == 0 else ''} | {told} | [{Path(file).name}](../{file}) |")
    return "\n".join(lines)
