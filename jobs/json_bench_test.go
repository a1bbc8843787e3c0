package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// enqueue is the body of an enqueue, as far as reading it goes.
type enqueue struct {
	Job            string            `json:"job"`
	Payload        Raw               `json:"payload"`
	Delay          *Duration         `json:"delay"`
	RunAt          Time              `json:"run_at"`
	Priority       *int              `json:"priority"`
	MaxAttempts    *int              `json:"max_attempts"`
	Timeout        *Duration         `json:"timeout"`
	CorrelationID  string            `json:"correlation_id"`
	Labels         map[string]string `json:"labels"`
	IdempotencyKey string            `json:"idempotency_key"`
}

func enqueueBody() string {
	return `{"payload":{"order":"0192e4a7-5b3c-7d1e-8f00-0123456789ab","customer":{"id":9007199254740993,` +
		`"name":"Ada Lovelace","mail":"ada@example.com","tags":["new","eu",null,true]},"total":1249.90,` +
		`"currency":"EUR","items":[{"sku":"A-1","n":2,"price":12.5},{"sku":"B-2","n":1,"price":1224.9}],` +
		`"note":"leave it with the neighbours\nring twice"},"priority":5}`
}

func BenchmarkDecodeJSONEnqueue(b *testing.B) {
	body := []byte(enqueueBody())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var e enqueue
		if err := DecodeJSON(body, &e); err != nil {
			b.Fatal(err)
		}
	}
}

func batchBody(n int) []byte {
	var s strings.Builder
	s.WriteString(`{"runs":[`)
	for i := range n {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `{"job":"mail-%d","labels":{"team":"data"},"idempotency_key":"k%d",%s`,
			i%7, i, enqueueBody()[1:])
	}
	s.WriteString(`]}`)
	return []byte(s.String())
}

func BenchmarkDecodeJSONBatchOf1000(b *testing.B) {
	body := batchBody(1000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var batch struct {
			Runs []enqueue `json:"runs"`
		}
		if err := DecodeJSON(body, &batch); err != nil || len(batch.Runs) != 1000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodingJSONEnqueue(b *testing.B) {
	body := []byte(enqueueBody())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		var e struct {
			Payload  json.RawMessage `json:"payload"`
			Priority *int            `json:"priority"`
		}
		if err := dec.Decode(&e); err != nil {
			b.Fatal(err)
		}
	}
}

// runView is about what is answered for a run.
type runView struct {
	ID          ID                `json:"id"`
	Job         string            `json:"job"`
	Version     int               `json:"version"`
	OperationID ID                `json:"operation_id"`
	State       State             `json:"state"`
	HeldBy      *HeldBy           `json:"held_by"`
	Trigger     Trigger           `json:"trigger"`
	Payload     Raw               `json:"payload"`
	Result      Raw               `json:"result"`
	Priority    int               `json:"priority"`
	Queue       string            `json:"queue"`
	Labels      map[string]string `json:"labels"`
	CreatedAt   Time              `json:"created_at"`
	RunAt       Time              `json:"run_at"`
	FinishedAt  Time              `json:"finished_at"`
	Attempt     int               `json:"attempt"`
	Error       *Failure          `json:"error"`
	Requeued    ID                `json:"requeued_from"`
}

func BenchmarkAppendJSONRun(b *testing.B) {
	v := &runView{
		ID: IDOf(1<<50, -1<<63), OperationID: IDOf(1<<50, -1<<63), Job: "mail", Version: 3,
		State:   Queued,
		HeldBy:  &HeldBy{Kind: "workers", Name: "webhook", Reason: "64 of 64 are busy"},
		Trigger: TriggerAPI,
		Payload: Raw(enqueueBody()), Queue: "default", Labels: map[string]string{
			"team": "data",
			"tier": "a",
		},
		CreatedAt: 1796000000123, RunAt: 1796000000123,
	}
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = AppendJSON(dst[:0], v)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkHashJSON(b *testing.B) {
	body := []byte(enqueueBody())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		HashJSON(body)
	}
}

func BenchmarkValidJSONManyKeys(b *testing.B) {
	var s strings.Builder
	s.WriteString("{")
	for i := range 100_000 {
		fmt.Fprintf(&s, `"key%d":%d,`, i, i)
	}
	body := []byte(s.String() + `"z":0}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ValidJSON(body); err != nil {
			b.Fatal(err)
		}
	}
}
