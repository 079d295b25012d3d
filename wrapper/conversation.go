package wrapper

import (
	"fmt"

	"svc"
	"svc/rundir"
)

// Most tools that have lost a conversation say so in words and exit. Where the catalog knows in which files a tool keeps its
// conversations, the loss is told by these: one of this conversation was there after an earlier run, and none is there now.
// What an agent reports is never taken for a path, and nothing but names is read.

// lostConversation reports whether a tool that should have gone on with a conversation ended because it is lost: it failed, and did not report
// the conversation, whose file was seen after an earlier run and is gone. What cannot be found out is no loss.
func (r *runner) lostConversation(exit rundir.Exit) bool {
	c := r.launch.Conversation
	if c == nil || !c.Resume || exit.Code == 0 || exit.Error != "" || r.attempt.Recall(rundir.Reported) != "" || !r.attempt.Dir.SawConversation(c.ID) {
		return false
	}
	there, err := r.hasConversation(c.ID)
	return err == nil && !there
}

// noteConversation notes that the file of the session's conversation is there, for the runs that go on with it.
func (r *runner) noteConversation() {
	c := r.launch.Conversation
	if c == nil {
		return
	}
	id := c.ID
	if reported := r.attempt.Recall(rundir.Reported); reported != "" {
		id = reported // a tool may have begun another one when a person asked it to
	}
	if there, err := r.hasConversation(id); err == nil && there {
		r.warn(r.attempt.Dir.NoteConversation(id))
	}
}

// hasConversation reports whether there is a file of a conversation.
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
