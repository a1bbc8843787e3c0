package doctor

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// ntpEpoch is what NTP counts seconds from, in those of Unix (RFC 5905, figure 4).
const ntpEpoch = 2_208_988_800

// AskTime asks an NTP server, HOST or HOST:PORT, how far this clock is from its own: one question by
// SNTP (RFC 4330).
func AskTime(ctx context.Context, server string, now func() time.Time) (Offset, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addr := server
	if _, _, err := net.SplitHostPort(server); err != nil {
		addr = net.JoinHostPort(server, "123")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return Offset{}, err
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	var ask, answer [48]byte
	ask[0] = 4<<3 | 3 // version 4, a client
	sent := now()
	// The server gives this back: what answers another question is no answer.
	binary.BigEndian.PutUint64(ask[40:], uint64(sent.UnixNano()))
	if _, err := conn.Write(ask[:]); err != nil {
		return Offset{}, err
	}
	for {
		n, err := conn.Read(answer[:])
		if err != nil {
			return Offset{}, fmt.Errorf("%s does not answer: %w", server, err)
		}
		if n == len(answer) && [8]byte(answer[24:32]) == [8]byte(ask[40:48]) {
			break
		}
	}
	came := now()
	if mode, stratum := answer[0]&7, answer[1]; mode != 4 || stratum == 0 || stratum > 15 || answer[0]>>6 == 3 {
		return Offset{}, fmt.Errorf("%s does not know the time itself", server)
	}
	there := ntpTime(answer[32:40]).Sub(sent)
	back := ntpTime(answer[40:48]).Sub(came)
	return Offset{By: (there + back) / 2, From: server}, nil
}

// ntpTime reads 32 bits of seconds and 32 of their fraction; seconds without the highest bit are those
// after 2036.
func ntpTime(b []byte) time.Time {
	sec, frac := int64(binary.BigEndian.Uint32(b)), uint64(binary.BigEndian.Uint32(b[4:]))
	if sec < 1<<31 {
		sec += 1 << 32
	}
	return time.Unix(sec-ntpEpoch, int64(frac*1e9>>32))
}
