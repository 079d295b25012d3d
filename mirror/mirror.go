// Package mirror keeps a copy of a folder tree on another machine: a [Source] serves the tree of the leader, a [Puller] keeps a
// folder of a follower equal to it. It knows files, not runs.
//
// What is transferred. Regular files with plain names. A file that grew is continued from where the copy ends, after the leader
// has confirmed by a hash that the bytes before are the same; any other change is a transfer of the whole file to a temporary one, which then
// takes the name. Times of modification are kept, since retention goes by them. Files that end in .part or .new are unfinished,
// and are not copied.
//
// What the copy never loses. The leader may have less than this copy: it took over from a leader that this copy was ahead with, and
// workers bring the rest to it by offset. Therefore:
//
//   - Absence says nothing. A file that a listing does not name stays, whether the listing was cut short, the leader's disk is
//     empty or the leader never had the file. A file is removed only when the leader says that it has itself removed that very file
//     ([Source.Removed]). Whoever was away at that moment asks a record that all share whether the file is gone for good
//     ([Puller.Gone]), after a listing that came whole and did not name it.
//   - A copy that begins with all that the leader has is longer, not wrong: it stays as it is until the leader's file is at least as
//     long, and is compared then.
//   - Of two contents of which neither begins with the other, the later stays: by what they say themselves ([Puller.Order]), else the one
//     that was written later. The last write of a leader that was deposed may be later than its successor's, and be of older things.
//
// How changes are found. The leader's process reports each path that it writes ([Source.Written]), and a follower asks each second for what
// was reported since its cursor. A report is a wake-up and not the truth: the whole tree is compared at the start, with each new leader,
// and every few minutes.
//
// A copy is not synced to disk: a copy that a loss of power made shorter is found by its size.
package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// The paths that a Source serves.
const (
	listPath = "/mirror/list"
	filePath = "/mirror/file"
)

// The headers of its answers.
const (
	headerSource = "Mirror-Source" // which process answers; new for each Source
	headerScope  = "Mirror-Scope"  // of a listing: scopeAll or scopeChanges
	headerSize   = "Mirror-Size"   // bytes of the file that was opened
	headerMtime  = "Mirror-Mtime"  // its time of modification, in nanoseconds
	headerFile   = "Mirror-File"   // which file it is: another one of the same name has another value
)

const (
	scopeAll     = "all"
	scopeChanges = "changes"
)

// line is one line of a listing: a file, a removed file, or the end.
type line struct {
	Path    string `json:"path,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Mtime   int64  `json:"mtime,omitempty"`   // nanoseconds
	File    string `json:"file,omitempty"`    // which file it is, as in headerFile
	Removed bool   `json:"removed,omitempty"` // the leader has removed this file
	Cursor  string `json:"cursor,omitempty"`  // closes a listing: what was reported later comes with the next. A listing without it is not whole
	Error   string `json:"error,omitempty"`   // why the listing ends here
}

const (
	maxPath  = 512 // bytes of a path
	maxDepth = 8   // parts of a path
	maxLine  = 4 << 10
)

// checkPath refuses every path that is not plain: relative, slash-separated, of parts that begin with a letter or digit and have nothing
// but letters, digits, dots, dashes and underscores. Both sides check.
func checkPath(path string) error {
	if path == "" || len(path) > maxPath || strings.Count(path, "/") >= maxDepth {
		return fmt.Errorf("%.100q is no path of a mirrored file", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if !plain(part) {
			return fmt.Errorf("%.100q is no path of a mirrored file", path)
		}
	}
	if unfinished(path) {
		return fmt.Errorf("%.100q is an unfinished file", path)
	}
	return nil
}

func plain(part string) bool {
	for i, c := range []byte(part) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return part != "" && len(part) <= 128
}

// unfinished says whether a file is written under this name before it gets its own.
func unfinished(name string) bool {
	return strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".new")
}

// sumBefore is the hash of the bytes of a file before an offset, as many as told. A large file takes seconds: it ends with ctx.
func sumBefore(ctx context.Context, f io.ReaderAt, offset, count int64) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, &endingReader{ctx, io.NewSectionReader(f, offset-count, count)})
	if err == nil && n < count {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// endingReader is read until ctx ends.
type endingReader struct {
	ctx context.Context
	io.Reader
}

func (r *endingReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
