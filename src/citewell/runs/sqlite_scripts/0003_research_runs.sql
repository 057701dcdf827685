CREATE TABLE research_runs (
  run_id TEXT PRIMARY KEY,
  brief_id TEXT NOT NULL,
  project_id TEXT,
  status TEXT NOT NULL,
  created_at TEXT NOT NULL,
  document TEXT NOT NULL
) STRICT;
CREATE INDEX research_runs_brief ON research_runs(brief_id, created_at);
CREATE INDEX research_runs_created ON research_runs(created_at);
