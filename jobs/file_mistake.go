package jobs

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxYAMLSearch bounds the texts in which a mistake is looked for, in bytes.
const maxYAMLSearch = 1 << 20

// yamlMistake is the line of a mistake: the first up to which the text shows it. The library often
// says where that begins which the mistake is in, a line off, or nothing.
func yamlMistake(data []byte, msg string) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	ends := make([]int, len(lines))
	for i, end := 0, 0; i < len(lines); i++ {
		end += len(lines[i])
		ends[i] = end
	}
	i := sort.Search(len(ends)-1, func(i int) bool {
		source := yaml.NewDecoder(bytes.NewReader(data[:ends[i]]))
		for {
			var doc yaml.Node
			if err := source.Decode(&doc); err != nil {
				return !errors.Is(err, io.EOF) && strings.HasSuffix(err.Error(), msg)
			}
		}
	})
	return i + 1
}

// bareStart finds a text that begins as no YAML text may.
var bareStart = regexp.MustCompile(`(?:^|[:,[-])[ \t]*([*@])`)

// quoteHint says what to do about a mistake on a line on which a text such as */5 * * * * or @daily
// stands without quotes; "": it is none of that sort.
func quoteHint(data []byte, line int, msg string) string {
	if msg != "did not find expected alphabetic or numeric character" &&
		msg != "found character that cannot start any token" {
		return ""
	}
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return ""
	}
	found := bareStart.FindSubmatch(lines[line-1])
	if found == nil {
		return ""
	}
	return ": a text that begins with " + string(found[1]) + " wants quotes around it"
}
