"""Software project: a repository, a release, a version. Name and version belong together and are asked for as one."""

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, pointing_to, words

PROJECT = Family(
    name="project",
    title="Software project",
    asks="A program, library or repository: its releases, bugs, licence, how it is installed.",
    patterns=patterns(
        r"\b(?P<name>[a-z][\w-]*)\s+(?P<version>v?\d+\.\d+\.\d+(?:[.-]\w+)*)\b",
        r"\b(?P<name>[a-z][\w-]*)\s+(?:version\s+|release\s+|v)(?P<version>\d+(?:\.\d+)*)\b",
        r"\brelease\s+date\s+of\s+(?P<name>[a-z][\w-]*)\s+(?P<version>\d+(?:\.\d+)+)\b",
        r"\b(?:starred|my\s+stars|stars\s+on)\b.*\b(?:repo|repos|repository|repositories|projects?|github|librar\w+)\b",
        # A question about open source or GitHub as such, or about "my repository", names no project.
        r"\b(?:repos?|codebase|changelog|release\s+notes|pull\s+requests?|bug\s+tracker|issue\s+tracker|source\s+code|"
        r"pip\s+install|npm\s+install|sdk)\b",
        r"(?<!my\s)(?<!a\s)(?<!your\s)\brepositor(?:y|ies)\b",
        r"\b(?:on|from|at|in)\s+(?:github|gitlab)\b|\b(?:github|gitlab)\s+(?:repos?\b|repositor|stars?\b|issues?\b|link\b|url\b|page\s+of)",
        r"\bopen[\s-]source\s+(?:librar(?:y|ies)|tools?|programs?|apps?|implementations?|clients?|servers?|engines?|software\s+for)\b",
        r"\b(?:licen[cs]e|dependenc(?:y|ies)|maintainers?|latest\s+release|latest\s+version)\s+(?:of|for|is|does)\s+"
        r"(?P<name>[A-Za-z][\w./-]*)",
    ),
    cleanup=words(
        """starred stars repo repos repository repositories github gitlab codebase project projects tracker"""
    ),
    variants=(VariantRule("phrase", "{name} {version}", 0.9), VariantRule("topic", "{rest}", 0.9)),
    sources=pointing_to(("github",), "starred stars repo repos repository repositories github"),
    examples=(
        "What did Tidewick 1.4.2 fix?",
        "Which of my starred repositories shows both values until a person picks?",
        "Where is the changelog of driftlog?",
        "licence of brandvold/merge-cards",
        "What is the release date of Tidewick 2.0?",
    ),
)
