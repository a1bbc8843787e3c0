package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// checkHeartbeat checks --heartbeat-url.
func checkHeartbeat(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("--heartbeat-url: want an address such as https://hc.example.com/ping/nightshift")
	}
	return nil
}

// heartbeatTo calls an address; nil where there is none. What it answers matters only as far as it is 2xx.
// An address may be as good as a password: no error names it whole.
func heartbeatTo(address, version string) func(context.Context) error {
	if address == "" {
		return nil
	}
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute,
			ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return errors.New("the address of --heartbeat-url cannot be called")
		}
		req.Header.Set("User-Agent", "Nightshift/"+version)
		res, err := client.Do(req)
		if err != nil {
			var at *url.Error
			if errors.As(err, &at) {
				err = at.Err
			}
			return fmt.Errorf("call %s: %w", req.URL.Host, err)
		}
		defer res.Body.Close()
		_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again
		switch {
		case res.StatusCode >= 300 && res.StatusCode < 400:
			return fmt.Errorf("%s answered HTTP %d: redirects are not followed", req.URL.Host, res.StatusCode)
		case res.StatusCode < 200 || res.StatusCode >= 300:
			return fmt.Errorf("%s answered HTTP %d", req.URL.Host, res.StatusCode)
		}
		return nil
	}
}
