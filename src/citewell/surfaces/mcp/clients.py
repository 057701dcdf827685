"""Ready configuration of the common MCP clients. Pure text: nothing is written anywhere."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence


def install_help(command: Sequence[str]) -> str:
    """What to put where, for each client; `command` is how this program is started."""
    program, *arguments = command
    entry = {"command": program, "args": arguments}
    line = shlex.join(command)
    return "\n".join(
        (
            "Citewell is an MCP server over stdio. Put this into your client:",
            "",
            "Claude Code (a terminal):",
            f"  claude mcp add citewell -- {line}",
            "",
            "Claude Desktop (Settings, Developer, Edit Config: claude_desktop_config.json),",
            "Cursor (~/.cursor/mcp.json, or .cursor/mcp.json of a project),",
            "Windsurf (~/.codeium/windsurf/mcp_config.json), Gemini CLI (~/.gemini/settings.json):",
            _block({"mcpServers": {"citewell": entry}}),
            "",
            "VS Code (.vscode/mcp.json, or the command 'MCP: Open User Configuration'):",
            _block({"servers": {"citewell": {"type": "stdio", **entry}}}),
            "",
            "Zed (settings.json):",
            _block({"context_servers": {"citewell": {**entry, "env": {}}}}),
            "",
            "Codex CLI (~/.codex/config.toml):",
            "  [mcp_servers.citewell]",
            f"  command = {json.dumps(program)}",
            f"  args = {json.dumps(arguments)}",
            "",
            "Any other client: start this as a local (stdio) server:",
            f"  {line}",
            "",
            "Settings such as CITEWELL_MODEL go into the client's 'env' of this server, or into citewell.toml of the",
            "data folder. The skill for agents is skills/citewell/SKILL.md; 'citewell mcp --print-skill' prints it.",
        )
    )


def _block(value: object) -> str:
    return "\n".join(f"  {line}" for line in json.dumps(value, indent=2).splitlines())
