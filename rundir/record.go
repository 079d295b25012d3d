package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"svc"
	"svc/atomicfile"
)

// ErrCorrupt says that a record is there but is not what was written: torn, cut or changed.
var ErrCorrupt = errors.New("record is corrupt")

// ErrNoSpace says that the disk, or this user's share of it, is full. The run goes on; what could
// not be recorded is lost unless it is tried again.
var ErrNoSpace = errors.New("no space left on disk")

// maxRecord bounds what is read into memory: the largest record holds one dispatch frame.
const maxRecord = 16 << 20

// A record is a line of fixed width (the format, the length of what follows it, its checksum), then
// JSON and a line end, so that a person can read it too.
const (
	recordHead   = "svc-record-1 %010d %08x\n"
	recordHeadSz = len("svc-record-1 ") + 10 + 1 + 8 + 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteRecord replaces the record at path in one step, for the owner alone, and returns when it is
// safe against a power cut. The error is ErrNoSpace when the disk is full.
func WriteRecord(path string, v any) error { return writeRecord(filepath.Dir(path), path, v) }

// writeRecord is WriteRecord with the folder in which the unfinished file is written.
func writeRecord(dir, path string, v any) error {
	data, err := encodeRecord(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := replace(dir, path, data); err != nil {
		return diskError("write "+filepath.Base(path), err)
	}
	return nil
}

// ReadRecord reads the record at path into v. The error is fs.ErrNotExist when there is none and
// ErrCorrupt when it is damaged, or something else is in its place.
func ReadRecord(path string, v any) error {
	f, err := OpenOwn(path, os.O_RDONLY)
	return readOpened(f, v, err)
}

// readOpened reads a record that was just opened so.
func readOpened(f *os.File, v any, err error) error {
	if errors.Is(err, ErrForeign) {
		return fmt.Errorf("read record: %w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	defer f.Close()
	return readRecord(f, v)
}

func readRecord(f *os.File, v any) error {
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil {
		err = decodeRecord(data, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(f.Name()), err)
	}
	return nil
}

func encodeRecord(v any) ([]byte, error) {
	body, err := svc.JSON(v)
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	if recordHeadSz+len(body) > maxRecord {
		return nil, fmt.Errorf("record of %d bytes is too large", len(body))
	}
	head := fmt.Sprintf(recordHead, len(body), crc32.Checksum(body, castagnoli))
	return append([]byte(head), body...), nil
}

func decodeRecord(data []byte, v any) error {
	if len(data) > maxRecord {
		return fmt.Errorf("%w: larger than any record", ErrCorrupt)
	}
	if len(data) < recordHeadSz {
		return fmt.Errorf("%w: %d bytes are too few", ErrCorrupt, len(data))
	}
	body := data[recordHeadSz:]
	want := fmt.Sprintf(recordHead, len(body), crc32.Checksum(body, castagnoli))
	if !bytes.Equal(data[:recordHeadSz], []byte(want)) {
		return fmt.Errorf("%w: length or checksum do not fit", ErrCorrupt)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// replace writes a file in dir, syncs it and renames it to path, which is in dir too or in another
// directory of the same disk.
func replace(dir, path string, data []byte) error {
	f, err := unfinished(dir)
	if err != nil {
		return err
	}
	defer f.Close() // it is synced
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		_ = os.RemoveAll(path) // a folder in the place of a record is its session's doing
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// unfinished makes a file that Sweep removes when its writer is gone before it was given its name. The sign that the writer lives is a lock,
// which the kernel takes back with the process: close the file after it has its name.
func unfinished(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*") // mode 0600
	if err == nil {
		_ = lockFile(f, unix.LOCK_EX|unix.LOCK_NB)
	}
	return f, err
}

// tempPrefix begins the names of files that are not complete yet.
const tempPrefix = ".tmp-"

// diskError wraps err and marks a full disk.
func diskError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%s: %w: %w", doing, ErrNoSpace, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
