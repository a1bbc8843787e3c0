package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// payloadSize is the length of a run's payload in bytes.
const payloadSize = 300

// payloadKeys is how many customers the runs are of.
const payloadKeys = 100

// payload is the JSON that a run carries: its number, by which the receiver tells runs apart, when
// it was sent, in nanoseconds since 1970 (0: not of interest), and whose it is. Always payloadSize
// long.
func payload(n int, sentAt int64) []byte {
	b := make([]byte, 0, payloadSize)
	b = fmt.Appendf(b, `{"n":"%08d","at":"%019d","key":"%s","pad":"`, n, sentAt, payloadKey(n))
	for len(b) < payloadSize-2 {
		b = append(b, byte('a'+len(b)%26))
	}
	return append(b, `"}`...)
}

func payloadKey(n int) string { return fmt.Sprintf("customer-%02d", n%payloadKeys) }

var errForeignBody = errors.New("the body is not a payload of this bench")

// readPayload takes the number and the time out of a payload.
func readPayload(body []byte) (n int, sentAt int64, err error) {
	number, err := member(body, `"n":"`, 8)
	if err != nil {
		return 0, 0, err
	}
	at, err := member(body, `"at":"`, 19)
	return int(number), at, err
}

func member(body []byte, key string, digits int) (int64, error) {
	i := bytes.Index(body, []byte(key))
	if i < 0 || len(body) < i+len(key)+digits {
		return 0, errForeignBody
	}
	n, err := strconv.ParseInt(string(body[i+len(key):i+len(key)+digits]), 10, 64)
	if err != nil {
		return 0, errForeignBody
	}
	return n, nil
}
