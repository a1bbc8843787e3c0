package sqldb

import (
	"encoding/json"
	"fmt"

	"nightshift/jobs"
)

func payloadOf(r Row, i int) jobs.Raw {
	if r.Null(i) {
		return emptyPayload
	}
	return r.Bytes(i)
}

// scanWhole reads runColumns and the payload. That of a merge is nil until it was composed.
func scanWhole(r Row) (*jobs.Run, error) {
	run, err := scanRun(r)
	if run.Payload = payloadOf(r, runColumnCount); r.Null(runColumnCount) && run.Place == mergePlace {
		run.Payload = nil
	}
	return run, err
}

// scanRun reads runColumns.
func scanRun(r Row) (*jobs.Run, error) {
	run := &jobs.Run{
		ID: jobs.IDOf(r.Int(0), r.Int(1)), Version: int(r.Int(2)), State: jobs.State(r.Int(3)),
		DueAt: r.Time(4), Priority: int(r.Int(5)), Trigger: jobs.Trigger(r.Text(9)),
		CreatedAt: r.Time(10), RunAt: r.Time(11), StartedAt: r.Time(13), FinishedAt: r.Time(14),
		AttemptAt: r.Time(columnAttemptAt), CancelRequestedAt: r.Time(15), MaxAttempts: int(r.Int(16)),
		Timeout: jobs.Duration(r.Int(17) * 1e6),
		Queue:   r.Text(18), OperationID: r.ID(19), RequeuedFrom: r.ID(20), RequeuedTo: r.ID(21),
		CorrelationID: r.Text(22), IdempotencyKey: r.Text(23), Traceparent: r.Text(25),
		CreatedBy: r.Text(26), Host: r.Text(31), Schedule: r.Text(34), ScheduledFor: r.Time(35),
		Keys: jobs.Keys{
			Concurrency: keyOf(r.Text(32)), Rate: keyOf(r.Text(33)), Checkpoint: keyOf(r.Text(36)),
		},
		Slices: int(r.Int(37)), Continues: int(r.Int(38)),
		Group: r.ID(40), Place: int(r.Int(41)), Tells: jobs.Tells(r.Int(42)), Bulk: r.ID(43),
	}
	if !r.Null(45) {
		run.Dealt = new(jobs.FailureStatus(r.Int(45)))
	}
	if run.Slices > 0 && run.State == jobs.Queued {
		run.State = jobs.Running // between two slices
	}
	run.Counts = jobs.Counts{Number: int(r.Int(6)), Charged: int(r.Int(7)), Deaths: int(r.Int(8)), Interrupts: int(r.Int(44))}
	if run.OperationID.IsNil() {
		run.OperationID = run.ID
	}
	if run.CorrelationID == "" {
		run.CorrelationID = run.ID.String()
	}
	if !r.Null(28) {
		run.Error = &jobs.Failure{
			Kind: jobs.FailureKind(r.Text(28)), Type: r.Text(29), Message: r.Text(30),
		}
	}
	if !r.Null(39) {
		run.Progress = &jobs.Progress{}
		if err := json.Unmarshal(r.Bytes(39), run.Progress); err != nil {
			return run, fmt.Errorf("read progress of run %s: %w", run.ID, err)
		}
	}
	if !r.Null(24) {
		if err := json.Unmarshal(r.Bytes(24), &run.Labels); err != nil {
			return run, fmt.Errorf("read labels of run %s: %w", run.ID, err)
		}
	}
	if !r.Null(27) {
		if err := json.Unmarshal(r.Bytes(27), &run.Counts.Budgets); err != nil {
			return run, fmt.Errorf("read budgets of run %s: %w", run.ID, err)
		}
	}
	return run, nil
}
