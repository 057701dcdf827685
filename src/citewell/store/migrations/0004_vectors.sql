-- The vectors of chunks, for the semantic lane: 8 bits a number and what one step of each is worth (0: no vector), in
-- blocks by chunk id. Nothing here is needed to search by words.
CREATE TABLE vector_blocks (
  number INTEGER PRIMARY KEY,
  change INTEGER NOT NULL,
  vectors BLOB NOT NULL,
  scales BLOB NOT NULL
) STRICT;

-- The signs of the same numbers, one bit each: what a large corpus is scanned by.
CREATE TABLE vector_bits (
  number INTEGER PRIMARY KEY,
  change INTEGER NOT NULL,
  bits BLOB NOT NULL
) STRICT;

-- `last_chunk` is the watermark: up to it every chunk has its vector. Another model makes all of them anew.
CREATE TABLE vector_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  change INTEGER NOT NULL,
  model TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  last_chunk INTEGER NOT NULL
) STRICT;
INSERT INTO vector_state VALUES (1, 0, '', 0, 0);
