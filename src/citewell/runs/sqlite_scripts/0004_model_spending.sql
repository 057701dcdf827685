CREATE TABLE model_spending (
  day TEXT NOT NULL,
  call_id TEXT NOT NULL,
  nano_usd INTEGER NOT NULL,
  PRIMARY KEY (day, call_id)
) STRICT, WITHOUT ROWID;
