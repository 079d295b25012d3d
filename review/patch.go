package review

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ErrMalformed means that a text is not a patch as git writes it.
var ErrMalformed = errors.New("not a patch of git")

// Status is what a change does to a file.
type Status string

// The statuses. TypeChanged: a file became a link or a submodule, or the reverse.
const (
	Added       Status = "added"
	Modified    Status = "modified"
	Deleted     Status = "deleted"
	Renamed     Status = "renamed"
	TypeChanged Status = "type_changed"
)

// File is what a patch does to one file.
type File struct {
	Path      string // name after the change; of a deleted file, its last name
	OldPath   string // name before the change; empty: the same, or there was no file
	Status    Status
	OldMode   string // empty: the patch does not contain it
	Mode      string // empty: the patch does not contain it
	OldOID    string // of the content before the change; empty: the patch does not contain it
	OID       string
	Additions int // lines
	Deletions int
	Binary    bool
	Unknown   bool // the patch does not contain its content
	// Start and End are the byte range of the file's part of the patch.
	Start, End int64

	text    *edits      // of a loaded file; nil: it is binary
	forward *binaryPart // of a loaded binary file; nil: the patch does not contain it
	reverse *binaryPart
}

// base returns the file's name before the change; empty: there was no file.
func (f *File) base() string {
	switch {
	case f.Status == Added:
		return ""
	case f.OldPath != "":
		return f.OldPath
	default:
		return f.Path
	}
}

// Patch is the difference between a checkpoint and its base commit.
type Patch struct {
	Files []*File
	More  bool // the patch has more files than Files lists
	from  io.ReaderAt
}

// mostListed limits the memory for the list of a patch's files, in bytes, approximately: enough for a hundred
// thousand files with names of typical length. The author of the patch decides how many files it has.
const mostListed = 32 << 20

// listed returns approximately how many bytes the file takes in memory, without its content.
func (f *File) listed() int {
	const fields = 200
	return fields + len(f.Path) + len(f.OldPath) + len(f.OldMode) + len(f.Mode) + len(f.OldOID) + len(f.OID)
}

// Read lists the files of a patch, up to the memory limit. It does not load their content.
func Read(from io.ReaderAt, size int64) (*Patch, error) {
	p := &Patch{from: from}
	s := &scanner{in: bufio.NewReaderSize(io.NewSectionReader(from, 0, size), 64<<10)}
	held := 0
	for s.next(); !s.ended(); {
		f, err := s.file()
		if err != nil {
			return nil, fmt.Errorf("byte %d: %w", s.at, err)
		}
		if held += f.listed(); held > mostListed {
			p.More = true
			break
		}
		p.Files = append(p.Files, f)
	}
	return p, s.err
}

// maxLoaded is the maximum size in bytes of one file's part of a patch that is loaded into memory.
const maxLoaded = 8 << 20

// ErrTooLarge means that a file's part of a patch exceeds the size that is compared.
var ErrTooLarge = errors.New("too large to compare")

// load reads a file's part of the patch with its content.
func (p *Patch) load(f *File) (*File, error) {
	if f.End-f.Start > maxLoaded {
		return nil, ErrTooLarge
	}
	var text strings.Builder
	if _, err := io.Copy(&text, io.NewSectionReader(p.from, f.Start, f.End-f.Start)); err != nil {
		return nil, err
	}
	s := &scanner{in: bufio.NewReaderSize(strings.NewReader(text.String()), 64<<10), text: text.String()}
	s.next()
	return s.file()
}

// scanner reads a patch line by line.
type scanner struct {
	in   *bufio.Reader
	text string // all text of the input, when content is kept; empty: content is not kept
	line []byte // the current line; a longer one is cut, but not below 64 KiB
	at   int64  // offset where the line begins
	to   int64  // offset where the line ends
	eof  bool
	err  error
}

// next advances to the next line.
func (s *scanner) next() {
	s.at = s.to
	part, err := s.in.ReadSlice('\n')
	s.line = part
	s.to += int64(len(part))
	if errors.Is(err, bufio.ErrBufferFull) {
		s.line = bytes.Clone(part)
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = s.in.ReadSlice('\n')
		s.to += int64(len(part))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	s.eof = s.to == s.at || s.err != nil
}

func (s *scanner) ended() bool { return s.eof }

// after returns the rest of the line after a prefix; false: the line does not begin with it.
func (s *scanner) after(words string) (string, bool) {
	if s.eof || !bytes.HasPrefix(s.line, []byte(words)) {
		return "", false
	}
	return strings.TrimSuffix(string(s.line[len(words):]), "\n"), true
}

// file reads the part of one file. The current line must be the "diff --git" line.
func (s *scanner) file() (*File, error) {
	names, ok := s.after("diff --git ")
	if !ok {
		return nil, ErrMalformed
	}
	f := &File{Status: Modified, Start: s.at}
	if f.Path, ok = bothNames(names); !ok {
		f.Path = "" // a header line below has it
	}
	s.next()
	if err := s.header(f); err != nil {
		return nil, err
	}
	if s.text != "" {
		f.text = &edits{}
	}
	var err error
	if _, ok := s.after("--- "); ok {
		err = s.hunks(f)
	} else if _, ok := s.after("GIT binary patch"); ok {
		f.Binary = true
		err = s.binaries(f)
	} else if _, ok := s.after("Binary files "); ok {
		f.Binary = true
		s.next()
	}
	if f.Binary {
		f.text = nil
	}
	if f.Path == "" || err != nil {
		return nil, errors.Join(ErrMalformed, err)
	}
	f.End = s.at
	return f, s.err
}

// header reads the header lines, up to the first line of content.
func (s *scanner) header(f *File) error {
	for ; !s.eof; s.next() {
		word, ok := "", false
		take := func(prefix string) bool { word, ok = s.after(prefix); return ok }
		switch {
		case take("old mode "):
			f.OldMode = word
		case take("new mode "):
			f.Mode = word
		case take("deleted file mode "):
			f.Status, f.OldMode = Deleted, word
		case take("new file mode "):
			f.Status, f.Mode = Added, word
		case take("rename from "):
			f.Status = Renamed
			if f.OldPath, ok = nameOf(word, ""); !ok {
				return ErrMalformed
			}
		case take("rename to "):
			if f.Path, ok = nameOf(word, ""); !ok {
				return ErrMalformed
			}
		case take("index "):
			oids, mode, _ := strings.Cut(word, " ")
			f.OldOID, f.OID, ok = strings.Cut(oids, "..")
			if !ok {
				return ErrMalformed
			}
			if mode != "" {
				f.OldMode, f.Mode = mode, mode
			}
		case take("similarity index "), take("dissimilarity index "):
		default:
			return nil
		}
	}
	return nil
}

// hunks reads all hunks. The current line must be the "--- " line.
func (s *scanner) hunks(f *File) error {
	for _, side := range []struct{ words, prefix string }{{"--- ", "a/"}, {"+++ ", "b/"}} {
		text, ok := s.after(side.words)
		if !ok {
			return ErrMalformed
		}
		if name, ok := nameOf(text, side.prefix); ok && f.Path == "" {
			f.Path = name
		}
		s.next()
	}
	for {
		head, ok := s.after("@@ -")
		if !ok {
			return nil
		}
		h, err := parseHunk(head)
		if err != nil {
			return err
		}
		s.next()
		if err := s.hunk(f, h); err != nil {
			return err
		}
	}
}

// hunk is the position of a change: the first line in the old and in the new file, counted from 1, and the numbers of
// lines.
type hunk struct{ old, olds, new, news int }

// parseHunk reads "<old>[,<count>] +<new>[,<count>] @@".
func parseHunk(text string) (h hunk, err error) {
	before, rest, ok := strings.Cut(text, " +")
	after, _, ok2 := strings.Cut(rest, " @@")
	if !ok || !ok2 {
		return h, ErrMalformed
	}
	for _, side := range []struct {
		text        string
		first, many *int
	}{{before, &h.old, &h.olds}, {after, &h.new, &h.news}} {
		first, many, counted := strings.Cut(side.text, ",")
		*side.many = 1
		var err1, err2 error
		*side.first, err1 = strconv.Atoi(first)
		if counted {
			*side.many, err2 = strconv.Atoi(many)
		}
		if errors.Join(err1, err2) != nil || *side.first < 0 || *side.many < 0 || *side.first > 1<<40 || *side.many > 1<<40 {
			return h, ErrMalformed
		}
	}
	return h, nil
}

// hunk reads the lines of one hunk.
func (s *scanner) hunk(f *File, h hunk) error {
	at := h.old
	if h.olds == 0 {
		at++ // with no old lines, old names the line before the insertion
	}
	if f.text != nil && !f.text.begin(at) {
		return ErrMalformed
	}
	for old, added := 0, 0; old < h.olds || added < h.news; s.next() {
		if s.eof {
			return ErrMalformed
		}
		switch op := s.line[0]; op {
		case ' ':
			old, added = old+1, added+1
		case '-':
			old++
			f.Deletions++
		case '+':
			added++
			f.Additions++
		case '\\': // the line before this one has no newline
			f.text.cutEnd()
			continue
		default:
			return ErrMalformed
		}
		if f.text != nil {
			f.text.add(s.line[0], s.text[s.at+1:s.to])
		}
	}
	if _, ok := s.after("\\"); ok {
		f.text.cutEnd()
		s.next()
	}
	return nil
}
