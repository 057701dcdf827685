-- Summaries: derived from documents and kept apart from their texts and chunks. `start..end` of the text with that hash
-- is what one tells of. None is a text, so none can be cited.
CREATE TABLE summaries (
  id INTEGER PRIMARY KEY,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  summary_kind TEXT NOT NULL,
  model TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL,
  made_at TEXT NOT NULL,
  UNIQUE (document_id, role, start, end)
) STRICT;

-- What they are found by, in an index of its own: the ranking of chunks does not know of it.
CREATE VIRTUAL TABLE summary_terms USING fts5(
  title, body,
  content='', contentless_delete=1,
  tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
