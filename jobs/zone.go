package jobs

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are built in: a host need not have any
)

// zoneList holds the names of the time zone database that Go builds in, sorted, one a line.
//
//go:embed zone_names.txt
var zoneList string

var zoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneList) })

// ZoneNames are all that LoadZone knows, sorted.
func ZoneNames() []string { return slices.Clone(zoneNames()) }

// zones are those that have been loaded. Only names of the list come in, so there is a bound.
var zones struct {
	sync.Mutex
	loaded map[string]*time.Location
}

// LoadZone gives the zone of an IANA name, such as Europe/Berlin; "" is UTC. The list that is built
// in decides what is a name, so a document is accepted on every host or on none, and the host's own
// zone, Local, is never one.
//
// The rules of a zone come from where time.LoadLocation finds them first: the file or directory of
// $ZONEINFO, the host's database (/usr/share/zoneinfo and the like), the one built in. So a host
// whose database is kept up to date knows a new law before the next release of the server does,
// and one that has none, or a broken one, does not matter.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if _, known := slices.BinarySearch(zoneNames(), name); !known {
		return nil, errors.New(unknownZone(name))
	}
	zones.Lock()
	defer zones.Unlock()
	if z := zones.loaded[name]; z != nil {
		return z, nil
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone %s: %w", name, err)
	}
	if zones.loaded == nil {
		zones.loaded = map[string]*time.Location{}
	}
	zones.loaded[name] = z
	return z, nil
}
