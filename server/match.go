package server

import (
	"context"
	"strconv"
	"strings"

	"svc/engine"
)

// Matching holds the header by which a change is applied only to a version that the caller has read.
type Matching struct {
	IfMatch string `header:"If-Match" doc:"The ETag of the record when it was read; 412 if it has changed since then"`
}

// Tagged holds the header of every response that is one record.
type Tagged struct {
	ETag string `header:"ETag" doc:"The record's version, for If-Match"`
}

// etag returns the tag of a version. A record without a version has no tag.
func etag(version int64) Tagged {
	if version == 0 {
		return Tagged{}
	}
	return Tagged{ETag: `"` + strconv.FormatInt(version, 10) + `"`}
}

// noVersion is a version that no record has.
const noVersion int64 = -1

// match returns the version that a change expects, nil for any. With several tags the current version is read first;
// the engine compares it again.
func (in Matching) match(ctx context.Context, current func(context.Context) (int64, error)) (engine.Match, error) {
	if in.IfMatch == "" {
		return nil, nil
	}
	var versions []int64
	for tag := range strings.SplitSeq(in.IfMatch, ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" {
			return nil, nil
		}
		versions = append(versions, versionOf(tag))
	}
	if len(versions) == 1 {
		return &versions[0], nil
	}
	now, err := current(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if v == now {
			return &now, nil
		}
	}
	none := noVersion
	return &none, nil
}

// versionOf parses a tag, strong or weak. A tag that svc did not create matches no version.
func versionOf(tag string) int64 {
	tag = strings.TrimPrefix(tag, "W/")
	if len(tag) < 3 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return noVersion
	}
	v, err := strconv.ParseInt(tag[1:len(tag)-1], 10, 64)
	if err != nil || strconv.FormatInt(v, 10) != tag[1:len(tag)-1] {
		return noVersion
	}
	return v
}
