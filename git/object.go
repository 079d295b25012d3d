package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // #nosec G505 -- the name that git gives an object
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"
)

// Identity is the author or committer of a commit, and the time.
type Identity struct {
	Name, Email string
	Unix        int64 // seconds; the time zone is UTC
}

// NewCommit stores a commit of a tree, without a ref, and returns its name. Equal arguments make the same commit.
func (r Repo) NewCommit(tree string, parents []string, by Identity, message string) (string, error) {
	return r.NewCommitOf(tree, parents, by, by, message)
}

// NewCommitOf is NewCommit with an author who is not the committer. It makes the same commit as "git commit-tree" but
// needs no process. Checkpoints are frequent, and the start of a process would be most of their cost.
func (r Repo) NewCommitOf(tree string, parents []string, author, committer Identity, message string) (string, error) {
	for _, oid := range append([]string{tree}, parents...) {
		if !IsOID(oid) || len(oid) != len(tree) {
			return "", fmt.Errorf("make commit: %.100q is not an object's name", oid)
		}
	}
	if strings.Contains(message, "\x00") {
		return "", errors.New("make commit: the message has a NUL byte")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", tree)
	for _, parent := range parents {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	for _, who := range []struct {
		as string
		by Identity
	}{{"author", author}, {"committer", committer}} {
		name, email := plainName(who.by.Name), plainName(who.by.Email)
		if name == "" {
			return "", fmt.Errorf("make commit: the %s has no name", who.as)
		}
		fmt.Fprintf(&text, "%s %s <%s> %d +0000\n", who.as, name, email, who.by.Unix)
	}
	text.WriteString("\n" + message)
	if !utf8.ValidString(text.String()) {
		return "", errors.New("make commit: the message or a name is not valid UTF-8")
	}
	return r.putObject(FormatOf(tree), "commit", text.String())
}

// nameEnds removes the characters that would end a name in a commit.
var nameEnds = strings.NewReplacer("\x00", "", "\n", "", "<", "", ">", "")

// plainName returns a name in the form that git writes into a commit: without characters that would end it, and
// without punctuation around it.
func plainName(name string) string {
	around := func(c rune) bool { return c <= ' ' || strings.ContainsRune(`.,:;<>"\'`, c) }
	return nameEnds.Replace(strings.TrimFunc(name, around))
}

// compressors are reused, because a new one allocates more than most objects have. The level is the one that git uses
// for loose objects.
var compressors = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is valid
	return z
}}

// putObject stores a loose object and returns its name. Like the objects that [Program] writes, it survives a power
// cut once the caller has synced a file afterwards.
func (r Repo) putObject(format Format, kind, content string) (oid string, err error) {
	raw := fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content)
	if format == SHA256 {
		sum := sha256.Sum256(raw)
		oid = hex.EncodeToString(sum[:])
	} else {
		sum := sha1.Sum(raw) // #nosec G401
		oid = hex.EncodeToString(sum[:])
	}
	path := filepath.Join(r.Objects(), oid[:2], oid[2:])
	if _, err := os.Lstat(path); err == nil {
		return oid, nil
	}
	var packed bytes.Buffer
	z, _ := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(&packed)
	_, err = z.Write(raw)
	if err = errors.Join(err, z.Close()); err == nil {
		err = r.putFile(path, packed.Bytes())
	}
	if err != nil {
		return "", fmt.Errorf("store %s: %w", kind, err)
	}
	return oid, nil
}

// putFile makes a file in the objects' folder in one step: it is written under a temporary name, which Recover
// removes after a crash, and then renamed.
func (r Repo) putFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(r.Objects(), "tmp_obj_")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o400)
	}
	switch {
	case err != nil:
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	case r.gathered != nil:
		return r.gathered.put(f, path)
	}
	return finishObject(f, path)
}

// finishObject hands an object's content to the disk, and then gives it its name.
func finishObject(f *os.File, path string) error {
	err := writeOut(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
