package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"nightshift/jobs"
)

// stage is how far a conversation has come, as it stands in messages.
type stage string

const (
	stageConnect   stage = "while connecting to it"
	stageHandshake stage = "during the TLS handshake"
	stageGreeting  stage = "at its greeting"
	stageHello     stage = "after EHLO"
	stageSTARTTLS  stage = "after STARTTLS"
	stageAuth      stage = "during the sign-in"
	stageFrom      stage = "after MAIL FROM"
	stageTo        stage = "after RCPT TO"
	stageData      stage = "after DATA"
	stageMessage   stage = "while the message was sent"
	stageEnd       stage = "after the message was sent; whether it was taken is unknown"
)

var (
	errNoSTARTTLS = errors.New("offers no STARTTLS, and mail is not sent in clear: if that is meant, " +
		"say ?tls=none in --smtp")
	errTooMuch = errors.New("said more than 1 MiB")
)

// exchange is one conversation with the mail server.
type exchange struct {
	server *server
	hello  string
	mask   *jobs.Mask
	stage  stage
	conn   net.Conn // below TLS
	client *smtp.Client
}

// do brings a message to the mail server and gives its verdict on each recipient. The end of ctx
// closes the connection.
func (x *exchange) do(ctx context.Context, from string, to []string, message io.Reader) ([]verdict, error) {
	x.stage = stageConnect
	dialer := net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", x.server.name)
	if err != nil {
		return nil, err
	}
	x.conn = &bounded{Conn: conn, left: maxReplies}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := x.begin(ctx); err != nil {
		return nil, err
	}
	if err := x.signIn(); err != nil {
		return nil, err
	}
	verdicts, err := x.deliver(from, to, message)
	if err == nil {
		// The verdicts stand; a server that does not say goodbye is not waited for.
		_ = conn.SetDeadline(time.Now().Add(quitTimeout))
		_ = x.client.Quit()
	}
	return verdicts, err
}

// begin greets, within TLS unless the URL says that there is none.
func (x *exchange) begin(ctx context.Context) (err error) {
	over := x.conn
	if x.server.implicit {
		x.stage = stageHandshake
		secure := tls.Client(x.conn, x.server.tls())
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		over = secure
	}
	x.stage = stageGreeting
	if x.client, err = smtp.NewClient(over, x.server.host); err != nil {
		return err
	}
	x.client.SkipSMTPUTF8(true) // addresses are ASCII
	x.stage = stageHello
	if err := x.client.Hello(x.hello); err != nil {
		return err
	}
	if x.server.implicit || x.server.clear {
		return nil
	}
	x.stage = stageSTARTTLS
	if offered, _ := x.client.Extension("STARTTLS"); !offered {
		return errNoSTARTTLS
	}
	return x.client.StartTLS(x.server.tls())
}

// deliver sends the message to those recipients that the server takes. An error is one of the
// connection, or a refusal of all, before any recipient was asked for.
func (x *exchange) deliver(from string, to []string, message io.Reader) ([]verdict, error) {
	x.stage = stageFrom
	if err := x.client.Mail("<" + from + ">"); err != nil {
		return nil, err
	}
	x.stage = stageTo
	verdicts := make([]verdict, len(to))
	taken := 0
	for i, address := range to {
		v, err := x.verdictOf(address, x.client.Rcpt("<"+address+">"))
		if err != nil {
			return nil, err
		}
		if v.code == codeClosing {
			return allOf(to, v), nil
		}
		if verdicts[i] = v; v.accepted() {
			taken++
		}
	}
	if taken == 0 {
		return verdicts, nil
	}
	end, err := x.verdictOf("", x.send(message))
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		if v.accepted() {
			verdicts[i].code, verdicts[i].reply = end.code, end.reply
		}
	}
	return verdicts, nil
}

// codeClosing is the reply of a server that gives up the connection, whatever it was asked.
const codeClosing = 421

func allOf(to []string, v verdict) []verdict {
	all := make([]verdict, len(to))
	for i, address := range to {
		all[i] = verdict{address, v.code, v.reply}
	}
	return all
}

// send sends the message and reads what the server says at its end. Where the sending broke off,
// the server may have said why.
func (x *exchange) send(message io.Reader) error {
	x.stage = stageData
	w, err := x.client.Data()
	if err != nil {
		return err
	}
	x.stage = stageMessage
	_, broke := io.Copy(w, message)
	if broke == nil {
		x.stage = stageEnd
	}
	err = w.Close()
	var reply *textproto.Error
	if broke != nil && !errors.As(err, &reply) {
		return broke
	}
	return err
}

// verdictOf tells a server's answer to a command from an error of the connection.
func (x *exchange) verdictOf(address string, err error) (verdict, error) {
	if err == nil {
		return verdict{address, 250, "250 taken"}, nil
	}
	var reply *textproto.Error
	if !errors.As(err, &reply) || !isRefusal(reply) {
		return verdict{}, err
	}
	return verdict{address, reply.Code, x.replyText(reply)}, nil
}

func isRefusal(reply *textproto.Error) bool { return reply.Code >= 400 && reply.Code <= 599 }

// replyText is a reply on one line. It is kept with the checkpoint too: a server may repeat what it
// was sent.
func (x *exchange) replyText(reply *textproto.Error) string {
	return clip(oneLine(fmt.Sprintf("%d %s", reply.Code, x.mask.Text(reply.Msg))), maxReply)
}

// bounded is a connection of which only so much is read: the client keeps whole replies.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
