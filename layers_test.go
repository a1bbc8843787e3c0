package main_test

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The tables below are section 2 of the architecture in code: who may import whom, and where each
// third-party package, the clock and the file system may be used. A path is one of a folder or
// file from the top of the module; * stands for one element, a final /... for all below too.

// layer is a folder, what of this module its packages may import, and what only its tests may.
type layer struct {
	dir   string
	may   []string
	own   bool     // and all below its first two path elements
	tests []string // besides may
}

// layers: the first whose dir matches holds.
var layers = []layer{
	{dir: ".", may: []string{"..."}},
	{dir: "jobs"},
	{dir: "jobs/kindtest", may: []string{"jobs"}},
	{dir: "jobs/*/...", may: []string{"jobs"}, own: true, tests: []string{"jobs/kindtest"}},
	{dir: "store", may: []string{"jobs"}},
	{dir: "store/sqldb", may: []string{"store", "jobs"}, tests: []string{"store/sqlite", "store/storetest"}},
	{dir: "store/storetest", may: []string{"store", "jobs"}, own: true},
	{
		dir: "store/*/...", may: []string{"store", "store/sqldb", "jobs"}, own: true,
		tests: []string{"store/storetest"},
	},
	{dir: "runtime", may: []string{"store", "jobs"}, tests: []string{"store/...", "jobs/..."}},
	{dir: "runtime/otlp", may: []string{"runtime", "jobs"}, tests: []string{"store/..."}},
	{
		dir: "api", may: []string{"api/web", "api/client", "api/wire", "runtime", "store", "jobs"},
		tests: []string{"..."},
	},
	{dir: "api/wire", may: []string{"jobs"}},
	{dir: "api/client", may: []string{"api/wire", "jobs"}, tests: []string{"..."}},
	{dir: "api/words", may: []string{"api/wire", "jobs"}},
	{dir: "api/cli/doctor", may: []string{"jobs"}},
	{dir: "api/cli/importer", may: []string{"api/words", "jobs"}, tests: []string{"..."}},
	{dir: "api/cli", may: []string{"api/client", "api/words", "api/wire", "jobs", "api/cli/doctor", "api/cli/importer"}, tests: []string{"..."}},
	{dir: "api/web", may: []string{"api/client", "api/words", "api/wire", "jobs"}, tests: []string{"..."}},
	{dir: "scripts/...", may: []string{"..."}},
	{dir: "examples/..."},
}

// composition is where the parts are put together: these files import all. Concrete kinds and
// stores are named in main.go alone.
var composition = []string{
	"main.go", "api/cli/serve.go", "api/cli/serve_start.go", "api/cli/serve_show.go", "api/cli/backup.go", "api/cli/serve_keep.go",
}

// suites are packages of test code that other packages' tests call.
var suites = []string{"store/storetest/...", "jobs/kindtest"}

// fence says where an import may stand.
type fence struct {
	imports []string // exact, or all below where it ends in /
	in      []string // folders or files; nil: tests and suites alone
	tests   bool     // tests may anywhere
	why     string
}

// fences of third-party packages and of the standard ones that touch the world. A third-party
// import that no fence names is refused.
var fences = []fence{
	{
		imports: []string{
			"database/sql", "database/sql/driver", "modernc.org/", "github.com/jackc/pgx/",
			"github.com/pressly/goose/",
		},
		in: []string{"store/...", "scripts/..."}, why: "databases are spoken to under store/",
	},
	{
		imports: []string{"github.com/labstack/echo/", "github.com/danielgtaylor/huma/"},
		in:      []string{"api", "scripts/..."}, why: "HTTP is served by api/",
	},
	{
		imports: []string{"github.com/go-co-op/gocron/"},
		in:      []string{"runtime/ticker.go"}, why: "it is a wake-up only",
	},
	{
		imports: []string{"github.com/prometheus/"},
		in:      []string{"runtime/metrics.go", "runtime/metrics_standing.go", "api/metrics.go"}, tests: true,
		why: "what is counted is counted in one place, and served in one",
	},
	{
		imports: []string{"github.com/expr-lang/expr/"},
		in:      []string{"jobs/rule.go", "jobs/rule_survey.go", "jobs/template.go"}, why: "one bounded use of expressions",
	},
	{
		imports: []string{"go.yaml.in/yaml/"},
		in:      []string{"jobs/file.go", "jobs/file_mistake.go", "jobs/export.go"}, why: "the rest speaks JSON",
	},
	{
		imports: []string{"code.dny.dev/ssrf"},
		in:      []string{"jobs/webhook"}, why: "it judges the address that is dialled",
	},
	{
		imports: []string{"github.com/wneessen/go-mail/"},
		in:      []string{"jobs/mail"}, why: "mail is put together and sent there",
	},
	{
		imports: []string{"go.opentelemetry.io/"},
		in:      []string{"runtime/otlp"}, tests: true, why: "traces leave the house by one door",
	},
	{
		imports: []string{"google.golang.org/protobuf/"},
		tests:   true, why: "a collector of tests reads what is sent",
	},
	{
		imports: []string{"github.com/alecthomas/kong", "github.com/lmittmann/tint"},
		in:      []string{"main.go", "api/cli"}, why: "they speak to a person at a terminal",
	},
	{
		imports: []string{"golang.org/x/sys/"},
		in: []string{
			"main.go", "runtime", "jobs/script/...", "jobs/mail/sendmail.go", "store/...",
			"scripts/...", "api/cli/doctor", "api/cli/print.go", "api/cli/secrets.go",
		},
		tests: true, why: "the system is asked where processes, files and disks are handled",
	},
	{
		imports: []string{"github.com/google/go-cmp/", "github.com/google/uuid", "pgregory.net/rapid", "github.com/santhosh-tekuri/"},
		tests:   true, why: "they are tools of tests",
	},
	{
		imports: []string{"os/exec"},
		in:      []string{"jobs/script/...", "jobs/mail", "scripts/..."}, tests: true,
		why: "programs that are started are scripts, and the machine's sendmail",
	},
	{
		imports: []string{"math/rand", "math/rand/v2", "crypto/rand"},
		in:      []string{"main.go", "runtime", "api/...", "scripts/...", "examples/..."},
		tests:   true, why: "below runtime/ randomness is an argument",
	},
}

// inner are the folders that do no I/O at all, and the imports that would.
var (
	inner   = []string{"jobs", "store"}
	outward = []string{"os", "os/", "net", "net/http", "net/http/", "syscall"}
)

// calls that are fenced by name.
type callFence struct {
	pkg   string
	names []string
	not   []string // folders and files where they are refused
	but   []string // except there
	why   string
}

var callFences = []callFence{
	{
		pkg: "time", names: []string{"Now", "Since", "Until"},
		// How long an upgrade took is told, never kept.
		not: []string{"jobs", "store/..."}, but: []string{"store/sqlite/upgrade.go", "store/sqlite/upgrade_copy.go"},
		why: "below runtime/ time is an argument",
	},
	{
		pkg: "time",
		names: []string{
			"After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep",
		},
		// The writer of a store may wait a few milliseconds for others to join a commit.
		not: []string{"jobs", "store/..."}, but: []string{"store/sqlite"},
		why: "timers belong in runtime/ and, for deadlines, in kinds",
	},
	{
		pkg: "os",
		names: []string{
			"Open", "OpenFile", "Create", "ReadFile", "WriteFile", "OpenRoot",
		},
		not: []string{"store/..."}, but: []string{"store/sqlite/lock.go", "store/sqlite/files.go"},
		why: "closing a descriptor of the database drops SQLite's locks on it: only the lock file " +
			"is opened, and what files.go says",
	},
	{
		pkg: "syscall", names: []string{"Open", "Openat", "Creat"},
		not: []string{"store/..."}, but: []string{"store/sqlite/lock.go"},
		why: "closing a descriptor of the database drops SQLite's locks on it",
	},
	{
		pkg: "golang.org/x/sys/unix", names: []string{"Open", "Openat", "Openat2", "Creat"},
		not: []string{"store/..."}, but: []string{"store/sqlite/lock.go"},
		why: "closing a descriptor of the database drops SQLite's locks on it",
	},
}

// topLevel is all that may stand at the top of the module, besides dot-files.
var topLevel = []string{
	"go.mod", "go.sum", "main.go", "runtime", "store", "api", "jobs", "scripts", "examples",
	"README.md", "CHANGELOG.md", "LICENSE", "layers*_test.go",
}

// Budgets: a file of more than 1.5 × 300 lines is split by subject; a store interface
// has at most 12 methods.
const (
	maxLines   = 450
	maxMethods = 12
)

func TestTheModuleKeepsItsLayers(t *testing.T) {
	violations, err := checkLayers(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

func TestLayersRefuseWhatTheyForbid(t *testing.T) {
	long := "// Package x is long.\npackage x\n" + strings.Repeat("\n", maxLines)
	cases := []struct {
		file, text string
		want       string // part of the only violation; "": none
	}{
		{"jobs/a.go", `import "nightshift/store"`, `imports store; jobs may import nothing`},
		{"jobs/webhook/a.go", `import "nightshift/store"`, `jobs/webhook may import jobs`},
		{"jobs/webhook/a.go", `import "nightshift/jobs/script"`, `may import jobs`},
		{"jobs/webhook/a.go", `import "nightshift/jobs/kindtest"`, `may import jobs`},
		{"jobs/webhook/a_test.go", `import "nightshift/jobs/kindtest"`, ``},
		{"jobs/script/a.go", `import "nightshift/jobs/script/trace"`, ``},
		{"store/a.go", `import "nightshift/store/sqlite"`, `store may import jobs`},
		{"store/sqlite/a.go", `import "nightshift/store/sqldb"`, ``},
		{"store/sqlite/a.go", `import "nightshift/runtime"`, `imports runtime`},
		{"store/storetest/a.go", `import "nightshift/store/sqlite"`, `imports store/sqlite`},
		{"runtime/a.go", `import "nightshift/store/sqlite"`, `runtime may import store, jobs`},
		{"runtime/a_test.go", `import "nightshift/store/sqlite"`, ``},
		{"runtime/a.go", `import "nightshift/api"`, `imports api`},
		{"api/a.go", `import "nightshift/jobs/webhook"`, `imports jobs/webhook`},
		{"api/cli/a.go", `import "nightshift/runtime"`, `api/cli may import api/client`},
		{"api/cli/serve.go", `import "nightshift/store/sqlite"`, ``},
		{"main.go", `import "nightshift/store/sqlite"`, ``},
		{"tools/a.go", `import "fmt"`, `tools stands at the top level`},
		{"scripts/x/a.go", `import "nightshift/api"`, ``},

		{"runtime/a.go", `import "modernc.org/sqlite"`, `databases are spoken to under store/`},
		{"runtime/a.go", `import "database/sql"`, `allowed in store/`},
		{"store/sqlite/a.go", `import "modernc.org/sqlite"`, ``},
		{"api/client/a.go", `import "github.com/labstack/echo/v4"`, `allowed in api`},
		{"jobs/rule.go", `import "github.com/expr-lang/expr/vm"`, ``},
		{"jobs/decide.go", `import "github.com/expr-lang/expr"`, `allowed in jobs/rule.go`},
		{"runtime/tick_plan.go", `import "github.com/go-co-op/gocron/v2"`, `allowed in runtime/ticker.go`},
		{"jobs/schedule.go", `import "github.com/robfig/cron/v3"`, `no fence names it`},
		{"jobs/job.go", `import "go.yaml.in/yaml/v3"`, `allowed in jobs/file.go`},
		{"jobs/webhook/a.go", `import "os/exec"`, `programs that are started are scripts`},
		{"jobs/webhook/a_test.go", `import "os/exec"`, ``},
		{"api/a.go", `import "github.com/google/go-cmp/cmp"`, `allowed in tests`},
		{"api/a.go", `import "github.com/unheard/of"`, `no fence names it`},
		{"api/a.go", `import "C"`, `no fence names it`},
		{"jobs/a.go", `import "os"`, `jobs does no I/O`},
		{"jobs/a.go", `import "net/url"`, ``},
		{"store/a.go", `import "net/http"`, `store does no I/O`},
		{"jobs/a.go", `import "crypto/rand"`, `randomness is an argument`},

		{"jobs/a.go", "import \"time\"\nvar a = time.Now()", `time.Now; below runtime/`},
		{"jobs/a.go", "import t \"time\"\nvar a = t.Since", `time.Since`},
		{"jobs/a.go", "import . \"time\"\nvar a = Now()", `imports time with a dot`},
		{"jobs/a_test.go", "import \"time\"\nvar a = time.Now()", ``},
		{"jobs/webhook/a.go", "import \"time\"\nvar a = time.Now()", ``},
		{"store/sqldb/a.go", "import \"time\"\nvar a = time.NewTimer(1)", `time.NewTimer`},
		{"store/sqlite/a.go", "import \"time\"\nvar a = time.NewTimer(1)", ``},
		{"store/sqlite/a.go", "import \"time\"\nvar a = time.Now()", `time.Now`},
		{"store/sqlite/a.go", "import \"os\"\nvar a, _ = os.Open(`x`)", `os.Open; closing`},
		{
			"store/sqlite/a.go",
			"import \"os\"\nvar a, _ = os.OpenFile(`x`, os.O_CREATE|os.O_EXCL, 0)", ``,
		},
		{"store/sqlite/a.go", "import \"os\"\nvar a, _ = os.OpenFile(`x`, 0, 0)", `os.OpenFile`},
		{"store/sqlite/lock.go", "import \"os\"\nvar a, _ = os.OpenFile(`x`, 0, 0)", ``},

		{"store/a.go", "type Queue interface{" + strings.Repeat("A();", 12) + "}", ``},
		{"store/a.go", "type Queue interface{" + strings.Repeat("A();", 13) + "}", `13 methods`},
		{"api/a.go", "// TO" + "DO: later", `TO` + `DO`},
		{"scripts/run", "# FIX" + "ME", `FIX` + `ME`},
		{"api/a.go", long, `split it by subject`},
		{"api/a_test.go", long, ``},
		{"api/a.go", "// Code generated by x. DO NOT EDIT.\n\n" + long, ``},
		{"api/a.go", "package api", `has no doc comment`},
		{"api/a.go", "package", `expected 'IDENT'`},
		{"scripts/peer/a.go", `import "github.com/unheard/of"`, `no fence names it`},
		{"scripts/own/a.go", `import "github.com/unheard/of"`, ``},
	}
	for _, c := range cases {
		t.Run(c.file+" "+c.want, func(t *testing.T) {
			text := c.text
			if strings.HasSuffix(c.file, ".go") && !strings.Contains(text, "package") {
				text = "// Package x is a part.\npackage x\n" + text + "\n"
			}
			tree := fstest.MapFS{
				"go.mod":             {Data: []byte("module nightshift\n")},
				"scripts/own/go.mod": {Data: []byte("module own\n")},
				c.file:               {Data: []byte(text)},
			}
			got, err := checkLayers(tree)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("refused: %q", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one violation with %q", got, c.want)
			case c.want != "" && !strings.HasPrefix(got[0], path.Dir(c.file)) &&
				!strings.HasPrefix(got[0], strings.SplitN(c.file, "/", 2)[0]):
				t.Errorf("%q does not begin with the place", got[0])
			}
		})
	}
}

func TestTopLevelSkipsWhatGitIgnores(t *testing.T) {
	tree := fstest.MapFS{
		"go.mod":        {Data: []byte("module nightshift\n")},
		".gitignore":    {Data: []byte("/nightshift\n/nightshift.db*\n*.prof\n")},
		"nightshift":    {Data: []byte{0x7f, 'E', 'L', 'F'}},
		"nightshift.db": {Data: []byte("SQLite format 3\x00")},
		"cpu.prof":      {},
		"notes.txt":     {},
		"vendor/a/b.go": {Data: []byte("package b")},
	}
	got, err := checkLayers(tree)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if len(got) != 3 || !strings.HasPrefix(got[0], "notes.txt stands at the top level") ||
		!strings.HasPrefix(got[1], "vendor stands at the top level") {
		t.Errorf("got %q", got)
	}
}
