package cli

import (
	"context"
	"os"
	"time"
)

// sameSignal is how long after the first signal another one counts as the same: some send it to
// the process and then to its group.
const sameSignal = 500 * time.Millisecond

// stop ends everything: what is no call of an attempt at once, the attempts within their grace, which
// the next signal cuts short, and callers that do not end by themselves soon after the last attempt.
func (sv *serving) stop(signals <-chan os.Signal) error {
	kill := make(chan struct{})
	over := make(chan struct{})
	defer close(over)
	go sv.forceOn(signals, kill, over)
	began, grace := time.Now(), lastAnswers
	sv.sup.tellStopping()
	sv.srv.Stop()
	err := sv.rt.Stop(kill)
	if sv.taken {
		grace = lastAnswersTaken
		await(kill, lastCalls-time.Since(began))
	}
	calls, cutOff := context.WithTimeout(context.WithoutCancel(sv.s.ctx), grace)
	defer cutOff()
	if cut := sv.srv.Shutdown(calls); cut != nil {
		sv.log.Warn("calls were cut off", "error", cut)
	}
	if err != nil {
		sv.kinds.Close = nil // it would wait for the attempts
		return err
	}
	err = sv.st.Close()
	sv.st = nil
	if err == nil {
		sv.log.Info("stopped")
	}
	return err
}

// forceOn closes kill at the next signal, until over.
func (sv *serving) forceOn(signals <-chan os.Signal, kill chan<- struct{}, over <-chan struct{}) {
	began := time.Now()
	for {
		select {
		case <-signals:
			if time.Since(began) < sameSignal {
				continue
			}
			sv.log.Warn("stopping at once")
			close(kill)
		case <-over:
		}
		return
	}
}

// lastAnswers is how long calls may go on when the last attempt has ended, lastAnswersTaken where the next server has the
// listener and a call that is cut off would be the only sign of a restart.
const (
	lastAnswers      = 300 * time.Millisecond
	lastAnswersTaken = 5 * time.Second
)

// lastCalls is how long, where the next server has the listener, calls are taken after the signal at least: each answer
// is the last of its connection, so that those in use are given up by their callers, and not closed under them.
const lastCalls = time.Second

// await waits, but not when kill is closed.
func await(kill <-chan struct{}, d time.Duration) {
	select {
	case <-kill:
	case <-time.After(d):
	}
}

// answersLeft is how long callers may still get their answers before the process exits.
const answersLeft = time.Second

// abandon leaves attempts and the database to the end of the process and the next start: nothing
// is known of what is on disk. Callers are still answered.
func (sv *serving) abandon() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(sv.s.ctx), answersLeft)
	defer cancel()
	if err := sv.srv.Shutdown(ctx); err != nil {
		sv.log.Warn("calls were cut off", "error", err)
	}
	sv.kinds.Close, sv.st = nil, nil
}

// close gives back what open took.
func (sv *serving) close() {
	if sv.kinds.Close != nil {
		sv.kinds.Close()
	}
	if sv.ln != nil {
		_ = sv.ln.Close()
	}
	if sv.trace != nil {
		sv.trace()
	}
	if sv.st != nil {
		if err := sv.st.Close(); err != nil {
			sv.log.Error("close the database", "error", err)
		}
	}
	sv.sup.close()
}
