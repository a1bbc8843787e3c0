// Package mail is the kind of job that sends a message (contract 3.1).
//
// It owns the message, the conversation with the mail server, and what becomes of each recipient.
// It must not know of stores, retries or states.
//
// The message is put together by go-mail and SMTP is spoken through its client, command by
// command: what its one call for all of that cannot tell is which recipients a server has taken.
// A recipient that was taken is never written to again by the same operation, and one that was
// refused for good not by the same run: that is what the checkpoint holds.
//
// All attempts of an operation send one Message-ID, by which a mailbox can drop what it got twice:
// where a connection breaks after the message was sent, nobody can tell whether it was taken.
package mail
