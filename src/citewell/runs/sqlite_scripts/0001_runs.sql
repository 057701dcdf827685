CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  profile TEXT NOT NULL,
  surface TEXT NOT NULL,
  question TEXT NOT NULL,
  status TEXT NOT NULL,
  stop_reason TEXT,
  tool_version TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  -- The process that executes the run, while one does.
  owner TEXT
) STRICT;
CREATE INDEX runs_by_time ON runs(created_at);

-- Append-only: entries are never changed, and each digest covers the one before.
CREATE TABLE events (
  run_id TEXT NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (run_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER events_are_append_only BEFORE UPDATE ON events
BEGIN SELECT raise(ABORT, 'the run log is append-only'); END;

-- What a person asks of a run that another process executes: cancel, finish.
CREATE TABLE controls (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE,
  control TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX controls_by_run ON controls(run_id);

-- What a finished run cites, so that forgetting a document can name the runs that quote it.
CREATE TABLE citations (
  run_id TEXT NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE,
  source_key TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  PRIMARY KEY (run_id, source_key, content_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX citations_by_key ON citations(source_key);
