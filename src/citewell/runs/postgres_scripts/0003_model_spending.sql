CREATE TABLE model_spending (
  day TEXT COLLATE "C" NOT NULL,
  call_id TEXT COLLATE "C" NOT NULL,
  nano_usd BIGINT NOT NULL,
  PRIMARY KEY (day, call_id)
);
