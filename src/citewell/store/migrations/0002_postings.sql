-- The index that ranks: immutable segments of postings, written in the transaction of the chunks they are made from.
CREATE TABLE index_segments (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  first_chunk INTEGER NOT NULL,
  last_chunk INTEGER NOT NULL,
  postings INTEGER NOT NULL
) STRICT;

-- The terms of a segment in order, in blocks; `counts` says how many postings each term has.
CREATE TABLE index_terms (
  segment_id INTEGER NOT NULL REFERENCES index_segments(id) ON DELETE CASCADE,
  first_term TEXT NOT NULL,
  first_posting INTEGER NOT NULL,
  terms TEXT NOT NULL,
  counts BLOB NOT NULL,
  PRIMARY KEY (segment_id, first_term)
) STRICT, WITHOUT ROWID;

-- The postings of a segment in the order of its terms, in blocks of a fixed number.
CREATE TABLE index_postings (
  segment_id INTEGER NOT NULL REFERENCES index_segments(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  chunks BLOB NOT NULL,
  body BLOB NOT NULL,
  head BLOB NOT NULL,
  PRIMARY KEY (segment_id, number)
) STRICT;

-- Of every chunk, by its id: its document, its length (0: gone) and the kind of its document; in blocks.
CREATE TABLE index_chunks (
  number INTEGER PRIMARY KEY,
  change INTEGER NOT NULL,
  documents BLOB NOT NULL,
  lengths BLOB NOT NULL,
  kinds BLOB NOT NULL
) STRICT;

-- `last_chunk` is the watermark: an index that lags behind the chunks is not used until it is made anew.
CREATE TABLE index_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  change INTEGER NOT NULL,
  last_chunk INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  gone INTEGER NOT NULL,
  length INTEGER NOT NULL,
  segments INTEGER NOT NULL
) STRICT;
INSERT INTO index_state VALUES (1, 0, 0, 0, 0, 0, 0);

-- The terms that most chunks have, counted when `total` chunks were indexed.
CREATE TABLE index_common (
  term TEXT PRIMARY KEY,
  chunks INTEGER NOT NULL,
  total INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Words about a document that stand in no section of it, so that the index can be made from the tables alone.
ALTER TABLE documents ADD COLUMN meta_text TEXT NOT NULL DEFAULT '';

-- A batch of a large sync fits into memory before it is written, and fewer segments are merged on the way.
INSERT INTO chunk_terms(chunk_terms, rank) VALUES ('hashsize', 33554432);
INSERT INTO chunk_terms(chunk_terms, rank) VALUES ('automerge', 8);
