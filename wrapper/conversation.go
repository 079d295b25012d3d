package wrapper

import (
	"fmt"

	"svc"
	"svc/rundir"
)

// Most tools that have lost a conversation print a message and exit. If the catalog lists the files in which a
// tool keeps its conversations, the loss is detected by these: a file of the conversation existed after an
// earlier run and none exists now. An agent's report is never used as a path, and only file names are read.

// lostConversation reports whether a tool that should have resumed a conversation ended because it is lost: the
// tool failed without reporting the conversation, and its file, which existed after an earlier run, is gone. If
// that cannot be found out, it returns false.
func (r *runner) lostConversation(exit rundir.Exit) bool {
	c := r.launch.Conversation
	if c == nil || !c.Resume || exit.Code == 0 || exit.Error != "" || r.attempt.Recall(rundir.Reported) != "" || !r.attempt.Dir.SawConversation(c.ID) {
		return false
	}
	there, err := r.hasConversation(c.ID)
	return err == nil && !there
}

// noteConversation records that the file of the session's conversation exists, for the runs that resume it.
func (r *runner) noteConversation() {
	c := r.launch.Conversation
	if c == nil {
		return
	}
	id := c.ID
	if reported := r.attempt.Recall(rundir.Reported); reported != "" {
		id = reported // a person may have made the tool begin another one
	}
	if there, err := r.hasConversation(id); err == nil && there {
		r.warn(r.attempt.Dir.NoteConversation(id))
	}
}

// hasConversation reports whether a conversation has a file.
func (r *runner) hasConversation(id string) (bool, error) {
	if !svc.IsConversation(id) {
		return false, fmt.Errorf("%q is not the id of a conversation", id)
	}
	search := nameSearch{left: maxNames, hides: func(string) bool { return false }}
	if r.launch.Contain != nil {
		search.hides = r.launch.Contain.Hides
	}
	for _, pattern := range r.launch.Conversation.Files {
		file, _ := svc.ConversationFile(pattern, id)
		there, err := search.finds(file)
		if there || err != nil {
			return there, err
		}
	}
	return false, nil
}
