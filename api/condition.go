package api

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// etag is the strong tag of a revision.
func etag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// condition is an If-Match or If-None-Match header.
type condition struct {
	given bool
	any   bool // *
	tags  []string
}

// entityTag is the opaque part of a tag (RFC 9110, 8.8.3).
var entityTag = regexp.MustCompile(`^"[\x21\x23-\x7e\x80-\xff]*"$`)

// condition reads a header that has been checked.
func (c *call) condition(header string) condition {
	cond, _ := parseCondition(c.Request().Header.Values(header))
	return cond
}

func parseCondition(lines []string) (cond condition, ok bool) {
	if len(lines) == 0 {
		return condition{}, true
	}
	cond.given = true
	for part := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		tag := strings.TrimSpace(part)
		switch {
		case tag == "*":
			cond.any = true
		case entityTag.MatchString(strings.TrimPrefix(tag, "W/")):
			cond.tags = append(cond.tags, tag)
		case tag != "":
			return cond, false
		}
	}
	return cond, cond.any || len(cond.tags) > 0
}

func wrongTags(lines []string) string {
	if _, ok := parseCondition(lines); !ok {
		return `want * or tags in quotes, such as "3"`
	}
	return ""
}

// wrongNone is for changes: they know no tags that must not stand.
func wrongNone(lines []string) string {
	if cond, ok := parseCondition(lines); !ok || !cond.any || cond.tags != nil {
		return "only * is known here"
	}
	return ""
}

// fails reports whether it is given and does not hold.
func (cond condition) fails(exists bool, revision int64) bool {
	return cond.given && !cond.holds(exists, revision)
}

// holds reports whether what stands (exists, at this revision) is one that the condition names,
// whatever its state was.
func (cond condition) holds(exists bool, revision int64) bool {
	tag := etag(revision)
	begin := strings.TrimSuffix(tag, `"`) + "."
	return exists && (cond.any || slices.ContainsFunc(cond.tags, func(t string) bool {
		return t == tag || strings.HasPrefix(t, begin)
	}))
}

// weakly reports whether a reader has what bears the tag (RFC 9110, 13.1.2).
func (cond condition) weakly(tag string) bool {
	return cond.any || slices.Contains(cond.tags, tag) || slices.Contains(cond.tags, "W/"+tag)
}
