// Package mirror keeps a copy of a folder tree on another machine: a [Source] serves the tree of the leader, a
// [Puller] keeps a folder of a follower equal to it. The package handles files and does not depend on runs.
//
// What is transferred: regular files with plain names. If a file has grown, only the new bytes are transferred, after
// the leader has confirmed by a hash that the bytes before them are the same. After any other change the whole file
// is transferred to a temporary file, which is then renamed. Times of modification are kept, because retention uses
// them. Files whose names end in .part or .new are unfinished and are not copied.
//
// What the copy never loses: a new leader may have less than a follower's copy, because it copied less from the
// previous leader. Workers then send it the rest by offset. Therefore:
//
//   - A file that is missing from a listing stays in the copy: the listing may have been cut off, the leader's disk
//     may be empty, or the leader may never have had the file. A file is removed only when the leader reports that it
//     removed this file itself ([Source.Removed]). A follower that was not connected at that moment calls
//     [Puller.Gone], which reads a record that all orchestrators share, for files that a complete listing did not
//     name.
//   - A copy that begins with the whole content of the leader's file, and is longer, stays as it is. It is compared
//     again when the leader's file is at least as long.
//   - If neither of two contents begins with the other, the later one stays. [Puller.Order] decides which is later if
//     it can, else the time of modification decides. That time alone can be wrong: a deposed leader may write older
//     content after its successor has written newer content.
//
// How changes are found: the leader's process reports each path that it writes ([Source.Written]), and a follower
// requests each second the paths that were reported since its cursor. Reports may be missed. Therefore the whole
// trees are compared at the start, with each new leader, and every few minutes.
//
// A copy is not synced to disk: if a power cut makes a copy shorter, the next comparison finds it by its size.
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

// The headers of a Source's answers.
const (
	headerSource = "Mirror-Source" // identifies the process that answers; each Source has its own
	headerScope  = "Mirror-Scope"  // of a listing: scopeAll or scopeChanges
	headerSize   = "Mirror-Size"   // bytes of the file that was opened
	headerMtime  = "Mirror-Mtime"  // its time of modification, in nanoseconds
	headerFile   = "Mirror-File"   // identifies the file: a file that replaced it under the same name has another value
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
	File    string `json:"file,omitempty"`    // identifies the file, as in headerFile
	Removed bool   `json:"removed,omitempty"` // the leader has removed this file
	Cursor  string `json:"cursor,omitempty"`  // on the last line: where the next listing begins. A listing without it is incomplete
	Error   string `json:"error,omitempty"`   // why the listing ends here
}

const (
	maxPath  = 512 // bytes of a path
	maxDepth = 8   // parts of a path
	maxLine  = 4 << 10
)

// checkPath returns an error unless a path is plain: relative, slash-separated, of parts that begin with a letter or
// digit and have only letters, digits, dots, dashes and underscores. Leader and follower both check.
func checkPath(path string) error {
	if path == "" || len(path) > maxPath || strings.Count(path, "/") >= maxDepth {
		return fmt.Errorf("%.100q is not a valid path of a mirrored file", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if !plain(part) {
			return fmt.Errorf("%.100q is not a valid path of a mirrored file", path)
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

// unfinished reports whether a name is temporary: the file is renamed when it is complete.
func unfinished(name string) bool {
	return strings.HasSuffix(name, ".part") || strings.HasSuffix(name, ".new")
}

// sumBefore returns the hash of the last count bytes before an offset of a file. It stops when ctx ends, because a
// large file takes seconds.
func sumBefore(ctx context.Context, f io.ReaderAt, offset, count int64) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, &endingReader{ctx, io.NewSectionReader(f, offset-count, count)})
	if err == nil && n < count {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// endingReader fails as soon as ctx has ended.
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
