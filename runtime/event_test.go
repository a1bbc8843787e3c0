package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"

	"nightshift/jobs"
)

func TestWhoFollowsEventsIsWokenWhenOneIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, func(context.Context, *jobs.Call) jobs.Report {
			return jobs.Report{ExitCode: -1, HTTPStatus: 503, Failure: &jobs.Failure{Kind: jobs.FailHTTP}}
		})
		defer s.stop()
		s.put(`{"name":"a","webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":1}}`)
		changed, stop := s.rt.EventChanges()
		gone, stopped := s.rt.EventChanges()
		stopped()
		defer stop()
		s.rt.Start()
		for n := 1; n <= jobs.DefaultBreakerFailures; n++ {
			select {
			case <-changed:
				t.Fatalf("woken by nothing after %d errors", n-1)
			default:
			}
			s.awaitEnd(s.submit(jobs.Request{Job: "a"}))
			<-changed
		}
		list, err := s.rt.Events(context.Background(), jobs.DefaultBreakerFailures-1, 1)
		if err != nil || len(list) != 1 || list[0].Type != jobs.EventDependencyOpened {
			t.Errorf("events %v, %v", list, err)
		}
		select {
		case <-gone:
			t.Error("who has left is woken")
		default:
		}
	})
}
