// Package web is the dashboard: pages made on the server, that show what the API tells and do what it allows.
//
// It owns routes of pages, templates, the stylesheet and the little JavaScript there is. A page is a client of
// the API: it reads and changes everything by calls made as the person who has signed in, so that it can do
// nothing that their token may not. It must not know how the server works, nor how somebody is recognised:
// both come with each Visit.
package web
