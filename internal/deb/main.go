// Command deb packs a folder as a Debian package: an ar archive of a format version, a tar of the package's metadata,
// and a tar of its files. It needs no tool of Debian, so it works on every system that builds a release.
//
//	deb VERSION ARCH SECONDS FOLDER >svc.deb
//
// SECONDS is the modification time of every file, since 1970: the same input always results in the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: deb VERSION ARCH SECONDS FOLDER >FILE")
		os.Exit(2)
	}
	seconds, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err == nil {
		err = pack(os.Stdout, os.Args[1], os.Args[2], time.Unix(seconds, 0), os.DirFS(os.Args[4]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deb:", err)
		os.Exit(1)
	}
}

// pack writes a package with the files of root, which are installed below /.
func pack(w io.Writer, version, arch string, when time.Time, root fs.FS) error {
	data, size, err := dataOf(root, when)
	if err != nil {
		return err
	}
	control, err := tarOf(when, func(t *tar.Writer) error {
		return addFile(t, "./control", 0o644, when, []byte(controlOf(version, arch, size)))
	})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, part := range []struct {
		name string
		body []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", control}, {"data.tar.gz", data}} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", part.name, when.Unix(), 0, 0, "100644", len(part.body))
		out.Write(part.body)
		if len(part.body)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	_, err = w.Write(out.Bytes())
	return err
}

func controlOf(version, arch string, size int64) string {
	return fmt.Sprintf(`Package: svc
Version: %s
Architecture: %s
Maintainer: svc <svc@localhost>
Installed-Size: %d
Section: devel
Priority: optional
Recommends: tmux, git
Description: run coding agents on many machines, and know what they do
 Orchestrator, worker and command line in one static binary. A worker needs
 tmux; working copies need git 2.38 or newer.
`, debianVersion(version), arch, (size+1023)/1024)
}

// debianVersion returns a version in the form that dpkg accepts and sorts: it begins with a digit, and has no hyphen,
// because a hyphen begins a revision.
func debianVersion(v string) string {
	v = strings.ReplaceAll(strings.TrimPrefix(v, "v"), "-", "+")
	if v == "" || v[0] < '0' || v[0] > '9' || !strings.Contains(v, ".") {
		return "0~" + v
	}
	return v
}

// dataOf returns the tar of the files, and their total size in bytes.
func dataOf(root fs.FS, when time.Time) (data []byte, size int64, err error) {
	data, err = tarOf(when, func(t *tar.Writer) error {
		return fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path == ".":
				return nil
			case d.IsDir():
				return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "./" + path + "/", Mode: 0o755, ModTime: when, Format: tar.FormatGNU})
			case !d.Type().IsRegular():
				return fmt.Errorf("%s is neither a file nor a folder", path)
			}
			body, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			size += int64(len(body))
			mode := int64(0o644)
			if strings.HasSuffix(filepath.Dir(path), "bin") {
				mode = 0o755
			}
			return addFile(t, "./"+path, mode, when, body)
		})
	})
	return data, size, err
}

func addFile(t *tar.Writer, name string, mode int64, when time.Time, body []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(body)), ModTime: when, Format: tar.FormatGNU}); err != nil {
		return err
	}
	_, err := t.Write(body)
	return err
}

// tarOf returns a compressed tar that has no data about the machine that built it.
func tarOf(when time.Time, fill func(*tar.Writer) error) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755, ModTime: when, Format: tar.FormatGNU}); err != nil {
		return nil, err
	}
	if err := fill(t); err != nil {
		return nil, err
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}
