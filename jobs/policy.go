package jobs

import (
	"fmt"
	"reflect"
	"sync"
)

// Policy is a named set of retry settings that jobs may start from: the fields of Retry without
// policy, and its state. In a document null is the same as left out.
type Policy struct {
	Name        string    `json:"name"`
	MaxAttempts *int      `json:"max_attempts,omitempty"`
	MaxElapsed  *Duration `json:"max_elapsed,omitempty"`
	Backoff     *Backoff  `json:"backoff,omitempty"`
	Rules       []Rule    `json:"rules,omitzero"` // none is not left out: the default's are built in
	Otherwise   string    `json:"otherwise,omitempty"`
	Interrupted string    `json:"interrupted,omitempty"`

	// State: answered, ignored when a document brings it.
	BuiltIn   bool   `json:"built_in,omitempty"` // the policy default as nobody has changed it
	Revision  int64  `json:"-"`                  // grows with each change; the ETag
	Set       string `json:"set,omitempty"`      // the set of the apply that made it
	CreatedAt Time   `json:"created_at,omitzero"`
	UpdatedAt Time   `json:"updated_at,omitzero"`
}

// PolicyDefault is the name of the policy that all others fall to.
const PolicyDefault = "default"

// ParsePolicy reads a policy document as it is sent, strictly, and checks it. It gives a
// *SyntaxError, or an *InvalidError with all that is wrong. What a document says of the policy's
// state is dropped. A missing name is left to the caller, who may know it from elsewhere.
func ParsePolicy(data []byte) (*Policy, error) {
	return parseSent(data, func(p *Policy) ([]Fault, error) {
		p.dropState()
		return p.Check(), nil
	})
}

// ParsePolicyDocument reads a stored document: fields that this version does not know are passed
// over, and nothing is checked again.
func ParsePolicyDocument(name string, data []byte) (*Policy, error) {
	var p Policy
	if err := DecodeLenient(data, &p); err != nil {
		return nil, fmt.Errorf("read the document of policy %s: %w", name, err)
	}
	p.dropState()
	p.Name = name
	return &p, nil
}

func (p *Policy) dropState() {
	p.BuiltIn, p.Revision, p.Set, p.CreatedAt, p.UpdatedAt = false, 0, "", 0, 0
}

// Document is the JSON text of the policy without its state: what is stored, exported and compared
// to see whether a document changed.
func (p *Policy) Document() Raw {
	plain := *p
	plain.dropState()
	return AppendJSON(nil, &plain)
}

// FieldHint says where in a policy a field belongs.
func (*Policy) FieldHint(parent, name string) string {
	if parent == "" && (name == "policy" || name == "retry") {
		return "a policy has the fields of a job's retry at its top level, and starts from no other"
	}
	return belongs(reflect.TypeFor[Policy](), "policy", name)
}

// Check gives all that is wrong with a policy by itself. A missing name is left to the caller.
func (p *Policy) Check() []Fault {
	var f faults
	if p.Name != "" {
		f.check("name", CheckName(p.Name))
	}
	_, found := compileLevel(p.retry(), "policy "+p.Name, "")
	return append(f, found...)
}

// overBuiltIn is the policy default with the rules that are built in where it says nothing of rules.
func (p *Policy) overBuiltIn() *Policy {
	if p.Rules != nil {
		return p
	}
	whole := *p
	whole.Rules = DefaultPolicy().Rules
	return &whole
}

func (p *Policy) retry() *Retry {
	return &Retry{
		MaxAttempts: p.MaxAttempts, MaxElapsed: p.MaxElapsed, Backoff: p.Backoff,
		Rules: p.Rules, Otherwise: p.Otherwise, Interrupted: p.Interrupted,
	}
}

// DefaultPolicy is the policy default as it is until somebody changes it: a whitelist of errors
// that are worth another try (contract 4). All others fail at once. The answer is shared:
// it must not be changed.
func DefaultPolicy() *Policy { return defaultPolicy() }

var defaultPolicy = sync.OnceValue(func() *Policy {
	return &Policy{
		Name:        PolicyDefault,
		MaxAttempts: new(DefaultMaxAttempts),
		Backoff: &Backoff{
			Kind:   BackoffExponential,
			Base:   new(Duration(10e9)),
			Factor: new(3.0),
			Max:    new(Duration(30 * 60e9)),
			Jitter: new(0.2),
		},
		Rules:       defaultRules(),
		Otherwise:   ThenFail,
		Interrupted: InterruptedRerun,
	}
})

func defaultRules() []Rule {
	passing := func(condition, reason string) Rule {
		return Rule{If: condition, Then: ThenRetry, Reason: reason}
	}
	return []Rule{
		passing(`error.kind in ["timeout", "connection", "dns", "heartbeat"]`,
			"no answer: this passes often"),
		passing(`error.kind == "http" && http.status in [408, 425, 429, 500, 502, 503, 504]`,
			"a status that passes often"),
		passing(`error.kind == "smtp" && error.type startsWith "4"`,
			"the mail server says it passes"),
		passing(`exit.code == 75`, "exit 75: the script says it passes"),
		passing(pythonPassing, "a passing error of Python"),
		passing(nodePassing, "a passing error of Node.js"),
		passing(nodeFetchPassing, "a passing error of Node.js under fetch"),
		passing(javaPassing, "a passing error of Java"),
		passing(javaCausePassing, "a passing error of Java, wrapped"),
		passing(rubyPassing, "a passing error of Ruby"),
		passing(goPassing, "a passing error of Go"),
		passing(phpPassing, "a passing error of PHP"),
	}
}

// Classes that tell of a network, a lock or a peer for the moment, never of the input.
const (
	pythonPassing = `error.type in [
  "TimeoutError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError",
  "ConnectionAbortedError", "BrokenPipeError", "socket.timeout", "socket.gaierror",
  "asyncio.TimeoutError", "asyncio.exceptions.TimeoutError",
  "concurrent.futures.TimeoutError", "concurrent.futures._base.TimeoutError",
  "http.client.RemoteDisconnected", "http.client.IncompleteRead",
  "requests.exceptions.ConnectionError", "requests.exceptions.Timeout",
  "requests.exceptions.ConnectTimeout", "requests.exceptions.ReadTimeout",
  "requests.exceptions.ChunkedEncodingError", "requests.exceptions.ProxyError",
  "urllib3.exceptions.TimeoutError", "urllib3.exceptions.ConnectTimeoutError",
  "urllib3.exceptions.ReadTimeoutError", "urllib3.exceptions.NewConnectionError",
  "urllib3.exceptions.NameResolutionError", "urllib3.exceptions.ProtocolError",
  "httpx.ConnectError", "httpx.ReadError", "httpx.WriteError", "httpx.ConnectTimeout",
  "httpx.ReadTimeout", "httpx.WriteTimeout", "httpx.PoolTimeout", "httpx.RemoteProtocolError",
  "aiohttp.client_exceptions.ClientConnectorError",
  "aiohttp.client_exceptions.ServerDisconnectedError",
  "aiohttp.client_exceptions.ServerTimeoutError", "aiohttp.client_exceptions.ClientOSError",
  "botocore.exceptions.EndpointConnectionError", "botocore.exceptions.ConnectTimeoutError",
  "botocore.exceptions.ReadTimeoutError", "botocore.exceptions.ConnectionClosedError",
  "redis.exceptions.ConnectionError", "redis.exceptions.TimeoutError",
  "redis.exceptions.BusyLoadingError", "psycopg2.errors.SerializationFailure",
  "psycopg2.errors.DeadlockDetected", "psycopg.errors.SerializationFailure",
  "psycopg.errors.DeadlockDetected", "psycopg.errors.ConnectionTimeout"
] || error.type == "urllib.error.URLError" && not (error.message contains "CERTIFICATE")`

	nodePassing = `error.type in [
  "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "ESOCKETTIMEDOUT", "EPIPE",
  "EAI_AGAIN", "ENOTFOUND", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT",
  "ConnectTimeoutError", "HeadersTimeoutError", "BodyTimeoutError", "SocketError"
] || error.type in ["Error", "AggregateError", "AxiosError", "FetchError", "RequestError"] &&
  error.message matches "\\b(ECONN(REFUSED|RESET|ABORTED)|E(SOCKET)?TIMEDOUT|EPIPE|` +
		`EAI_AGAIN|ENOTFOUND|E(NET|HOST)UNREACH|socket hang up)\\b"`

	nodeFetchPassing = `error.type == "TypeError" &&
  error.message in ["fetch failed", "terminated"] &&
  error.stack matches "code: '(ECONN(REFUSED|RESET|ABORTED)|ETIMEDOUT|EPIPE|` +
		`EAI_AGAIN|ENOTFOUND|E(NET|HOST)UNREACH|UND_ERR_(SOCKET|(CONNECT|HEADERS|BODY)_TIMEOUT))'"`

	javaPassing = `error.type in [
  "java.net.SocketTimeoutException", "java.net.ConnectException", "java.net.SocketException",
  "java.net.NoRouteToHostException", "java.net.UnknownHostException",
  "java.net.PortUnreachableException", "java.net.http.HttpTimeoutException",
  "java.net.http.HttpConnectTimeoutException", "java.nio.channels.ClosedChannelException",
  "java.util.concurrent.TimeoutException", "java.sql.SQLTransientException",
  "java.sql.SQLTransientConnectionException", "java.sql.SQLTransactionRollbackException",
  "java.sql.SQLTimeoutException", "java.sql.SQLRecoverableException",
  "org.apache.http.NoHttpResponseException", "org.apache.http.conn.ConnectTimeoutException",
  "org.apache.http.conn.HttpHostConnectException",
  "org.springframework.web.client.ResourceAccessException",
  "org.springframework.dao.QueryTimeoutException",
  "org.springframework.dao.CannotAcquireLockException",
  "org.springframework.dao.PessimisticLockingFailureException",
  "org.springframework.dao.TransientDataAccessResourceException"
]`

	javaCausePassing = `error.stack matches "(?m)^Caused by: java\\.(` +
		`net\\.(SocketTimeout|Connect|NoRouteToHost|UnknownHost)|net\\.http\\.Http(Connect)?Timeout|` +
		`util\\.concurrent\\.Timeout|` +
		`sql\\.SQL(Transient(Connection)?|TransactionRollback|Timeout|Recoverable))Exception\\b"`

	rubyPassing = `error.type in [
  "Net::OpenTimeout", "Net::ReadTimeout", "Net::WriteTimeout", "Timeout::Error",
  "Timeout::ExitException", "Errno::ECONNREFUSED", "Errno::ECONNRESET", "Errno::ECONNABORTED",
  "Errno::ETIMEDOUT", "Errno::EHOSTUNREACH", "Errno::ENETUNREACH", "Errno::EPIPE",
  "SocketError", "Socket::ResolutionError", "IO::TimeoutError", "Faraday::ConnectionFailed",
  "Faraday::TimeoutError", "HTTP::ConnectionError", "HTTP::TimeoutError",
  "RestClient::Exceptions::OpenTimeout", "RestClient::Exceptions::ReadTimeout",
  "Redis::CannotConnectError", "Redis::TimeoutError", "Redis::ConnectionError",
  "ActiveRecord::Deadlocked", "ActiveRecord::LockWaitTimeout",
  "ActiveRecord::SerializationFailure", "ActiveRecord::ConnectionTimeoutError",
  "ActiveRecord::ConnectionNotEstablished", "PG::ConnectionBad", "PG::TRDeadlockDetected",
  "PG::TRSerializationFailure"
]`

	goPassing = `error.type in [
  "*net.OpError", "*net.DNSError", "net.Error", "context.DeadlineExceeded",
  "context.deadlineExceededError", "*http.httpError", "*http.timeoutError"
] || error.type == "panic" &&
  error.message matches "(connection (refused|reset by peer|timed out)|i/o timeout|` +
		`no such host|TLS handshake timeout|network is unreachable|no route to host|` +
		`context deadline exceeded|broken pipe|server misbehaving)"`

	phpPassing = `error.type in [
  "GuzzleHttp\\Exception\\ConnectException",
  "Symfony\\Component\\HttpClient\\Exception\\TransportException",
  "Symfony\\Component\\HttpClient\\Exception\\TimeoutException",
  "Http\\Client\\Exception\\NetworkException",
  "Illuminate\\Http\\Client\\ConnectionException",
  "Illuminate\\Database\\DeadlockException",
  "Doctrine\\DBAL\\Exception\\ConnectionLost", "Doctrine\\DBAL\\Exception\\DeadlockException",
  "Doctrine\\DBAL\\Exception\\LockWaitTimeoutException"
] || error.type == "PDOException" &&
  error.message matches "(server has gone away|Lost connection|Deadlock found|` +
		`deadlock detected|Lock wait timeout|Connection (refused|timed out|reset)|could not serialize)"`
)
