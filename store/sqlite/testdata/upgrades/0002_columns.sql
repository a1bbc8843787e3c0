-- +goose Up

-- A made schema, for tests of upgrades: it is no part of the product.
ALTER TABLE jobs ADD COLUMN seen_at INTEGER;
UPDATE jobs SET seen_at = updated_at;
CREATE INDEX jobs_seen ON jobs (seen_at) WHERE seen_at IS NOT NULL;

CREATE TABLE notes (
    run  INTEGER PRIMARY KEY,
    text TEXT    NOT NULL                   -- semicolons; in 'texts'; and comments
) STRICT;
INSERT INTO notes (run, text) SELECT run, 'of ' || length(body) || ' bytes; kept' FROM payloads;

-- +goose StatementBegin
CREATE TRIGGER notes_go AFTER DELETE ON payloads BEGIN
    DELETE FROM notes WHERE run = OLD.run;
END;
-- +goose StatementEnd
