"""A page to pass on: the question, the answer, the passages behind it, and nothing of the machine it is from. Pure.

No id, key, path, model input or trace is in it; every text is escaped; it loads and links nothing.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape

from citewell.check.layout import AnswerBlock, blocks_of, remark_on, said_and_code, unfenced
from citewell.check.verdict import CheckedSentence, Citation
from citewell.export.formats import Exportable
from citewell.text.blocks import cells_of
from citewell.text.untrusted import one_line, shown, web_address

_STYLE = (
    "body{font:17px/1.55 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff;overflow-wrap:anywhere}h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.1rem;margin-top:2rem}"
    "blockquote{margin:.3rem 0 1rem;padding-left:.8rem;border-left:3px solid #bbb;white-space:pre-wrap}"
    "sup{font-size:.75em}footer,small{color:#595959}"
    "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}footer,small{color:#a6a6a6}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# What the page may do: show its own style.
SHARE_CSP = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)


def share_page(run: Exportable) -> str:
    """The page as HTML."""
    result = run.result
    question = escape(one_line(result.question))
    answer = "\n".join(_block(block) for block in blocks_of(result.sentences)) or "<p>No answer was given.</p>"
    sources = "\n".join(_source(citation) for citation in result.citations)
    if sources:
        sources = f"<h2>Sources</h2>\n{sources}\n"
    by = escape(one_line(result.provenance)) or f"Written by {escape(one_line(result.model))}."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{question}</title><style>{_STYLE}</style></head>\n<body>\n<main>\n<h1>{question}</h1>\n{answer}\n"
        f"{sources}</main>\n<footer><p>{escape(run.asked_at[:10])}. {by} "
        "Made with Citewell.</p></footer>\n</body></html>\n"
    )


def _block(block: AnswerBlock) -> str:
    if block.kind == "table":
        return "<table>\n" + "\n".join(_table_row(row) for row in block.sentences) + "\n</table>"
    if block.kind == "heading":
        return f"<h2>{escape(one_line(block.sentences[0].text))}</h2>"
    inside = " ".join(_sentence(one) for one in block.sentences)
    if block.kind == "paragraph":
        return f"<p>{inside}</p>"
    number = block.marker.strip().rstrip(".)")
    value = f' value="{number}"' if number.isdigit() else ""
    return f"<{'ol' if value else 'ul'}><li{value}>{inside}</li></{'ol' if value else 'ul'}>"


def _table_row(row: CheckedSentence) -> str:
    cells = [escape(one_line(cell)) for cell in cells_of(row.text)]
    if row.kind == "heading":
        return f"<tr>{''.join(f'<th>{cell}</th>' for cell in cells)}</tr>"
    cells[-1] += _marks(row)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _sentence(one: CheckedSentence) -> str:
    said, code = said_and_code(one.text)
    text = escape(one_line(said))
    if one.verdict == "contradicted":
        return f"<s>{text}</s>{_marks(one)}"
    return f"{text}{_marks(one)}" + (f"<pre>{escape(shown(unfenced(code)))}</pre>" if code else "")


def _marks(one: CheckedSentence) -> str:
    remark = remark_on(one)
    marks = "".join(f"<sup>[{n}]</sup>" for n in one.citations)
    return marks + (f" <small>{escape(remark)}</small>" if remark else "")


def _source(citation: Citation) -> str:
    page = f", p. {citation.page}" if citation.page is not None else ""
    address = web_address(citation.url)
    where = f" <small>{escape(address)}</small>" if address else ""
    quote = escape(shown(citation.quote).strip())
    return f"<p>[{citation.n}] {escape(one_line(citation.title))}{page}{where}</p>\n<blockquote>{quote}</blockquote>"
