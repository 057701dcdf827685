-- The tables of `runs.db` (recording/migrations). Texts are ordered by their code points, as SQLite orders them.
CREATE TABLE runs (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  profile TEXT COLLATE "C" NOT NULL,
  surface TEXT COLLATE "C" NOT NULL,
  question TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  stop_reason TEXT COLLATE "C",
  tool_version TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  updated_at TEXT COLLATE "C" NOT NULL,
  -- Who executes the run, while somebody does, and until when that is believed. The time is the server's.
  owner TEXT COLLATE "C",
  lease_until TEXT COLLATE "C"
);
CREATE INDEX runs_by_time ON runs(created_at, run_id);
CREATE INDEX runs_by_status ON runs(status);
CREATE INDEX runs_by_owner ON runs(owner) WHERE owner IS NOT NULL;

-- Append-only: entries are never changed, and each digest covers the one before. The body is text, not JSON: a digest
-- is of its very characters, and JSON of PostgreSQL cannot hold an escaped NUL.
CREATE TABLE events (
  run_id TEXT COLLATE "C" NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE,
  sequence BIGINT NOT NULL,
  at TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  digest TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, sequence)
);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the run log is append-only'; END $$;
CREATE TRIGGER events_are_append_only BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- What a person asks of a run that another process executes: cancel, finish.
CREATE TABLE controls (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id TEXT COLLATE "C" NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE,
  control TEXT COLLATE "C" NOT NULL,
  at TEXT COLLATE "C" NOT NULL
);
CREATE INDEX controls_by_run ON controls(run_id, id);

-- What a finished run cites, so that forgetting a document can name the runs that quote it.
CREATE TABLE citations (
  run_id TEXT COLLATE "C" NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE,
  source_key TEXT COLLATE "C" NOT NULL,
  content_hash TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, source_key, content_hash)
);
CREATE INDEX citations_by_key ON citations(source_key);

-- Whoever watches a run is told. An append sets `updated_at`; renewing a lease is no news.
CREATE FUNCTION tell_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('citewell_runs', CASE WHEN TG_OP = 'DELETE' THEN OLD.run_id ELSE NEW.run_id END);
  RETURN NULL;
END $$;
CREATE TRIGGER runs_are_told AFTER INSERT OR DELETE OR UPDATE OF status, updated_at, owner ON runs
  FOR EACH ROW EXECUTE FUNCTION tell_of_run();
CREATE TRIGGER controls_are_told AFTER INSERT ON controls FOR EACH ROW EXECUTE FUNCTION tell_of_run();
