package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"svc"
)

// Conversation has what the wrapper needs to find out whether a tool still has its conversation.
type Conversation struct {
	ID     string `json:"id,omitempty"`     // empty: the tool's hook reports it
	Resume bool   `json:"resume,omitempty"` // the tool resumes it
	// Files are absolute patterns of the files that may hold the conversation: see svc.ConversationFile. * is
	// any part of a name.
	Files []string `json:"files"`
}

func (d Dir) conversations() string { return filepath.Join(d.runs(), "conversations") }

// NoteConversation records that a file of a conversation exists. The record is a hint and need not survive a
// power cut.
func (d Dir) NoteConversation(id string) error {
	if !svc.IsConversation(id) {
		return fmt.Errorf("note conversation: %q is not the id of a conversation", id)
	}
	if err := os.MkdirAll(d.conversations(), 0o700); err != nil {
		return diskError("note conversation", err)
	}
	path := filepath.Join(d.conversations(), id)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return diskError("note conversation", err)
	}
	now := time.Now()
	return diskErrorOrNil("note conversation", errors.Join(f.Close(), os.Chtimes(path, now, now)))
}

// SawConversation reports whether NoteConversation has recorded the conversation.
func (d Dir) SawConversation(id string) bool {
	if !svc.IsConversation(id) {
		return false
	}
	_, err := os.Lstat(filepath.Join(d.conversations(), id))
	return err == nil
}

// PruneConversations removes the notes of conversations that were last seen before a time.
func (d Dir) PruneConversations(before time.Time) error {
	entries, err := os.ReadDir(d.conversations())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, gone := e.Info()
		if gone == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(filepath.Join(d.conversations(), e.Name())))
		}
	}
	return err
}
