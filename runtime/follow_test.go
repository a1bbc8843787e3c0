package runtime_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

// follow gives what a follower of a run's output is sent, until the run has ended.
func (s *server) follow(id jobs.ID) (pieces <-chan string) {
	ch := make(chan string, 100)
	go func() {
		defer close(ch)
		if err := s.rt.Log(context.Background(), id, writerFunc(func(p []byte) { ch <- string(p) }), true, func() {}); err != nil {
			s.t.Error(err)
		}
	}()
	return ch
}

func TestTheOutputOfARunThatWaitsIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(ctx context.Context, c *jobs.Call) jobs.Report {
			fmt.Fprint(c.Log, "taken on\n")
			return accept(ctx, c)
		})
		s.put(silentJob)
		s.rt.Start()
		f := s.taken()
		pieces := s.follow(f.Run)
		want := func(text string) {
			t.Helper()
			if got := <-pieces; got != text {
				t.Fatalf("it is sent %q, want %q", got, text)
			}
		}
		say := func(text string) {
			t.Helper()
			if err := s.rt.AppendLog(context.Background(), f, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		want("taken on\n")
		say("one")
		want("one\n")
		say("two\n")
		want("two\n")
		time.Sleep(2 * time.Second)
		if got := s.stored(f.Run); got != "taken on\none\ntwo\n" {
			t.Errorf("after 2 s there is %q on disk", got)
		}
		time.Sleep(time.Minute) // nothing of it is in memory any more
		say("three")
		want("three\n")
		say("four")
		s.complete(f, `1`)
		want("four\n")
		if rest, more := <-pieces; more {
			t.Errorf("then %q", rest)
		}
		s.stop()
		s.open()
		defer s.stop()
		if got := s.log(f.Run); got != "taken on\none\ntwo\nthree\nfour\n" {
			t.Errorf("kept is %q", got)
		}
	})
}

// stored is the output of a run that is on disk.
func (s *server) stored(id jobs.ID) (text string) {
	s.t.Helper()
	err := s.st.Log(context.Background(), id, func(p store.LogPiece) error {
		text += string(p.Data)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func TestTheOutputIsFollowedOverSlices(t *testing.T) {
	step := make(chan string)
	s := newServer(t, func(_ context.Context, c *jobs.Call) jobs.Report {
		fmt.Fprint(c.Log, <-step)
		if c.Continues == 2 {
			return jobs.Report{ExitCode: -1}
		}
		return slice(fmt.Sprint(c.Continues))
	})
	defer s.stop()
	s.put(webhookJob)
	s.rt.Start()
	id := s.submit(jobs.Request{Job: "a"})
	s.awaitState(id, jobs.Running)
	pieces := s.follow(id)
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		step <- text
		if got := <-pieces; got != text {
			t.Errorf("it is sent %q, want %q", got, text)
		}
	}
	if rest, more := <-pieces; more {
		t.Errorf("then %q", rest)
	}
	if got := s.log(id); got != "one\ntwo\nthree\n" {
		t.Errorf("kept is %q", got)
	}
}

// A run that waits has its output bounded as any other, whoever prints it, and over restarts.
func TestTheOutputOfARunThatWaitsIsBounded(t *testing.T) {
	s := newServer(t, accept)
	s.put(silentJob)
	s.rt.Start()
	f := s.taken()
	line := make([]byte, 100<<10)
	for i := range line {
		line[i] = 'x'
	}
	for i := range 30 {
		if err := s.rt.AppendLog(context.Background(), f, append([]byte(fmt.Sprintf("<%d>", i)), line...)); err != nil {
			t.Fatal(err)
		}
		if i == 15 {
			s.stop()
			s.open()
			s.rt.Start()
		}
	}
	s.complete(f, "1")
	defer s.stop()
	log := s.log(f.Run)
	if len(log) > 1<<20+200 || len(log) < 900<<10 || log[:3] != "<0>" || log[len(log)-1] != '\n' {
		t.Errorf("%d bytes, from %q to %q", len(log), log[:10], log[len(log)-10:])
	}
}
