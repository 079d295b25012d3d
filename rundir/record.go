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

// ErrCorrupt means that a record exists but is not what was written: torn, cut or changed.
var ErrCorrupt = errors.New("record is corrupt")

// ErrNoSpace means that the disk, or this user's quota, is full. The run goes on; a record that could not be
// written is lost unless the caller tries again.
var ErrNoSpace = errors.New("no space left on disk")

// maxRecord bounds what is read into memory: the largest record holds one dispatch frame.
const maxRecord = 16 << 20

// A record is a line of fixed width (the format, the length of the rest, its checksum), then JSON and a line
// end, so that people can read it too.
const (
	recordHead   = "svc-record-1 %010d %08x\n"
	recordHeadSz = len("svc-record-1 ") + 10 + 1 + 8 + 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteRecord atomically replaces the record at path, readable by the owner only, and returns when it is safe
// against a power cut. The error is ErrNoSpace when the disk is full.
func WriteRecord(path string, v any) error { return writeRecord(filepath.Dir(path), path, v) }

// writeRecord is WriteRecord with the folder in which the temporary file is written.
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

// readOpened reads a record from the results of OpenOwn or openIn.
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
	defer f.Close() // the data is synced, so the error does not matter
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		_ = os.RemoveAll(path) // only the session can have made a folder in the place of a record
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// unfinished makes a temporary file. Sweep removes it if its writer has died before it was renamed. A living
// writer holds a lock on it, which the kernel releases when the process ends: close the file only after the
// rename.
func unfinished(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempPrefix+"*") // mode 0600
	if err == nil {
		_ = lockFile(f, unix.LOCK_EX|unix.LOCK_NB)
	}
	return f, err
}

// tempPrefix is the prefix of temporary files, which are not complete yet.
const tempPrefix = ".tmp-"

// diskError wraps err; for a full disk it adds ErrNoSpace.
func diskError(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%s: %w: %w", doing, ErrNoSpace, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
