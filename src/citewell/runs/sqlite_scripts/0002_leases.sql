-- Until when the owner of a run may be taken to be alive; it is renewed while the run is executed.
ALTER TABLE runs ADD COLUMN lease_until TEXT;
CREATE INDEX runs_by_status ON runs(status);
