package jobs

import (
	"regexp"
	"strings"
)

func tagFits(tag, json string) bool {
	switch tag {
	case "!!null":
		return json == "null"
	case "!!bool":
		return json == "true" || json == "false"
	case "!!int":
		return strings.Trim(json, "-0123456789") == ""
	}
	return json[0] == '-' || isDigit(json[0])
}

func isYAMLNull(s string) bool {
	return s == "" || s == "~" || s == "null" || s == "Null" || s == "NULL"
}

var (
	yamlNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	yamlOdd    = regexp.MustCompile(`^(0o[0-7]+|0x[0-9a-fA-F]+|[-+]?0[0-9]+)$`)
	yamlNoJSON = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plainYAML is the JSON text of a plain scalar by the core schema of YAML 1.2 (10.3.2); "" where
// it is a string. The problem is what keeps it from being JSON.
func plainYAML(s string) (json, problem string) {
	switch {
	case isYAMLNull(s):
		return "null", ""
	case s == "true" || s == "True" || s == "TRUE":
		return "true", ""
	case s == "false" || s == "False" || s == "FALSE":
		return "false", ""
	case yamlNoJSON.MatchString(s):
		return "", "JSON has no infinity and no NaN: put it in quotes if it is text"
	case yamlOdd.MatchString(s):
		return "", "this number is not read alike everywhere: put it in quotes if it is text, " +
			"else write it in decimal without leading zeros"
	case !yamlNumber.MatchString(s):
		return "", ""
	}
	// JSON wants digits on both sides of the point, and no plus.
	s = strings.TrimPrefix(s, "+")
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest := s, ""
	if i := strings.IndexAny(s, "eE."); i >= 0 {
		whole, rest = s[:i], s[i:]
	}
	if len(whole) > 1 && whole[0] == '0' {
		return "", "want a number without leading zeros, or quotes around it if it is text"
	}
	if whole == "" {
		whole = "0"
	}
	if strings.HasPrefix(rest, ".") && (len(rest) == 1 || !isDigit(rest[1])) {
		rest = rest[1:] // 5. is 5
	}
	return sign + whole + rest, ""
}
