"""Zip containers and Office files written by hand, as small as the programs' own but in their format."""

from __future__ import annotations

import io
import zipfile

_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = f'xmlns:r="{_TYPES}"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'

CORE = (
    f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Tide report</dc:title><dc:creator>Ann Lee</dc:creator>'
    "<dc:subject>Kirkhaven</dc:subject><dcterms:created>2024-01-31T12:00:00Z</dcterms:created>"
    "<dcterms:modified>2024-02-01T08:00:00Z</dcterms:modified></cp:coreProperties>"
)


def zip_bytes(members: dict[str, str | bytes]) -> bytes:
    """A zip of these members, byte for byte the same each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def relations(**targets: str) -> str:
    """A relations part: `rId1="slide slides/slide1.xml"`; a web address is outside of the file."""
    items = []
    for key, described in targets.items():
        kind, target = described.split(" ", 1)
        mode = ' TargetMode="External"' if target.startswith("http") else ""
        base = f"{_PACKAGE}/relationships/metadata" if kind == "core-properties" else _TYPES
        items.append(f'<Relationship Id="{key}" Type="{base}/{kind}" Target="{target}"{mode}/>')
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{"".join(items)}</Relationships>'


def word_bytes(body: str, more: dict[str, str] | None = None, **targets: str) -> bytes:
    """A Word file with this body, the usual heading styles and what else is given."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in {"Titel": "Title", "berschrift1": "heading 1", "berschrift2": "heading 2"}.items()
    )
    return zip_bytes(
        {
            "_rels/.rels": relations(a="officeDocument word/document.xml", b="core-properties docProps/core.xml"),
            "docProps/core.xml": CORE,
            "word/_rels/document.xml.rels": relations(s="styles styles.xml", **targets),
            "word/styles.xml": f"{_XML}<w:styles {W}>{styles}</w:styles>",
            "word/document.xml": f"{_XML}<w:document {W} {R}><w:body>{body}</w:body></w:document>",
            **(more or {}),
        }
    )


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word file."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def slides_bytes(slides: list[str], more: dict[str, str] | None = None) -> bytes:
    """A PowerPoint file of these slides, listed in reverse order of their names as PowerPoint may do."""
    count = len(slides)
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(count))
    targets = {f"rId{n}": f"slide slides/slide{count - n}.xml" for n in range(count)}
    parts = {
        f"ppt/slides/slide{count - n}.xml": f"<p:sld {P} {A} {R}><p:cSld><p:spTree>{slide}</p:spTree></p:cSld></p:sld>"
        for n, slide in enumerate(slides)
    }
    return zip_bytes(
        {
            "_rels/.rels": relations(a="officeDocument ppt/presentation.xml"),
            "ppt/_rels/presentation.xml.rels": relations(**targets),
            "ppt/presentation.xml": f"{_XML}<p:presentation {P} {R}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
            **parts,
            **(more or {}),
        }
    )


def shape(*paragraphs: str, kind: str = "") -> str:
    """A shape with text; `kind` is that of its placeholder."""
    holder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    body = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    return f"<p:sp>{holder}<p:txBody>{body}</p:txBody></p:sp>"


def sheets_bytes(sheets: dict[str, str], shared: tuple[str, ...] = ()) -> bytes:
    """An Excel file of these sheets (the XML of their rows), its second style being a date."""
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1))
    targets = {f"rId{n}": f"worksheet worksheets/sheet{n}.xml" for n in range(1, len(sheets) + 1)}
    parts = {
        f"xl/worksheets/sheet{n}.xml": f"{_XML}<worksheet {S}><sheetData>{rows}</sheetData></worksheet>"
        for n, rows in enumerate(sheets.values(), 1)
    }
    strings = "".join(f"<si><t>{text}</t></si>" for text in shared)
    return zip_bytes(
        {
            "_rels/.rels": relations(a="officeDocument xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": relations(
                s="sharedStrings sharedStrings.xml", t="styles styles.xml", **targets
            ),
            "xl/workbook.xml": f"{_XML}<workbook {S} {R}><sheets>{listed}</sheets></workbook>",
            "xl/sharedStrings.xml": f"{_XML}<sst {S}>{strings}</sst>",
            "xl/styles.xml": f'<styleSheet {S}><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/>'
            '<numFmt numFmtId="165" formatCode="0.0 &quot;days&quot;"/></numFmts><cellXfs><xf numFmtId="0"/>'
            '<xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>',
            **parts,
        }
    )
