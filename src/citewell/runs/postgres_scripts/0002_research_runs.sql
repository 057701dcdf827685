CREATE TABLE research_runs (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  brief_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C",
  status TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL,
  document TEXT COLLATE "C" NOT NULL
);
CREATE INDEX research_runs_brief ON research_runs(brief_id, created_at);
CREATE INDEX research_runs_created ON research_runs(created_at);
