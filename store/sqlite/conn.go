package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	lib "modernc.org/sqlite/lib"

	"nightshift/store/sqldb"
)

// conn is a driver connection with its statements kept. It goes below database/sql, which
// costs 8 to 16 % of a run. One goroutine at a time.
type conn struct {
	ctx   context.Context // ends what is under way
	raw   driver.ConnPrepareContext
	stmts map[string]*stmt
	wrote bool // something was executed since the flag was cleared
	woken bool // Wake was called
	bytes int  // of texts and blobs given to statements since it was set to 0
}

type stmt struct {
	close func() error
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	args  []int // which argument each parameter takes
	named []driver.NamedValue
	row   []driver.Value
	busy  bool // its rows are being read
	write bool // INSERT ... RETURNING is a query that writes
}

func newConn(raw any) (*conn, error) {
	c, ok := raw.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("the database driver's %T cannot prepare statements", raw)
	}
	return &conn{ctx: context.Background(), raw: c, stmts: map[string]*stmt{}}, nil
}

// prepare keeps statements by their text. $1 becomes ?, which binds without a look-up by name.
func (c *conn) prepare(query string) (*stmt, error) {
	if s := c.stmts[query]; s != nil {
		if s.busy {
			return nil, fmt.Errorf("%q within its own rows: read them first", query)
		}
		return s, nil
	}
	text, args := placeholders(query)
	ds, err := c.raw.PrepareContext(context.Background(), text)
	if code(err) == lib.SQLITE_ERROR {
		return nil, fmt.Errorf("prepare %q: %w: the tables are not as this version makes them: %s", query, err, whatToDo)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", query, err)
	}
	s := &stmt{
		args: args, named: make([]driver.NamedValue, len(args)),
		write: !strings.HasPrefix(strings.TrimSpace(query), "SELECT"),
	}
	var ok1, ok2 bool
	s.close = ds.Close
	s.exec, ok1 = ds.(driver.StmtExecContext)
	s.query, ok2 = ds.(driver.StmtQueryContext)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("the database driver's %T cannot be executed", ds)
	}
	c.stmts[query] = s
	return s, nil
}

// close finishes the statements: a connection that has some left is not closed by SQLite.
func (c *conn) close() {
	for _, s := range c.stmts {
		_ = s.close()
	}
	clear(c.stmts)
}

// placeholders turns $N into +? and tells which argument each one takes. The + does nothing, but for a
// bare ? that is a limit, or that is compared beside a partial index, SQLite looks into the value when
// it plans: it would compile the statement anew at each execution.
func placeholders(query string) (text string, args []int) {
	var b strings.Builder
	for i := 0; i < len(query); i++ {
		if query[i] != '$' {
			b.WriteByte(query[i])
			continue
		}
		j := i + 1
		for j < len(query) && query[j] >= '0' && query[j] <= '9' {
			j++
		}
		n, err := strconv.Atoi(query[i+1 : j])
		if err != nil {
			b.WriteByte('$')
			continue
		}
		args = append(args, n-1)
		b.WriteString("+?")
		i = j - 1
	}
	return b.String(), args
}

func (c *conn) bind(s *stmt, query string, args []driver.Value) error {
	for i, a := range s.args {
		if a >= len(args) {
			return fmt.Errorf("%q wants %d arguments, got %d", query, a+1, len(args))
		}
		v := args[a]
		switch n := v.(type) {
		case int:
			v = int64(n)
		case bool:
			v = int64(0)
			if n {
				v = int64(1)
			}
		case string:
			c.bytes += len(n)
		case []byte:
			c.bytes += len(n)
		}
		s.named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return nil
}

// Exec implements sqldb.Tx.
func (c *conn) Exec(query string, args ...driver.Value) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	if err := c.bind(s, query, args); err != nil {
		return 0, err
	}
	c.wrote = true
	res, err := s.exec.ExecContext(c.ctx, s.named)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// once executes a statement that is not kept: its text is another one each time.
func (c *conn) once(query string) error {
	_, err := c.Exec(query)
	if s := c.stmts[query]; s != nil {
		delete(c.stmts, query)
		err = errors.Join(err, s.close())
	}
	return err
}

// Query implements sqldb.Tx.
func (c *conn) Query(query string, each func(sqldb.Row) error, args ...driver.Value) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if err := c.bind(s, query, args); err != nil {
		return err
	}
	c.wrote = c.wrote || s.write
	rows, err := s.query.QueryContext(c.ctx, s.named)
	if err != nil {
		return err
	}
	s.busy = true
	defer func() {
		s.busy = false
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	row := s.row
	for {
		if err := rows.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// Wake implements sqldb.Tx.
func (c *conn) Wake() { c.woken = true }
