CREATE TABLE collections (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  root TEXT NOT NULL UNIQUE,
  excludes TEXT NOT NULL DEFAULT '[]',
  created_at TEXT NOT NULL,
  last_sync TEXT
) STRICT;

-- Every file ever seen under a collection's root: the coverage report.
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  file_hash TEXT,
  status TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  at TEXT NOT NULL,
  reader_version INTEGER NOT NULL,
  UNIQUE (collection_id, path)
) STRICT;
CREATE INDEX files_by_hash ON files(collection_id, file_hash);

-- One immutable canonical text per content hash, in blocks so that a slice of a huge text is read without the rest.
CREATE TABLE texts (
  id INTEGER PRIMARY KEY,
  content_hash TEXT NOT NULL UNIQUE,
  length INTEGER NOT NULL
) STRICT;
CREATE TABLE text_blocks (
  text_id INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
  start INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (text_id, start)
) STRICT;

CREATE TABLE documents (
  id INTEGER PRIMARY KEY,
  source_key TEXT NOT NULL UNIQUE,
  file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
  part TEXT NOT NULL DEFAULT '',  -- which document of the file, where it holds several
  collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  source_type TEXT NOT NULL,
  title TEXT NOT NULL,
  text_id INTEGER NOT NULL REFERENCES texts(id),
  note_path TEXT,
  url TEXT,
  canonical_url TEXT,
  author TEXT,
  language TEXT,
  aliases TEXT NOT NULL DEFAULT '[]',
  created TEXT,
  saved TEXT NOT NULL,
  modified TEXT,
  dated TEXT NOT NULL,
  UNIQUE (file_id, part)
) STRICT;
CREATE INDEX documents_by_collection ON documents(collection_id);
CREATE INDEX documents_by_url ON documents(canonical_url) WHERE canonical_url IS NOT NULL;
CREATE INDEX documents_by_type ON documents(source_type);
CREATE INDEX documents_by_text ON documents(text_id);

-- Each text a document has had, with the sections of that text.
CREATE TABLE versions (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  text_id INTEGER NOT NULL REFERENCES texts(id),
  seen_at TEXT NOT NULL,
  sections TEXT NOT NULL,
  PRIMARY KEY (document_id, text_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX versions_by_text ON versions(text_id);

-- Texts that runs cite are kept, with what the document was, also after it is edited or removed.
CREATE TABLE kept_texts (
  text_id INTEGER NOT NULL REFERENCES texts(id),
  source_key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (text_id, source_key, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_texts_by_run ON kept_texts(run_id);

-- The paths a key has stood for: a renamed file keeps its key.
CREATE TABLE key_history (
  source_key TEXT NOT NULL,
  path TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX key_history_by_key ON key_history(source_key);

CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  role TEXT NOT NULL,
  heading_path TEXT NOT NULL DEFAULT '[]',
  page INTEGER,
  content_hash TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_by_document ON chunks(document_id, ordinal);

CREATE TABLE tags (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  folded TEXT NOT NULL,
  PRIMARY KEY (document_id, folded)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_name ON tags(folded, document_id);

-- Names a wikilink may use for a document: its file name, with and without extension, and its aliases.
CREATE TABLE link_names (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  is_alias INTEGER NOT NULL,
  PRIMARY KEY (document_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_names_by_name ON link_names(name);

CREATE TABLE links (
  id INTEGER PRIMARY KEY,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  heading TEXT,
  block TEXT,
  alias TEXT,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  target_id INTEGER REFERENCES documents(id) ON DELETE SET NULL
) STRICT;
CREATE INDEX links_by_document ON links(document_id);
CREATE INDEX links_by_target ON links(target_id) WHERE target_id IS NOT NULL;
CREATE INDEX links_by_name ON links(name);

-- Terms come analysed from text/words.py, separated by spaces, so every other character belongs to a term.
CREATE VIRTUAL TABLE chunk_terms USING fts5(
  title, headings, body, tags, compounds,
  content='', contentless_delete=1,
  tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab(chunk_terms, row);
-- Title twice, headings one and a half times, whole compounds half: they repeat what the body says.
INSERT INTO chunk_terms(chunk_terms, rank) VALUES ('rank', 'bm25(2.0, 1.5, 1.0, 1.0, 0.5)');
CREATE INDEX documents_by_language ON documents(language);
