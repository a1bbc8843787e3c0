package webhook

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"nightshift/jobs"
)

// bareReceiver answers requests on kept connections as cheaply as it can, so that what is
// measured is the caller.
func bareReceiver(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	answer := []byte(ok(`{"ok":true}`, "Content-Type: application/json"))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for {
					size := 0
					for {
						line, err := br.ReadSlice('\n')
						if err != nil {
							return
						}
						if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
							size, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
						}
						if len(line) <= 2 {
							break
						}
					}
					if _, err := br.Discard(size); err != nil {
						return
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/hook"
}

// BenchmarkAttempt compares an attempt with what a bare http.Client needs for the same bytes.
func BenchmarkAttempt(b *testing.B) {
	payload := bytes.Repeat([]byte("x"), 298)
	payload = append(append([]byte{'"'}, payload...), '"')

	b.Run("webhook", func(b *testing.B) {
		k := New(Config{Version: "1.0"})
		defer k.Close()
		ids := jobs.NewIDs(0, func() uint64 { return 7 })
		spec := jobs.Spec{Webhook: &jobs.Webhook{URL: bareReceiver(b)}}
		kill := make(chan struct{})
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				id := ids.Next(time.UnixMilli(1))
				deadline := time.Now().Add(time.Minute)
				ctx, cancel := context.WithDeadlineCause(context.Background(), deadline, jobs.ErrTimeout)
				rep := k.Run(ctx, &jobs.Call{
					Spec: spec, Run: id, Operation: id, Job: "bench", Attempt: 1, MaxAttempts: 8,
					Deadline: deadline, Payload: payload, Kill: kill, Log: io.Discard,
				})
				cancel()
				if rep.Failure != nil {
					b.Error(rep.Failure)
					return
				}
			}
		})
	})
	b.Run("bare_http_client", func(b *testing.B) {
		transport := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		url := bareReceiver(b)
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := bareCall(client, url, payload); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func bareCall(client *http.Client, url string, payload []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "0192e4a7-5b3c-7d1e-8f00-0123456789ab")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}
