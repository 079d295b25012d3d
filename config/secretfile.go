package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"svc/atomicfile"
)

// maxSecretBytes bounds what is read from a file that should contain one word.
const maxSecretBytes = 4096

// readSecret reads a file that contains one word and trims the space around it. If other users can read the
// file, it sets the mode to 0600 if possible. It returns a warning in either case, because the secret may have
// been read before.
func readSecret(path string) (word, warning string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", "", err
	}
	if !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecretBytes))
	if err != nil {
		return "", "", err
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		warning = fmt.Sprintf("%s was open to other users (mode %04o) and is now 0600; replace it if someone may have read it", path, perm)
		if err := f.Chmod(0o600); err != nil {
			warning = fmt.Sprintf("%s is open to other users (mode %04o) and cannot be closed: %v", path, perm, err)
		}
	}
	return strings.TrimSpace(string(data)), warning, nil
}

// ensureSecret reads the file at path; if it is missing, it first creates it with the word that draw returns.
// If several processes do this concurrently, one creates the file and all read the same word. An existing file
// is never replaced.
func ensureSecret(path string, draw func() string) (word, warning string, made bool, err error) {
	word, warning, err = readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return word, warning, false, err
	}
	if made, err = atomicfile.Create(path, []byte(draw()+"\n"), 0o600); err != nil {
		return "", "", false, err
	}
	word, warning, err = readSecret(path)
	return word, warning, made, err
}

// replaceSecret writes a word to the file at path and replaces its content.
func replaceSecret(path, word string) error {
	return atomicfile.Replace(path, []byte(word+"\n"), 0o600)
}
