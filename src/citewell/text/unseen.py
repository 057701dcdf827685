"""Characters that no reader sees: controls, zero-width and bidirectional marks, tag characters. Pure.

For text that goes into a prompt or comes out of one. A stored text keeps them, and emoji and some scripts need the
joiners among them: what a person is shown is cleaned more gently.
"""

from __future__ import annotations

import re

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
