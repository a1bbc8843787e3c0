// Package browser holds tests that use the dashboard as people do: they build the real binary, serve a fresh
// file with it, and drive its pages with Chromium. They know no more of the server than its pages and its API.
package browser
