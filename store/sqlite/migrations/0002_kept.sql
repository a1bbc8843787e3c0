-- +goose Up

-- How many bytes are kept of each sort, counted by the triggers below in the statements that add and delete: so it is
-- right after a rollback and a kill, and nobody has to go through the file to know it. Of a row they count its texts
-- and blobs, and about what the rest of it takes with its indexes; of an attempt with more than 900 bytes of them the
-- half page too that is left empty on average behind what does not fit beside others. OCTET_LENGTH would be shorter, but
-- an sqlite3 before 3.43, as Debian 12 has it, could then neither add to these tables nor delete from them.
CREATE TABLE kept (
    kind  INTEGER PRIMARY KEY,              -- store.Kept
    bytes INTEGER NOT NULL,
    -- Up to which run, in the order in which they ended, the output is pruned.
    at    INTEGER NOT NULL,
    seq   INTEGER NOT NULL
) STRICT;

-- What was deleted of the output of a run because there was too much in all; NULL: nothing.
ALTER TABLE runs ADD COLUMN log_pruned INTEGER;

-- Prune: the runs that may go because there is too much, those that ended first before others.
CREATE INDEX runs_ended ON runs (finished_at)
WHERE finished_at IS NOT NULL AND (state IN (6, 8) OR dealt_at IS NOT NULL);

INSERT INTO kept (kind, bytes, at, seq)
SELECT 1, (SELECT COALESCE(SUM(LENGTH(data) + 64), 0) FROM logs), 0, 0
UNION ALL SELECT 2,
    (SELECT COUNT(*) * 400 FROM runs WHERE finished_at IS NOT NULL) +
    (SELECT COALESCE(SUM(LENGTH(CAST(p.body AS BLOB))), 0) FROM payloads p JOIN runs r ON r.seq = p.run WHERE r.finished_at IS NOT NULL) +
    (SELECT COALESCE(SUM(100 + COALESCE(LENGTH(CAST(a.result AS BLOB)), 0) + COALESCE(LENGTH(CAST(a.error AS BLOB)), 0) + COALESCE(LENGTH(CAST(a.output_tail AS BLOB)), 0) +
        CASE WHEN COALESCE(LENGTH(CAST(a.result AS BLOB)), 0) + COALESCE(LENGTH(CAST(a.error AS BLOB)), 0) + COALESCE(LENGTH(CAST(a.output_tail AS BLOB)), 0) > 900 THEN 2300 ELSE 0 END), 0)
     FROM attempts a JOIN runs r ON r.seq = a.run WHERE r.finished_at IS NOT NULL), 0, 0
UNION ALL SELECT 3, (SELECT COALESCE(SUM(LENGTH(CAST(data AS BLOB)) + 100), 0) FROM events), 0, 0;

-- +goose StatementBegin
CREATE TRIGGER logs_added AFTER INSERT ON logs BEGIN
    UPDATE kept SET bytes = bytes + LENGTH(NEW.data) + 64 WHERE kind = 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER logs_changed AFTER UPDATE OF data ON logs BEGIN
    UPDATE kept SET bytes = bytes + LENGTH(NEW.data) - LENGTH(OLD.data) WHERE kind = 1;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER logs_deleted AFTER DELETE ON logs BEGIN
    UPDATE kept SET bytes = bytes - LENGTH(OLD.data) - 64 WHERE kind = 1;
END;
-- +goose StatementEnd

-- A run counts from its end on, with its payload and its attempts. It goes before they do.
-- +goose StatementBegin
CREATE TRIGGER runs_counted AFTER UPDATE OF finished_at ON runs
WHEN NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL BEGIN
    UPDATE kept SET bytes = bytes + 400 +
        COALESCE((SELECT LENGTH(CAST(body AS BLOB)) FROM payloads WHERE run = NEW.seq), 0) +
        COALESCE((SELECT SUM(100 + COALESCE(LENGTH(CAST(result AS BLOB)), 0) + COALESCE(LENGTH(CAST(error AS BLOB)), 0) + COALESCE(LENGTH(CAST(output_tail AS BLOB)), 0) +
        CASE WHEN COALESCE(LENGTH(CAST(result AS BLOB)), 0) + COALESCE(LENGTH(CAST(error AS BLOB)), 0) + COALESCE(LENGTH(CAST(output_tail AS BLOB)), 0) > 900 THEN 2300 ELSE 0 END) FROM attempts WHERE run = NEW.seq), 0)
    WHERE kind = 2;
END;
-- +goose StatementEnd
-- The attempt that ends a run is added after its end.
-- +goose StatementBegin
CREATE TRIGGER attempts_added AFTER INSERT ON attempts
WHEN (SELECT finished_at FROM runs WHERE seq = NEW.run) IS NOT NULL BEGIN
    UPDATE kept SET bytes = bytes + 100 + COALESCE(LENGTH(CAST(NEW.result AS BLOB)), 0) + COALESCE(LENGTH(CAST(NEW.error AS BLOB)), 0) + COALESCE(LENGTH(CAST(NEW.output_tail AS BLOB)), 0) +
        CASE WHEN COALESCE(LENGTH(CAST(NEW.result AS BLOB)), 0) + COALESCE(LENGTH(CAST(NEW.error AS BLOB)), 0) + COALESCE(LENGTH(CAST(NEW.output_tail AS BLOB)), 0) > 900 THEN 2300 ELSE 0 END
    WHERE kind = 2;
END;
-- +goose StatementEnd
-- The attempt that is neither among the first nor among the last is forgotten.
-- +goose StatementBegin
CREATE TRIGGER attempts_deleted AFTER DELETE ON attempts
WHEN (SELECT finished_at FROM runs WHERE seq = OLD.run) IS NOT NULL BEGIN
    UPDATE kept SET bytes = bytes - (100 + COALESCE(LENGTH(CAST(OLD.result AS BLOB)), 0) + COALESCE(LENGTH(CAST(OLD.error AS BLOB)), 0) + COALESCE(LENGTH(CAST(OLD.output_tail AS BLOB)), 0) +
        CASE WHEN COALESCE(LENGTH(CAST(OLD.result AS BLOB)), 0) + COALESCE(LENGTH(CAST(OLD.error AS BLOB)), 0) + COALESCE(LENGTH(CAST(OLD.output_tail AS BLOB)), 0) > 900 THEN 2300 ELSE 0 END)
    WHERE kind = 2;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER runs_uncounted BEFORE DELETE ON runs WHEN OLD.finished_at IS NOT NULL BEGIN
    UPDATE kept SET bytes = bytes - 400 -
        COALESCE((SELECT LENGTH(CAST(body AS BLOB)) FROM payloads WHERE run = OLD.seq), 0) -
        COALESCE((SELECT SUM(100 + COALESCE(LENGTH(CAST(result AS BLOB)), 0) + COALESCE(LENGTH(CAST(error AS BLOB)), 0) + COALESCE(LENGTH(CAST(output_tail AS BLOB)), 0) +
        CASE WHEN COALESCE(LENGTH(CAST(result AS BLOB)), 0) + COALESCE(LENGTH(CAST(error AS BLOB)), 0) + COALESCE(LENGTH(CAST(output_tail AS BLOB)), 0) > 900 THEN 2300 ELSE 0 END) FROM attempts WHERE run = OLD.seq), 0)
    WHERE kind = 2;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER events_added AFTER INSERT ON events BEGIN
    UPDATE kept SET bytes = bytes + LENGTH(CAST(NEW.data AS BLOB)) + 100 WHERE kind = 3;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER events_deleted AFTER DELETE ON events BEGIN
    UPDATE kept SET bytes = bytes - LENGTH(CAST(OLD.data AS BLOB)) - 100 WHERE kind = 3;
END;
-- +goose StatementEnd
