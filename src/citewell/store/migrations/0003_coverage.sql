-- Names by which links reach a file that is no document: an image nobody could read, a recording, an export of many.
CREATE TABLE file_names (
  file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  PRIMARY KEY (file_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_names_by_name ON file_names(name);
ALTER TABLE links ADD COLUMN target_file_id INTEGER REFERENCES files(id) ON DELETE SET NULL;
CREATE INDEX links_by_target_file ON links(target_file_id) WHERE target_file_id IS NOT NULL;

-- What rules kept out of a collection at its last sync, each with the rule.
CREATE TABLE exclusions (
  collection_id INTEGER NOT NULL REFERENCES collections(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  rule TEXT NOT NULL,
  PRIMARY KEY (collection_id, path)
) STRICT, WITHOUT ROWID;
